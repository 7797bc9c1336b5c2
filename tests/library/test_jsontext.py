"""JSON as upstreams really send it, and as every strict parser accepts it."""

import contextlib
import json
import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.errors import MalformedEvent
from streamweir.jsontext import MAX_DEPTH, parse_json, parse_json_text, same_json, write_json


def test_values_are_equal_by_their_json_and_not_by_python() -> None:
    assert same_json({"a": [1, "x", None, {"b": 2.0}]}, {"a": [1.0, "x", None, {"b": 2}]})
    different = [
        (True, 1),
        ([False], [0]),
        ({"a": {"b": 1}}, {"a": {"b": True}}),
        ([], {}),
        ("1", 1),
        (None, False),
    ]
    for one, other in different:
        assert not same_json(one, other), (one, other)
        assert not same_json(other, one), (other, one)


def test_nan_and_infinity_become_null() -> None:
    assert parse_json(b'{"a": NaN, "b": [-Infinity, Infinity, 1e999, -1e999]}') == (
        {"a": None, "b": [None, None, None, None]},
        False,
    )
    assert write_json([float("nan"), float("inf")]) == b"[null,null]"


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'"\\ud83d"', "\ufffd"),
        (b'"a\\udc00b"', "a\ufffdb"),
        (b'"\\ud83d\\ude00"', "\U0001f600"),
        (b'{"\\ud800": 1}', {"\ufffd": 1}),
        (b'"\\\\\\ud83d"', "\\\ufffd"),
        (b'["\\ud83d", NaN, "\t"]', ["\ufffd", None, "\t"]),
        (b'"\xff"', "\ufffd"),
        (b'"\xe4\xb8"', "\ufffd"),
        ('"\ufffd'.encode() + b'\xff"', "\ufffd\ufffd"),
    ],
)
def test_text_that_is_not_unicode_is_repaired(data: bytes, value: object) -> None:
    parsed, repaired = parse_json(data)
    assert parsed == value
    assert repaired == (b"\\ude00" not in data)


def test_text_that_looks_like_half_a_character_is_kept() -> None:
    assert parse_json(b'"\\\\ud83d"') == ("\\ud83d", False)
    assert parse_json(b'["\\\\ud83d", NaN]') == (["\\ud83d", None], False)
    halves_around_a_whole = b'"\\uD83D\\ud83d\\ude00\\ude00"'
    assert parse_json(halves_around_a_whole) == ("\ufffd\U0001f600\ufffd", True)
    assert parse_json(b'"\\\\ud83d\\ud83d"') == ("\\ud83d\ufffd", True)


def test_replacement_character_of_the_upstream_is_no_repair() -> None:
    assert parse_json('"\ufffd"'.encode()) == ("\ufffd", False)
    assert parse_json('["\ufffd", NaN]'.encode()) == (["\ufffd", None], False)


def test_raw_control_characters_in_strings_are_accepted() -> None:
    assert parse_json(b'"a\tb\nc\x01"') == ("a\tb\nc\x01", False)


def test_integers_beyond_64_bit_are_kept_and_written_as_text() -> None:
    value, _ = parse_json(b"[18446744073709551615, 18446744073709551616, -9223372036854775809]")
    assert value == [2**64 - 1, 2**64, -(2**63) - 1]
    assert write_json(value) == b'[18446744073709551615,"18446744073709551616","-9223372036854775809"]'


def test_endless_integer_stays_text() -> None:
    """Converting it would take quadratic time, and Python refuses beyond 4300 digits."""
    digits = b"9" * 100_000
    assert parse_json(b"[" + digits + b"]") == ([digits.decode()], False)


@pytest.mark.parametrize(
    "data", [b"", b" ", b"{", b'{"a":1}x', b"{'a':1}", b"\x00", b"undefined", b'{"a":1,}', b'"', b"\xff"]
)
def test_text_that_is_no_json_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedEvent):
        parse_json(data)


def nested(depth: int, opening: str = "[", closing: str = "]") -> bytes:
    return (opening * depth + "1" + closing * depth).encode()


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    depth = MAX_DEPTH // opening.count("[") if "{" not in opening else MAX_DEPTH // (opening.count("[") + 1)
    parse_json(nested(depth, opening, closing))
    with pytest.raises(MalformedEvent):
        parse_json(nested(depth + 1, opening, closing))


