"""What expressions have beyond the specification, and what is refused of them."""

from typing import Any

import pytest

from streamweir.errors import MalformedEvent
from streamweir.expressions import (
    InvalidExpression,
    Scope,
    Vocabulary,
    bare_expression,
    compile_expression,
    compile_template,
)
from streamweir.expressions.functions import MAX_TEXT

NAMES = Vocabulary(frozenset({"_message", "_text", "_event", "_state", "_options", "_item", "_index"}))


def value_of(expression: str, value: Any = None, scope: Scope | None = None) -> Any:
    return compile_expression(expression, NAMES).evaluate(value, scope or Scope({}))


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("lower('ÄB')", "äb"),
        ("upper('äb')", "ÄB"),
        ("trim(' a b\t')", "a b"),
        ("split('a-b-c', '-')", ["a", "b", "c"]),
        ("split('a-b-c', '-', `1`)", ["a", "b-c"]),
        ("split('a-b-c', '-', `0`)", ["a-b-c"]),
        ("split('a-b-c', '-', `9`)", ["a", "b", "c"]),
        ("split('abc', '')", ["a", "b", "c"]),
        ("split('abcd', '', `2`)", ["a", "b", "cd"]),
        ("split('', ',')", [""]),
        ("split('a', 'b', `-1`)", None),
        ("split('a', 'b', `1.5`)", None),
        ("replace('a-b-c', '-', '+')", "a+b+c"),
        ("replace('abc', 'x', '')", "abc"),
        ("from_json('{\"a\": [1]}').a", [1]),
        ("from_json('no json')", None),
        ("from_json(`5`)", None),
        ("ms(`0.0005`)", 0),
        ("ms(`1.25`)", 1250),
        ("ms('1')", None),
        ("to_number('nan')", None),
        ("to_number('1e999')", None),
        ("to_string('天')", "天"),
        ("to_string(['天'])", '["天"]'),
        ("lower(`1`)", None),
        ("length(missing) || 'never'", None),
        ("avg(`[1, 2]`)", 1.5),
        ("contains('abc', `1`)", None),
        ("`1` < 'a'", None),
        ("[::-1]", None),
    ],
)
def test_expression_has_its_value_or_null(expression: str, value: Any) -> None:
    assert value_of(expression, {}) == value
    assert type(value_of(expression, {})) is type(value)


def test_names_have_the_same_value_in_projections() -> None:
    scope = Scope({"lang": "de"})
    scope.message = {"id": 7, "items": [{"id": 7, "_state": "own"}, {"id": 8}], "_item": "own"}
    scope.item, scope.index, scope.state = {"id": 8}, 3, {"n": "kept"}
    for expression, value in {
        "_item.id": 8,
        "_index": 3,
        "_options.lang": "de",
        "_state.n": "kept",
        "_message.id": 7,
        "items[?id == _message.id].id | [0]": 7,
        "items[?id == _item.id] | [0].id": 8,
        "items[0]._state": "own",
        "items[].{s: _state.n}": [{"s": "kept"}, {"s": "kept"}],
        "items[*]._state": ["own"],
        "@._item": "own",
        "[_item.id, @._item]": [8, "own"],
        "length(_message.items)": 2,
        "map(&_index, items)": [3, 3],
        "_item": {"id": 8},
        '"_index"': 3,
    }.items():
        assert value_of(expression, scope.message, scope) == value, expression


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("code == 1", "a number is written in backticks: `1`"),
        ("code == -1.5", "a number is written in backticks: `-1.5`"),
        ("items[?n > 10]", "a number is written in backticks: `10`"),
        ('kind == "x"', "text is written 'x'"),
        ('"x" != kind', "text is written 'x'"),
        ('kind == ""', "text is written ''"),
        ("!a.b", "write `!(a.b)`"),
        ("a && !b.c", "write `!(a.b)`"),
        ("!a.*", "write `!(a.b)`"),
        ("done == true", "true is a field here: write `true`"),
        ("false != done", "false is a field here: write `false`"),
        ("lenght(a)", "unknown function 'lenght'; did you mean 'length'?"),
        ("frobnicate(a)", "unknown function 'frobnicate' (known: abs, "),
        ("length()", "length() takes 1 arguments, not 0"),
        ("split(a)", "split() takes 2 or 3 arguments, not 1"),
        ("not_null()", "not_null() takes at least 1 arguments, not 0"),
        ("sort_by(a, b)", "argument 2 of sort_by() has to begin with `&`"),
        ("length(&a)", "argument 1 of length() cannot begin with `&`"),
        ("&a", "`&` stands only before an argument"),
        ("[&a]", "`&` stands only before an argument"),
        ("a = 'x'", "equality is written =="),
        ("a == 'x", "a quote is not closed"),
        ("a ==", "is not complete"),
        ("", "an expression is empty"),
        ("  ", "an expression is empty"),
        ("a..b", "is no JMESPath expression"),
        ("a b", "is no JMESPath expression"),
        ("$.a", "is no JMESPath expression"),
        ("`text`", "`text` is no JSON; text is written 'text'"),
        ("`{a: 1}`", "is no JSON"),
        ("`NaN`", "is no JSON"),
        ('`"\\ud800"`', "is no JSON"),
        ("a[::0]", "the step of a slice cannot be 0"),
        ("a." * 400 + "bcdef" * 50, "an expression may have 1000 characters"),
        ("[" + ",".join(["a"] * 201) + "]", "an expression may have 200 parts"),
    ],
)
def test_mistaken_expression_is_refused_with_a_correction(expression: str, message: str) -> None:
    with pytest.raises(InvalidExpression) as refusal:
        compile_expression(expression, NAMES)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    "expression",
    [
        'a."b"',
        '"two words" == a',
        'a == "b".c',
        "channel == null",
        "!a",
        "!(a.b)",
        "!a[0]",
        "!a && b.c",
        "a.\"true\" == 'x'",
        "type == '`1`'",
        "contains(text, '\"x\" == 1')",
        "`1` == n",
        "a.true",
    ],
)
def test_unusual_expression_is_not_refused(expression: str) -> None:
    compile_expression(expression, NAMES)


