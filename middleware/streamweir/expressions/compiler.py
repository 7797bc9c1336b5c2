"""Compiles the tree of an expression to closures, which take a fifth of the time of walking the tree.

Source: JMESPath specification 2016-09-05; the tree is that of the package `jmespath`. A closure gets the
current value and the scope; for an error of the specification it raises one of `FAILURES`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from streamweir.expressions.functions import EXPRESSION, FUNCTIONS
from streamweir.expressions.scope import JSON_PER_VISIT, NAMES, Scope
from streamweir.expressions.syntax_tree import Node, constant_path, heads
from streamweir.expressions.values import is_true, type_name
from streamweir.jsontext import same_json

__all__ = ["FAILURES", "Evaluate", "compile_node"]

Evaluate = Callable[[Any, Scope], Any]

FAILURES: Final = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError)
"""The exceptions that an expression may raise on values for which it was not written."""

_ORDERS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}
_LEAST: Final = 4
"""The least bytes of JSON that an item of a container takes, with its separators."""

_ORDERED: Final = frozenset({"number", "string"})


def compile_node(node: Node, names: Collection[str]) -> Evaluate:
    """Return the function that evaluates a whole tree.

    Args:
        node: the root of the tree.
        names: the members of `NAMES` that exist at the place of the expression.
    """
    return _Compiler(names).compile(node)


class _Compiler:
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def compile(self, node: Node, *, is_head: bool = True) -> Evaluate:
        path = constant_path(node)
        if path is not None:
            return self._named(path) if is_head and {*path[:1]} & heads(node) else _walk(path)
        compiled: Evaluate = getattr(self, f"_{node['type']}")(node, is_head)
        return compiled

    def _named(self, path: tuple[str | int, ...]) -> Evaluate:
        """Return a function for a path that begins with a field of the current value or a scope's name."""
        name, rest = str(path[0]), path[1:]
        if name not in self._names:
            return _walk(path)
        read, walk = NAMES[name], _walk(rest)
        return (lambda _, scope: walk(read(scope), scope)) if rest else (lambda _, scope: read(scope))

    # Steps from a value to a part of it

    def _subexpression(self, node: Node, is_head: bool) -> Evaluate:
        first, *others = node["children"]
        return _chain(
            [
                self.compile(first, is_head=is_head),
                *(self.compile(child, is_head=False) for child in others),
            ]
        )

    _index_expression = _subexpression

    def _index(self, node: Node, _is_head: bool) -> Evaluate:
        return _walk((node["value"],))

    def _slice(self, node: Node, _is_head: bool) -> Evaluate:
        part = slice(*node["children"])

        def sliced(value: Any, scope: Scope) -> Any:
            if not isinstance(value, list):
                return None
            scope.visit(len(range(*part.indices(len(value)))))
            return value[part]

        return sliced

    def _pipe(self, node: Node, is_head: bool) -> Evaluate:
        first, *others = node["children"]
        return _chain([self.compile(first, is_head=is_head), *map(self.compile, others)])

    # Projections

    def _projection(self, node: Node, is_head: bool) -> Evaluate:
        base = self.compile(node["children"][0], is_head=is_head)
        part = self.compile(node["children"][1], is_head=False)

        def projection(value: Any, scope: Scope) -> Any:
            items = base(value, scope)
            if not isinstance(items, list):
                return None
            scope.visit(len(items))
            return [found for item in items if (found := part(item, scope)) is not None]

        return projection

    def _value_projection(self, node: Node, is_head: bool) -> Evaluate:
        base = self.compile(node["children"][0], is_head=is_head)
        part = self.compile(node["children"][1], is_head=False)

        def value_projection(value: Any, scope: Scope) -> Any:
            fields = base(value, scope)
            if not isinstance(fields, Mapping):
                return None
            scope.visit(len(fields))
            return [found for item in fields.values() if (found := part(item, scope)) is not None]

        return value_projection

    def _filter_projection(self, node: Node, is_head: bool) -> Evaluate:
        base = self.compile(node["children"][0], is_head=is_head)
        part = self.compile(node["children"][1], is_head=False)
        condition = self.compile(node["children"][2])

        def filter_projection(value: Any, scope: Scope) -> Any:
            items = base(value, scope)
            if not isinstance(items, list):
                return None
            scope.visit(len(items))
            found = (part(item, scope) for item in items if is_true(condition(item, scope)))
            return [item for item in found if item is not None]

        return filter_projection

    def _flatten(self, node: Node, is_head: bool) -> Evaluate:
        base = self.compile(node["children"][0], is_head=is_head)

        def flatten(value: Any, scope: Scope) -> Any:
            items = base(value, scope)
            if not isinstance(items, list):
                return None
            flat: list[Any] = []
            for item in items:
                scope.visit(len(item) if isinstance(item, list) else 1)
                flat += item if isinstance(item, list) else (item,)
            return flat

        return flatten

    # New values

    def _literal(self, node: Node, _is_head: bool) -> Evaluate:
        literal = node["value"]
        return lambda _, __: literal

    def _multi_select_list(self, node: Node, _is_head: bool) -> Evaluate:
        parts = [self.compile(child) for child in node["children"]]
        size = _LEAST * len(parts)

        def multi_select_list(value: Any, scope: Scope) -> Any:
            if value is None:
                return None
            scope.make(size)
            return [part(value, scope) for part in parts]

        return multi_select_list

    def _multi_select_dict(self, node: Node, _is_head: bool) -> Evaluate:
        parts = [(child["value"], self.compile(child["children"][0])) for child in node["children"]]
        size = sum(_LEAST + len(key) for key, _ in parts)

        def multi_select_dict(value: Any, scope: Scope) -> Any:
            if value is None:
                return None
            scope.make(size)
            return {key: part(value, scope) for key, part in parts}

        return multi_select_dict

    # Logic

    def _or_expression(self, node: Node, is_head: bool) -> Evaluate:
        first, second = self._both(node, is_head)
        return lambda value, scope: found if is_true(found := first(value, scope)) else second(value, scope)

    def _and_expression(self, node: Node, is_head: bool) -> Evaluate:
        first, second = self._both(node, is_head)
        return lambda value, scope: second(value, scope) if is_true(found := first(value, scope)) else found

    def _not_expression(self, node: Node, _is_head: bool) -> Evaluate:
        inner = self.compile(node["children"][0])
        return lambda value, scope: not is_true(inner(value, scope))

    def _comparator(self, node: Node, is_head: bool) -> Evaluate:
        first, second = self._both(node, is_head)
        match node["value"]:
            case "eq":
                return _equality(first, second, node["children"])
            case "ne":
                return lambda value, scope: not _is_same(first(value, scope), second(value, scope), scope)
        return _ordering(first, second, _ORDERS[node["value"]])

    def _both(self, node: Node, is_head: bool) -> tuple[Evaluate, Evaluate]:
        first, second = node["children"]
        return self.compile(first, is_head=is_head), self.compile(second)

    # Functions

    def _function_expression(self, node: Node, _is_head: bool) -> Evaluate:
        function = FUNCTIONS[node["value"]]
        call = function.call
        arguments = [self._argument(child) for child in node["children"]]
        last = function.types[-1]
        types = [*function.types, *[last] * (len(arguments) - len(function.types))]
        checked = [*zip(arguments, types, strict=False)]
        return lambda value, scope: call(
            scope, *[_checked(argument(value, scope), allowed) for argument, allowed in checked]
        )

    def _argument(self, node: Node) -> Evaluate:
        if node["type"] != "expref":
            return self.compile(node)
        inner = self.compile(node["children"][0])
        return lambda _, __: inner