def test_nesting_of_a_large_message_has_the_same_limit() -> None:
    text = b'"%b"' % (b"x" * 100_000)
    for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
        for depth, is_read in ((MAX_DEPTH, True), (MAX_DEPTH + 1, False)):
            message = opening * depth + text + closing * depth
            if is_read:
                parse_json(message)
                continue
            with pytest.raises(MalformedEvent):
                parse_json(message)
    assert parse_json(b'["%b"]' % (b"[{" * 10_000))[0] == ["[{" * 10_000]


def test_brackets_in_strings_and_side_by_side_are_no_nesting() -> None:
    parse_json(b'{"a": "' + b"[{" * 500 + b'\\"[[["}')
    parse_json(b"[" + b"[],{}," * 500 + b"1]")


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"[" * 4_000_000,
        b"[{" * 2_000_000,
        b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000,
        b'"' + b'\\"[' * 2_000_000,
        b'"[' * 2_000_000,
        b"[" + b"[[[[[[[[[[[]]]]]]]]]]]," * 20_000,
        b"9" * 4_000_000,
    ],
)
def test_hostile_json_takes_no_time(data: bytes) -> None:
    began = time.process_time()
    with contextlib.suppress(MalformedEvent):
        parse_json(data)
    assert time.process_time() - began < 10


ORDINARY = b"[%s0]" % (b'{"content": "hello world", "n": 1234567, "ok": true}, ' * 10_000)


@pytest.mark.parametrize(
    ("part", "instead"),
    [
        (b"hello", b"hel\\ud83dlo"),
        (b"hello", b"hel\\udc00\\ud83dlo"),
        (b"hello", b"hel\xfflo"),
        (b"1234567", b"12345678901234567890"),
        (b"1234567", b"NaN"),
        (b"hello", b"hel\tlo"),
    ],
)
def test_repaired_json_costs_a_few_times_as_much_as_valid_json(part: bytes, instead: bytes) -> None:
    ordinary, odd = (
        min(seconds_for(data) for _ in range(5)) for data in (ORDINARY, ORDINARY.replace(part, instead))
    )
    assert odd < 8 * ordinary


def seconds_for(data: bytes) -> float:
    start = time.thread_time()
    write_json(parse_json(data)[0])
    return time.thread_time() - start


def test_one_large_integer_does_not_make_a_large_value_dear() -> None:
    """Beside it nothing is looked at piece by piece: the interpreter's own writer is not much faster."""
    value = [[[{"a": [1]}]] * 50_000, 1 << 64]
    plain, ours = (min(writing(value, write) for _ in range(5)) for write in (json.dumps, write_json))
    assert ours < 4 * plain


def writing(value: Any, write: Any) -> float:
    start = time.thread_time()
    write(value)
    return time.thread_time() - start


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@given(JSON)
def test_json_written_by_python_is_read_exactly(value: Any) -> None:
    assert parse_json(json.dumps(value).encode()) == (value, False)
    assert parse_json_text(json.dumps(value, ensure_ascii=False)) == value


@given(
    JSON | st.dictionaries(st.integers() | st.text(st.characters()), st.integers() | st.text(st.characters()))
)
def test_written_json_is_strict_and_on_one_line(value: Any) -> None:
    written = write_json(value)
    assert b"\n" not in written
    orjson.loads(written)


@given(JSON)
def test_beside_a_large_integer_all_is_written_as_it_is(value: Any) -> None:
    assert orjson.loads(write_json([value, 1 << 64])) == [in_64_bit(value), str(1 << 64)]


def in_64_bit(value: Any) -> Any:
    match value:
        case dict():
            return {key: in_64_bit(item) for key, item in value.items()}
        case list():
            return [in_64_bit(item) for item in value]
        case int() if not -(1 << 63) <= value < 1 << 64:
            return str(value)
    return value


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_malformed(data: bytes) -> None:
    try:
        value, _ = parse_json(data)
    except MalformedEvent:
        return
    orjson.loads(write_json(value))