def test_unavailable_name_is_refused() -> None:
    outside = Vocabulary(frozenset({"_options", "_state"}), {"_options": ["lang"], "_state": []})
    for expression, message in {
        "_item.x": "_item is known only below `each`",
        "items[?id == _index]": "_index is known only below `each`",
        "_options.lnag": "_options has no 'lnag'; did you mean 'lang'?",
        "items[?id == _state.last]": "_state has no 'last' (known: none)",
    }.items():
        with pytest.raises(InvalidExpression) as refusal:
            compile_expression(expression, outside)
        assert message in str(refusal.value)
    for expression in ("_options", "a._options.x", "_options.lang", "@._item", "_event.x"):
        compile_expression(expression, outside)


def test_function_with_a_too_long_text_is_null() -> None:
    half = "x" * (MAX_TEXT // 2)
    assert value_of("length(replace(@, 'x', 'yy'))", half) == MAX_TEXT
    assert value_of("replace(@, 'x', 'yyy')", half) is None
    assert value_of("join('', [@, @, @])", half) is None


@pytest.mark.parametrize(
    "expression",
    ["@[]", "[*].a", "[?a]", "*", "map(&a, @)", "sort_by(@, &a)", "length(@[?contains(_message, a)])"],
)
def test_visited_items_are_counted(expression: str) -> None:
    scope = Scope({})
    scope.message = [{"a": 1}] * 100_001
    value: Any = scope.message if expression != "*" else {str(n): 1 for n in range(100_001)}
    with pytest.raises(MalformedEvent):
        value_of(expression, value, scope)


def test_scope_begin_resets_the_counts() -> None:
    scope = Scope({})
    assert value_of("length([*])", [1] * 60_000, scope) == 60_000
    scope.visited = 0
    assert value_of("length([*])", [1] * 60_000, scope) == 60_000


# Templates


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("plain", "plain"),
        ("${{ n }}", 5),
        ("  ${{ n }}", "  5"),
        ("${{n}}", 5),
        ("a ${{ n }} b ${{ missing }}c", "a 5 b c"),
        ("$${{ n }}", "${{ n }}"),
        ("$${{ n }} ${{ n }}", "${{ n }} 5"),
        ("$$ ${{ n }}", "$$ 5"),
        ("${{ {a: {b: n}} }}", {"a": {"b": 5}}),
        ("${{ {a: {b: n}}}}", {"a": {"b": 5}}),
        ("${{ '}}' }}", "}}"),
        ("${{ '\\'}}' }}", "'}}"),
        ('${{ `{"a": {}}` }}', {"a": {}}),
        ("} ${{ n }} {", "} 5 {"),
    ],
)
def test_template_text_contains_the_values(text: str, value: Any) -> None:
    problems: list[Any] = []
    template = compile_template(text, NAMES, lambda *problem: problems.append(problem))
    assert template.evaluate({"n": 5}, Scope({})) == value
    assert problems == []


def test_template_problem_is_reported_with_its_place() -> None:
    problems: list[tuple[Any, str]] = []
    tree = {"a": ["ok", "${{ a == 1 }}"], "b": {"c": "${{ open"}}
    compile_template(tree, NAMES, lambda place, message: problems.append((place, message)), ("top",))
    assert [place for place, _ in problems] == [("top", "a", 1), ("top", "b", "c")]
    assert "backticks" in problems[0][1]
    assert "not closed" in problems[1][1]


def test_bare_expression_accepts_missing_braces() -> None:
    assert bare_expression(" a.b ") == "a.b"
    assert bare_expression("${{ a.b }}") == "a.b"
    for text in ("${{ a }} ${{ b }}", "not ${{ a }}"):
        with pytest.raises(InvalidExpression):
            bare_expression(text)


@pytest.mark.parametrize(
    ("expression", "values", "kinds"),
    [
        ("a.b", {("a", "b")}, set()),
        ("a[0].b", {("a", 0, "b")}, set()),
        ("a[*].b", {("a",)}, set()),
        ("a[?b == c].d", {("a",)}, set()),
        ("a[?b == _message.c].d", {("a",), ("c",)}, set()),
        ("{x: a.b, y: c}", {("a", "b"), ("c",)}, set()),
        ("@", {()}, set()),
        ("_text", {()}, set()),
        ("_state.x", set(), set()),
        ("a | b", {("a",)}, set()),
        ("type(a)", set(), {("a",)}),
        ("length(a.b)", {("a", "b")}, set()),
        ("'x'", set(), set()),
    ],
)
def test_reads_of_an_expression_are_found(expression: str, values: set[Any], kinds: set[Any]) -> None:
    reads = compile_expression(expression, NAMES).reads
    assert ({*reads.values}, {*reads.kinds}) == (values, kinds)


@pytest.mark.parametrize(
    ("expression", "values", "kinds"),
    [
        ("a.b", set(), {("a", "b")}),
        ("a && !(b)", set(), {("a",), ("b",)}),
        ("a != '' || b == 'x'", {("b",)}, {("a",)}),
        ("type(@) == 'string'", set(), {()}),
        ("a > `1`", {("a",)}, set()),
    ],
)
def test_reads_of_a_condition_distinguish_kinds(expression: str, values: set[Any], kinds: set[Any]) -> None:
    reads = compile_expression(expression, NAMES).truth_reads
    assert ({*reads.values}, {*reads.kinds}) == (values, kinds)