def _checked(argument: Any, allowed: frozenset[str]) -> Any:
    if allowed is not EXPRESSION and type_name(argument) not in allowed:
        raise TypeError("an argument of a wrong type")
    return argument


def _chain(steps: Sequence[Evaluate]) -> Evaluate:
    if len(steps) == 2:
        first, second = steps
        return lambda value, scope: second(first(value, scope), scope)

    def chain(value: Any, scope: Scope) -> Any:
        for step in steps:
            value = step(value, scope)
        return value

    return chain


def _walk(path: tuple[str | int, ...]) -> Evaluate:
    """Return a function that follows fields and indexes, with separate code for the usual lengths."""
    match path:
        case ():
            return lambda value, _: value
        case (str(name),):
            return lambda value, _: value.get(name) if isinstance(value, dict) else None
        case (str(outer), str(inner)):

            def two_fields(value: Any, _scope: Scope) -> Any:
                if isinstance(value, dict):
                    value = value.get(outer)
                    if isinstance(value, dict):
                        return value.get(inner)
                return None

            return two_fields
    return lambda value, _: _part(value, path)


def _part(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        if isinstance(step, str):
            if not isinstance(value, dict):
                return None
            value = value.get(step)
        elif isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def _equality(first: Evaluate, second: Evaluate, nodes: Sequence[Node]) -> Evaluate:
    if nodes[1]["type"] == "literal" and isinstance(nodes[1]["value"], str):
        literal = nodes[1]["value"]
        return lambda value, scope: first(value, scope) == literal
    return lambda value, scope: _is_same(first(value, scope), second(value, scope), scope)


def _is_same(one: Any, other: Any, scope: Scope) -> bool:
    """Compare two values, and count the comparison by their size."""
    if isinstance(one, str) and isinstance(other, str) and len(one) == len(other):
        scope.visit_text(one)
    elif isinstance(one, dict | list) and type(one) is type(other) and len(one) == len(other):
        scope.visit(scope.size_of(one) // JSON_PER_VISIT)
        scope.size_of(other)
    return same_json(one, other)


def _ordering(first: Evaluate, second: Evaluate, compare: Callable[[Any, Any], bool]) -> Evaluate:
    def ordering(value: Any, scope: Scope) -> Any:
        one, other = first(value, scope), second(value, scope)
        if type_name(one) not in _ORDERED or type_name(other) not in _ORDERED:
            return None
        if isinstance(one, str):
            scope.visit_text(one)
        return compare(one, other)

    return ordering
