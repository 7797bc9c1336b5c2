"""The tree of an expression as the package `jmespath` parses it: the parts of each kind of node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

__all__ = ["Node", "Part", "all_nodes", "constant_path", "heads", "parts"]

Node = Mapping[str, Any]

_DOTTED: Final = frozenset({"subexpression", "index_expression", "projection", "value_projection"})
"""Nodes whose parts after the first one are fields of that first part."""


class Part(NamedTuple):
    """A node below another node.

    Attributes:
        node: the part.
        is_head: the part is the first of its path, so that its name may be one of the scope.
        is_relative: its current value is a part of the value of another part, or made from it.
    """

    node: Node
    is_head: bool
    is_relative: bool


def parts(node: Node, *, is_head: bool) -> Iterator[Part]:
    """Yield the parts of `node`; `is_head`: it is the first of its path. A slice has numbers as parts."""
    kind = node["type"]
    for place, child in enumerate(node["children"]):
        if not isinstance(child, Mapping):
            continue
        if kind in ("multi_select_list", "multi_select_dict", "function_expression", "expref"):
            yield Part(child, True, kind == "expref")
        elif place == 0:
            yield Part(child, is_head, False)
        elif kind == "filter_projection":
            yield Part(child, place == 2, True)
        else:
            yield Part(child, kind not in _DOTTED, kind in _DOTTED or kind == "pipe")


def all_nodes(node: Node) -> Iterator[Node]:
    """Yield `node` and all nodes below it."""
    yield node
    for part in parts(node, is_head=True):
        yield from all_nodes(part.node)


def heads(node: Node, *, is_head: bool = True) -> set[str]:
    """Return the first name of each path: a field of the current value or a name of the scope."""
    if node["type"] == "field":
        return {node["value"]} if is_head else set()
    return {name for part in parts(node, is_head=is_head) for name in heads(part.node, is_head=part.is_head)}


def constant_path(node: Node) -> tuple[str | int, ...] | None:
    """Return the fields and indexes that `node` follows, if it only follows a path; `@` is no path."""
    match node["type"]:
        case "field":
            return (node["value"],)
        case "index" if node["value"] >= 0:
            return (node["value"],)
        case "current" | "identity":
            return ()
        case "subexpression" | "index_expression":
            steps = [constant_path(child) for child in node["children"]]
            known = [step for step in steps if step is not None]
            return tuple(place for step in known for place in step) if len(known) == len(steps) else None
    return None
