"""Compiled expressions give what the package's own interpreter gives."""

import json
import time
from typing import Any

import jmespath
import jmespath.exceptions
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamweir.expressions import InvalidExpression, Scope, compile_expression

NAMES = st.sampled_from(["a", "b", "c", "d", '"two words"'])
TEXTS = st.sampled_from(["", "a", "b", "x-y", "7", "1.5", "  trim me "])
LEAVES = st.none() | st.booleans() | st.integers(-3, 12) | st.sampled_from([0.5, 2.0, -1.25]) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=14,
)
LITERALS = st.one_of(
    TEXTS.map(lambda text: f"'{text}'"),
    st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3), max_leaves=3).map(
        lambda value: f"`{json.dumps(value)}`"
    ),
)
INDICES = st.integers(-3, 3)
SLICES = st.builds(
    lambda start, stop, step: f"[{start}:{stop}:{step}]",
    st.sampled_from(["", "0", "1", "-2"]),
    st.sampled_from(["", "1", "3", "-1"]),
    st.sampled_from(["", "1", "2", "-1"]),
)
ONE_ARGUMENT = [
    *("abs", "avg", "ceil", "floor", "keys", "length", "max", "min", "reverse", "sort", "sum"),
    *("to_array", "to_number", "to_string", "type", "values"),
]
OBJECTS = st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4)
TWO_ARGUMENTS = ["contains", "ends_with", "starts_with", "join"]


def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    parts = st.one_of(
        st.builds("{}.{}".format, inner, NAMES),
        st.builds("{}[{}]".format, inner, INDICES),
        st.builds("{}{}".format, inner, SLICES),
        st.builds("{}[*]".format, inner),
        st.builds("{}[]".format, inner),
        st.builds("{}.*".format, inner),
        st.builds("{}[?{}]".format, inner, inner),
        st.builds("{}[?{}].{}".format, inner, inner, NAMES),
        st.builds("{}.[{}, {}]".format, inner, inner, inner),
        st.builds("{}.{{x: {}, y: {}}}".format, inner, inner, inner),
    )
    logic = st.one_of(
        st.builds(
            "({}) {} ({})".format,
            inner,
            st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "||", "&&"]),
            inner,
        ),
        st.builds("{} | {}".format, inner, inner),
        st.builds("!({})".format, inner),
    )
    calls = st.one_of(
        st.builds("{}({})".format, st.sampled_from(ONE_ARGUMENT), inner),
        st.builds("{}({}, {})".format, st.sampled_from(TWO_ARGUMENTS), inner, inner),
        st.builds("{}({}, &{})".format, st.sampled_from(["sort_by", "max_by", "min_by"]), inner, inner),
        st.builds("map(&{}, {})".format, inner, inner),
        st.builds("not_null({}, {})".format, inner, inner),
        st.builds("merge({}, {{x: {}}})".format, inner, inner),
    )
    return parts | logic | calls


EXPRESSIONS = st.recursive(NAMES | LITERALS | st.just("@"), deeper, max_leaves=7)


def interpreted(expression: str, value: Any) -> Any:
    """What the package says; null where it fails, which it does by more than its own errors."""
    try:
        return jmespath.search(expression, value)
    except (jmespath.exceptions.JMESPathError, TypeError, ValueError, OverflowError):
        return None


@settings(max_examples=1500, deadline=None)
@given(expression=EXPRESSIONS, value=VALUES)
def test_compiled_expression_equals_the_interpreter(expression: str, value: Any) -> None:
    try:
        compiled = compile_expression(expression)
    except InvalidExpression:
        return  # refused because it cannot be meant, or the generator wrote no expression
    assert compiled.evaluate(value, Scope({})) == interpreted(expression, value)


@settings(max_examples=400, deadline=None)
@given(expression=EXPRESSIONS, value=OBJECTS, other=VALUES)
def test_value_outside_of_reads_changes_no_result(expression: str, value: dict[str, Any], other: Any) -> None:
    try:
        compiled = compile_expression(expression)
    except InvalidExpression:
        return
    for name in "abcd":
        if not any(path == () or path[0] == name for path in (*compiled.reads.values, *compiled.reads.kinds)):
            changed = {**value, name: other}
            assert compiled.evaluate(value, Scope({})) == compiled.evaluate(changed, Scope({}))


@pytest.mark.parametrize(
    "expression",
    [
        "a.b",
        "a.b.c",
        "kind == 'chunk'",
        "choices[0].delta.content",
        "a.b || a.c",
        "items[?id == 'x'].v | [0]",
    ],
)
def test_compiled_expression_is_faster_than_the_interpreter(expression: str) -> None:
    value = {
        "a": {"b": None, "c": "x"},
        "kind": "chunk",
        "choices": [{"delta": {"content": "Hi"}}],
        "items": [{"id": "x", "v": 1}],
    }
    compiled, scope, tree = compile_expression(expression), Scope({}), jmespath.compile(expression)

    def seconds(call: Any) -> float:
        took = []
        for _ in range(7):
            began = time.perf_counter()
            for _ in range(500):
                call()
            took.append(time.perf_counter() - began)
        return min(took)

    assert seconds(lambda: compiled.evaluate(value, scope)) * 2 < seconds(lambda: tree.search(value))
