"""Which places of the message an expression looks at, so that others may change without a difference.

Of some places only the kind of the value matters: `type(a)`, `a == ''`, and a place that is a condition
itself. A text that is not empty is the same to them as any other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from streamweir.expressions.syntax_tree import Node, Part, constant_path, heads, parts

__all__ = ["Path", "Reads", "all_reads", "reads_of"]

Path = tuple[str | int, ...]
"""The path of a value in a message: the keys of objects, the indexes of lists."""

_OF_THE_FRAME: Final = frozenset({"_text", "_answer"})
"""The names whose value changes with any part of the message."""

_LOGIC: Final = frozenset({"or_expression", "and_expression", "not_expression"})


class Reads(NamedTuple):
    """Places in the message.

    Attributes:
        values: places whose value, or a value below it, may make any difference.
        kinds: places where only the kind of the value makes a difference.
    """

    values: frozenset[Path] = frozenset()
    kinds: frozenset[Path] = frozenset()

    def __or__(self, other: Reads) -> Reads:
        return Reads(self.values | other.values, self.kinds | other.kinds)


def reads_of(tree: Node, names: Collection[str], *, is_condition: bool = False) -> Reads:
    """Return the places that an expression reads if its current value is the message.

    Args:
        tree: the tree of the expression.
        names: the scope's names that there are.
        is_condition: only the truth of its value matters.
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
    """Return the parts of a part; a part that is relative to a value below the message stays so."""
    found = parts(part.node, is_head=part.is_head)
    return [item._replace(is_relative=item.is_relative or part.is_relative) for item in found]


def _compares_with_nothing(node: Node) -> bool:
    """Return whether this compares with `''` or has another result for the empty text only."""
    if node["type"] != "comparator" or node["value"] not in ("eq", "ne"):
        return False
    return any(child["type"] == "literal" and child["value"] in ("", None) for child in node["children"])


def _places(part: Part, names: Collection[str]) -> frozenset[Path]:
    """Return the place of a path in the message; none if it begins at a name or below another place."""
    path = constant_path(part.node) or ()
    if part.is_head and {*path[:1]} & heads(part.node) & {*names}:
        if path[0] == "_message":
            return frozenset({path[1:]})
        return frozenset({()}) if path[0] in _OF_THE_FRAME else frozenset()
    return frozenset() if part.is_relative else frozenset({path})


def all_reads(found: Iterable[Reads]) -> Reads:
    """Return all that is looked at by several."""
    joined = Reads()
    for reads in found:
        joined |= reads
    return joined
