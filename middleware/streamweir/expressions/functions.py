"""The functions of expressions: those of the JMESPath specification, and seven more.

Source: JMESPath specification 2016-09-05, built-in functions; the dialect-file contract, section 4. A
function raises `TypeError` or `ValueError` for arguments that it does not accept; the value of the expression
is then null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from streamweir.expressions.scope import JSON_PER_VISIT, TEXT_PER_VISIT, Scope
from streamweir.expressions.values import type_name
from streamweir.jsontext import write_json_text
from streamweir.optional_json import json_or

__all__ = ["EXPRESSION", "FUNCTIONS", "Function"]

MAX_TEXT: Final = 8 << 20
"""The most characters of a text that a function may make, as a short expression can make a long one."""

MAX_DIGITS: Final = 400
"""The most characters of a text that is read as a number: a double has no more digits before its point."""

ANY: Final = frozenset({"string", "boolean", "number", "array", "object", "null"})
STRING: Final = frozenset({"string"})
NUMBER: Final = frozenset({"number"})
ARRAY: Final = frozenset({"array"})
OBJECT: Final = frozenset({"object"})
EXPRESSION: Final = frozenset({"expression"})

Evaluate = Callable[[Any, Scope], Any]


class Function(NamedTuple):
    """A function: its code, and the types of its arguments.

    Attributes:
        call: the code, which gets the scope and the arguments.
        types: the allowed types of each argument; `EXPRESSION` is an `&expression`, passed as the function
            that evaluates it.
        optional: how many of the last arguments may be left out.
        is_variadic: the last argument may be repeated.
    """

    call: Callable[..., Any]
    types: tuple[frozenset[str], ...]
    optional: int = 0
    is_variadic: bool = False

    @property
    def arity(self) -> str:
        """The number of arguments, in words."""
        least, most = len(self.types) - self.optional, len(self.types)
        if self.is_variadic:
            return f"at least {most}"
        return f"{least}" if least == most else f"{least} or {most}"

    def takes(self, count: int) -> bool:
        """Return whether the function may be called with this number of arguments."""
        least = len(self.types) - self.optional
        return count >= least and (self.is_variadic or count <= len(self.types))


def _check_items(scope: Scope, items: list[Any], *allowed: str) -> None:
    """Check that all items have one type, which is among the allowed ones; count the characters of texts."""
    kinds = {type_name(item) for item in items}
    if len(kinds) > 1 or not kinds <= {*allowed}:
        raise TypeError("items of a wrong type")
    if kinds == {"string"}:
        scope.visit(sum(map(len, items)) // TEXT_PER_VISIT)


def _check_length(length: int) -> None:
    if length > MAX_TEXT:
        raise ValueError("a text would be too long")


def _avg(scope: Scope, items: list[Any]) -> Any:
    scope.visit(len(items))
    _check_items(scope, items, "number")
    return sum(items) / len(items) if items else None


def _contains(scope: Scope, subject: str | list[Any], search: Any) -> bool:
    if isinstance(subject, str):
        scope.visit_text(subject)
    elif isinstance(search, dict | list):
        scope.visit(len(subject) * (1 + scope.size_of(search) // JSON_PER_VISIT))
    elif isinstance(search, str):
        scope.visit(len(subject) * (1 + len(search) // TEXT_PER_VISIT))
    else:
        scope.visit(len(subject))
    return search in subject


def _join(scope: Scope, separator: str, items: list[Any]) -> str:
    scope.visit(len(items))
    _check_items(scope, items, "string")
    length = sum(map(len, items)) + len(separator) * len(items)
    _check_length(length)
    scope.make(length)
    return separator.join(items)


def _map(scope: Scope, evaluate: Evaluate, items: list[Any]) -> list[Any]:
    scope.visit(len(items))
    return [evaluate(item, scope) for item in items]


def _extreme(choose: Callable[[Iterable[Any]], Any]) -> Callable[[Scope, list[Any]], Any]:
    def extreme(scope: Scope, items: list[Any]) -> Any:
        scope.visit(len(items))
        _check_items(scope, items, "number", "string")
        return choose(items) if items else None

    return extreme


def _keys_of(scope: Scope, items: list[Any], evaluate: Evaluate) -> list[Any]:
    scope.visit(len(items))
    keys = [evaluate(item, scope) for item in items]
    _check_items(scope, keys, "number", "string")
    return keys


def _extreme_by(choose: Callable[..., int]) -> Callable[[Scope, list[Any], Evaluate], Any]:
    def extreme_by(scope: Scope, items: list[Any], evaluate: Evaluate) -> Any:
        keys = _keys_of(scope, items, evaluate)
        return items[choose(range(len(keys)), key=keys.__getitem__)] if items else None

    return extreme_by


def _sort(scope: Scope, items: list[Any]) -> list[Any]:
    scope.visit(len(items))
    _check_items(scope, items, "number", "string")
    return sorted(items)


def _sort_by(scope: Scope, items: list[Any], evaluate: Evaluate) -> list[Any]:
    keys = _keys_of(scope, items, evaluate)
    return [items[place] for place in sorted(range(len(keys)), key=keys.__getitem__)]


def _merge(scope: Scope, *objects: dict[str, Any]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for fields in objects:
        scope.visit(len(fields))
        merged.update(fields)
    return merged


def _not_null(_scope: Scope, *values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _reverse(scope: Scope, value: str | list[Any]) -> str | list[Any]:
    if isinstance(value, list):
        scope.visit(len(value))
    else:
        scope.make(len(value))
    return value[::-1]


def _sum(scope: Scope, items: list[Any]) -> Any:
    scope.visit(len(items))
    _check_items(scope, items, "number")
    return sum(items)


def _to_number(_scope: Scope, value: Any) -> Any:
    if type_name(value) == "number":
        return value
    if not isinstance(value, str) or len(value) > MAX_DIGITS:
        return None
    try:
        return int(value)
    except ValueError:
        return _finite(value)


def _finite(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _to_string(scope: Scope, value: Any) -> str:
    if isinstance(value, str):
        return value
    scope.make(scope.size_of(value))
    return write_json_text(value)


def _split(scope: Scope, text: str, separator: str, count: Any = None) -> list[str]:
    """Split a text at `separator` into at most `count` pieces and the remaining text."""
    if count is not None and (not isinstance(count, int) or count < 0):
        raise ValueError("no number of splits")
    scope.make(len(text))
    if separator:
        pieces = text.split(separator, -1 if count is None else count)
    else:
        single = len(text) if count is None else count
        pieces = [*text[:single], *([text[single:]] if single < len(text) else [])]
    scope.visit(len(pieces))
    return pieces


def _replace(scope: Scope, text: str, old: str, new: str) -> str:
    scope.visit_text(text)
    length = len(text) + text.count(old) * (len(new) - len(old))
    _check_length(length)
    scope.make(length)
    return text.replace(old, new)


def _from_json(scope: Scope, text: str) -> Any:
    scope.make(len(text))
    return json_or(text)


def _text(change: Callable[[str], str]) -> Callable[[Scope, str], str]:
    def changed(scope: Scope, text: str) -> str:
        scope.make(len(text))
        return change(text)

    return changed


def _affix(test: Callable[[str, str], bool]) -> Callable[[Scope, str, str], bool]:
    def affix(scope: Scope, text: str, part: str) -> bool:
        scope.visit_text(part)
        return test(text, part)

    return affix


def _listed(part: Callable[[dict[str, Any]], Iterable[Any]]) -> Callable[[Scope, dict[str, Any]], list[Any]]:
    def listed(scope: Scope, fields: dict[str, Any]) -> list[Any]:
        scope.visit(len(fields))
        return list(part(fields))

    return listed


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that needs no scope."""

    def call(_scope: Scope, *arguments: Any) -> Any:
        return function(*arguments)

    return call


