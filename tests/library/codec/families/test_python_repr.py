"""What Python writes of literals and objects is read back; what is none of that is nothing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.codec.families.python_repr import CLASS, value_of_repr

LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,9}", fullmatch=True), LITERALS, max_size=4)


@given(LITERALS)
def test_literals_are_read_back(value: Any) -> None:
    assert value_of_repr(repr(value)) == value


@given(FIELDS)
def test_objects_are_their_fields(fields: dict[str, Any]) -> None:
    inside = ", ".join(f"{name}={value!r}" for name, value in fields.items())
    assert value_of_repr(f"(Interrupt({inside}),)") == [{CLASS: "Interrupt", **fields}]


@given(st.text() | st.text("()[]{}'\",:=. \\Aa1\n", max_size=40))
def test_python_repr_of_any_text_raises_nothing(text: str) -> None:
    value_of_repr(text)


@pytest.mark.parametrize(
    "text", ["[" * 10_000, "A(" * 10_000, "'" + "a" * 100_000 + "'", "open('/etc/passwd').read()"]
)
def test_python_repr_that_is_large_deep_or_no_literal_is_nothing(text: str) -> None:
    assert value_of_repr(text) is None
