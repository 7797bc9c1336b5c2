"""One expression: its function, and the places that it reads."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from streamweir.expressions.checking import InvalidExpression, parsed
from streamweir.expressions.compiler import FAILURES, Evaluate, compile_node
from streamweir.expressions.reads import Path, reads_of
from streamweir.expressions.scope import Scope, Vocabulary
from streamweir.expressions.syntax_tree import Node, all_nodes, constant_path, heads

__all__ = ["Expression", "InvalidExpression", "Path", "compile_expression"]

NO_NAMES: Final = Vocabulary()

_REPEATING: Final = frozenset({"multi_select_list", "multi_select_dict"})
_REPEATING_FUNCTIONS: Final = frozenset({"map", "merge", "to_array"})


class Expression:
    """A compiled expression.

    Attributes:
        evaluate: given the current value and the scope; null where it fails.
        path: the path in the current value to its value, if it only follows a path.
        names: the scope's names in it.
        name: the one that it is, if it is nothing else.
        reads: the places of the message that make a difference to its value.
        truth_reads: the places that make a difference to whether its value is true.
        repeats: its value may hold a part of its input many times.
    """

    __slots__ = ("evaluate", "name", "names", "path", "reads", "repeats", "truth_reads")

    def __init__(self, tree: Node, names: Collection[str]) -> None:
        path = constant_path(tree)
        self.names = frozenset(heads(tree) & {*names})
        self.path: Path | None = None if self.names else path
        self.name = str(path[0]) if path and len(path) == 1 and self.names else None
        self.reads = reads_of(tree, names)
        self.truth_reads = reads_of(tree, names, is_condition=True)
        self.repeats = any(map(_repeats, all_nodes(tree)))
        compiled = compile_node(tree, names)
        self.evaluate: Evaluate = compiled if path is not None else _null_on_failure(compiled)


def compile_expression(text: str, vocabulary: Vocabulary = NO_NAMES) -> Expression:
    """Return `text` compiled.

    Args:
        text: the expression.
        vocabulary: the names that exist at its place.

    Raises:
        InvalidExpression: it cannot be parsed or cannot be meant.
    """
    return Expression(parsed(text, vocabulary), vocabulary.names)


def _repeats(node: Node) -> bool:
    """Return whether the value of this node may hold a part of its input more than once."""
    is_call = node["type"] == "function_expression"
    return node["type"] in _REPEATING or (is_call and node["value"] in _REPEATING_FUNCTIONS)


def _null_on_failure(compiled: Evaluate) -> Evaluate:
    def evaluate(value: Any, scope: Scope) -> Any:
        try:
            return compiled(value, scope)
        except FAILURES:
            return None

    return evaluate
