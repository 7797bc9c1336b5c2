"""One expression: what evaluates it, and what it reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from streamweir.codec.expressions.checking import InvalidExpression, parsed
from streamweir.codec.expressions.compiler import FAILURES, Evaluate, compile_node
from streamweir.codec.expressions.scope import Scope
from streamweir.codec.expressions.syntax_tree import Node, constant_path, heads, parts

__all__ = ["Expression", "InvalidExpression", "Path", "compile_expression"]

Path = tuple[str | int, ...]
"""Where a value stands in a message: the keys of objects, the places in lists."""

_OF_THE_FRAME: Final = frozenset({"_text", "_answer"})
"""The names whose value changes with any part of the message."""


class Expression:
    """A compiled expression.

    Attributes:
        evaluate: given the current value and the scope; null where it fails.
        path: where in the current value its value stands, if it does nothing but go there.
        names: the scope's names in it.
        reads: the places of the message that it may look at, with all below them.
    """

    __slots__ = ("evaluate", "names", "path", "reads")

    def __init__(self, tree: Node, names: Collection[str]) -> None:
        path = constant_path(tree)
        self.names = frozenset(heads(tree) & {*names})
        self.path: Path | None = None if self.names else path
        self.reads: frozenset[Path] = frozenset(_reads(tree, names))
        compiled = compile_node(tree, names)
        self.evaluate: Evaluate = compiled if path is not None else _null_on_failure(compiled)


def compile_expression(text: str, names: Collection[str]) -> Expression:
    """Return `text` compiled.

    Args:
        text: the expression.
        names: those of the scope's names that there are where it stands.

    Raises:
        InvalidExpression: it cannot be parsed or cannot be meant.
    """
    return Expression(parsed(text, names), names)


def _null_on_failure(compiled: Evaluate) -> Evaluate:
    def evaluate(value: Any, scope: Scope) -> Any:
        try:
            return compiled(value, scope)
        except FAILURES:
            return None

    return evaluate


def _reads(node: Node, names: Collection[str], *, is_head: bool = True, at_message: bool = True) -> set[Path]:
    """The places of the message that `node` looks at.

    Args:
        node: what looks.
        names: the scope's names that there are.
        is_head: a name is a name.
        at_message: its current value is the message; else a part of one that is counted already.
    """
    path = constant_path(node)
    if path is not None:
        is_name = is_head and {*path[:1]} & heads(node) & {*names}
        return _named(path) if is_name else {path} if at_message else set()
    found: set[Path] = set()
    for part in parts(node, is_head=is_head):
        here = at_message and not part.is_relative
        found |= _reads(part.node, names, is_head=part.is_head, at_message=here)
    return found


def _named(path: Path) -> set[Path]:
    """The places of the message that a path from one of the scope's names looks at."""
    if path[0] == "_message":
        return {path[1:]}
    return {()} if path[0] in _OF_THE_FRAME else set()
