"""Seals: any value comes back, and a seal that is foreign, changed, cut or huge counts as lost."""

import json
import time
from typing import Any, Literal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.opaque.seal import MAX_SEAL_CHARACTERS, is_seal, make_seal, read_seal

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
KINDS = st.sampled_from(("thinking", "text", "call"))
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def seal(value: Any, of: Literal["thinking", "text", "call"] = "thinking") -> str:
    return make_seal(value, dialect="anthropic", upstream="claude", of=of)


@given(JSON_VALUES, NAMES, st.text(max_size=40), KINDS)
def test_read_seal_of_any_value_returns_the_value_and_its_place(
    value: Any, dialect: str, upstream: str, of: Literal["thinking", "text", "call"]
) -> None:
    found = read_seal(make_seal(value, dialect=dialect, upstream=upstream, of=of))
    assert found is not None
    assert (found.dialect, found.of) == (dialect, of)
    assert json.dumps(found.value) == json.dumps(value)
    assert found.is_for(dialect, upstream)
    assert not found.is_for(dialect, f"{upstream}x")
    assert not found.is_for(f"{dialect}x", upstream)


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))
    )
)
def test_make_seal_is_at_most_1_4_times_the_value_and_200(value: dict[str, str]) -> None:
    made = make_seal(value, dialect="openai-responses", upstream="http://model.local/v1" * 40, of="call")
    assert len(made) <= 1.4 * len(orjson.dumps(value)) + 200
    assert is_seal(made)


def test_make_seal_of_half_a_surrogate_pair_can_be_read() -> None:
    found = read_seal(seal({"text": "\ud83d", "number": 2**80}))
    assert found is not None
    assert found.is_for("anthropic", "claude")
    assert found.value["number"] == 2**80


def test_seal_does_not_contain_the_name_of_the_upstream() -> None:
    made = make_seal({}, dialect="gemini", upstream="http://10.0.0.7/", of="text")
    found = read_seal(made)
    assert found is not None
    assert b"10.0.0.7" not in found.data
    assert len(made) < 80


@given(st.data(), JSON_VALUES)
def test_seal_with_one_character_changed_is_for_no_upstream(data: st.DataObject, value: Any) -> None:
    made = seal({"signature": value})
    at = data.draw(st.integers(0, len(made) - 1))
    new = data.draw(st.characters().filter(lambda character: character != made[at]))
    found = read_seal(made[:at] + new + made[at + 1 :])
    assert found is None or not found.is_for("anthropic", "claude")


@given(st.data())
def test_seal_that_is_cut_or_continued_is_for_no_upstream(data: st.DataObject) -> None:
    made = seal({"signature": "c2ln" * 9})
    cut = data.draw(st.integers(1, len(made) - 1))
    for text in (made[:cut], made[cut:], made + "A", made + "=", made + "\n", made + made, f" {made}"):
        found = read_seal(text)
        assert found is None or not found.is_for("anthropic", "claude")


@given(st.text() | st.text("sw1.AQ_-", max_size=200).map("sw1.".__add__) | st.binary().map(repr))
def test_read_seal_of_any_text_raises_nothing(text: str) -> None:
    found = read_seal(text)
    assert found is None or not found.is_for("anthropic", "claude")


@pytest.mark.parametrize("value", [None, 7, b"sw1.AAAA", [], {}, True])
def test_read_seal_of_another_type_returns_nothing(value: object) -> None:
    assert read_seal(value) is None
    assert not is_seal(value)


def test_kind_cannot_be_changed_in_a_seal() -> None:
    texts = {of: seal({"thoughtSignature": "x"}, of) for of in ("thinking", "text", "call")}
    assert len({*texts.values()}) == 3
    checksums = [found.checksum for text in texts.values() if (found := read_seal(text))]
    assert len({*checksums}) == 3


def test_fields_cannot_be_moved_between_dialect_and_upstream() -> None:
    found = read_seal(make_seal({}, dialect="ab", upstream="c", of="text"))
    assert found is not None
    assert not found._replace(dialect="a").is_for("a", "bc")


@pytest.mark.parametrize("filling", ["A", "[", "_", "é", "\x00"])
def test_huge_text_is_lost_in_bounded_time(filling: str) -> None:
    begin = time.process_time()
    assert read_seal("sw1." + filling * MAX_SEAL_CHARACTERS) is None
    assert read_seal("sw1." + filling * 2_000_000) is None
    assert time.process_time() - begin < 5


def test_value_nested_too_deeply_is_lost() -> None:
    value: Any = {}
    for _ in range(200):
        value = {"a": value}
    assert read_seal(seal(value)) is None


def test_large_value_comes_back() -> None:
    value = {"encrypted_content": "A" * (8 * 1024 * 1024 - 100)}
    found = read_seal(seal(value))
    assert found is not None
    assert found.value == value
    assert found.is_for("anthropic", "claude")