FUNCTIONS: Final[dict[str, Function]] = {
    "abs": Function(_plain(abs), (NUMBER,)),
    "avg": Function(_avg, (ARRAY,)),
    "ceil": Function(_plain(math.ceil), (NUMBER,)),
    "contains": Function(_contains, (ARRAY | STRING, ANY)),
    "ends_with": Function(_affix(str.endswith), (STRING, STRING)),
    "floor": Function(_plain(math.floor), (NUMBER,)),
    "join": Function(_join, (STRING, ARRAY)),
    "keys": Function(_listed(dict.keys), (OBJECT,)),
    "length": Function(_plain(len), (STRING | ARRAY | OBJECT,)),
    "map": Function(_map, (EXPRESSION, ARRAY)),
    "max": Function(_extreme(max), (ARRAY,)),
    "max_by": Function(_extreme_by(max), (ARRAY, EXPRESSION)),
    "merge": Function(_merge, (OBJECT,), is_variadic=True),
    "min": Function(_extreme(min), (ARRAY,)),
    "min_by": Function(_extreme_by(min), (ARRAY, EXPRESSION)),
    "not_null": Function(_not_null, (ANY,), is_variadic=True),
    "reverse": Function(_reverse, (ARRAY | STRING,)),
    "sort": Function(_sort, (ARRAY,)),
    "sort_by": Function(_sort_by, (ARRAY, EXPRESSION)),
    "starts_with": Function(_affix(str.startswith), (STRING, STRING)),
    "sum": Function(_sum, (ARRAY,)),
    "to_array": Function(_plain(lambda value: value if isinstance(value, list) else [value]), (ANY,)),
    "to_number": Function(_to_number, (ANY,)),
    "to_string": Function(_to_string, (ANY,)),
    "type": Function(_plain(type_name), (ANY,)),
    "values": Function(_listed(dict.values), (OBJECT,)),
    # of the community specification
    "lower": Function(_text(str.lower), (STRING,)),
    "replace": Function(_replace, (STRING, STRING, STRING)),
    "split": Function(_split, (STRING, STRING, NUMBER), optional=1),
    "trim": Function(_text(str.strip), (STRING,)),
    "upper": Function(_text(str.upper), (STRING,)),
    # of our own
    "from_json": Function(_from_json, (STRING,)),
    "ms": Function(_plain(lambda seconds: round(seconds * 1000)), (NUMBER,)),
}
"""The functions by name."""
