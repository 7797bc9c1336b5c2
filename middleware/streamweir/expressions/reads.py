"""Finds the places of the message that an expression reads; others may change without changing the value.

For some places only the kind of the value matters: `type(a)`, `a == ''`, and a place that is a condition by
itself. For these, all texts that are not empty are equal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from streamweir.expressions.syntax_tree import Node, Part, constant_path, heads, parts

__all__ = ["Path", "Reads", "all_reads", "reads_of"]

Path = tuple[str | int, ...]
"""The path of a value in a message: the keys of objects, the indexes of lists."""

_OF_THE_FRAME: Final = frozenset({"_text", "_answer"})
"""The names whose value depends on every part of the message."""

_LOGIC: Final = frozenset({"or_expression", "and_expression", "not_expression"})


class Reads(NamedTuple):
    """Places in the message.

    Attributes:
        values: places whose value, or a value below it, the expression may depend on.
        kinds: places of which only the kind of the value matters.
    """

    values: frozenset[Path] = frozenset()
    kinds: frozenset[Path] = frozenset()

    def __or__(self, other: Reads) -> Reads:
        return Reads(self.values | other.values, self.kinds | other.kinds)


def reads_of(tree: Node, names: Collection[str], *, is_condition: bool = False) -> Reads:
    """Return the places that an expression reads if its current value is the message.

    Args:
        tree: the tree of the expression.
        names: the names of the scope that exist.
        is_condition: it only matters whether the value is true.
    """
    whole = Part(tree, is_head=True, is_relative=False)
    return _truth(whole, names) if is_condition else _value(whole, names)


def _value(part: Part, names: Collection[str]) -> Reads:
    node = part.node
    if constant_path(node) is not None:
        return Reads(values=_places(part, names))
    inner = _inner(part)
    if node["type"] == "function_expression" and node["value"] == "type":
        return all_reads(_kind(item, names) for item in inner)
    return all_reads(_value(item, names) for item in inner)


def _truth(part: Part, names: Collection[str]) -> Reads:
    if constant_path(part.node) is not None:
        return Reads(kinds=_places(part, names))
    if part.node["type"] in _LOGIC:
        return all_reads(_truth(item, names) for item in _inner(part))
    if _compares_with_nothing(part.node):
        return all_reads(_kind(item, names) for item in _inner(part))
    return _value(part, names)


def _kind(part: Part, names: Collection[str]) -> Reads:
    is_path = constant_path(part.node) is not None
    return Reads(kinds=_places(part, names)) if is_path else _value(part, names)


def _inner(part: Part) -> list[Part]:
    """Return the parts of a part; the parts inherit that they are relative to a value below the message."""
    found = parts(part.node, is_head=part.is_head)
    return [item._replace(is_relative=item.is_relative or part.is_relative) for item in found]


def _compares_with_nothing(node: Node) -> bool:
    """Return whether this compares with `''`, or gives another result only for the empty text."""
    if node["type"] != "comparator" or node["value"] not in ("eq", "ne"):
        return False
    return any(child["type"] == "literal" and child["value"] in ("", None) for child in node["children"])


def _places(part: Part, names: Collection[str]) -> frozenset[Path]:
    """Return the place of a path in the message; empty if it begins at a name or below another place."""
    path = constant_path(part.node) or ()
    if part.is_head and {*path[:1]} & heads(part.node) & {*names}:
        if path[0] == "_message":
            return frozenset({path[1:]})
        return frozenset({()}) if path[0] in _OF_THE_FRAME else frozenset()
    return frozenset() if part.is_relative else frozenset({path})


def all_reads(found: Iterable[Reads]) -> Reads:
    """Return the union of the places in `found`."""
    joined = Reads()
    for reads in found:
        joined |= reads
    return joined
