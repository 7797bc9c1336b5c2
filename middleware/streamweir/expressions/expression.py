"""One compiled expression, with the places of the message that it reads."""

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
        evaluate: returns the value, given the current value and the scope; null if the expression fails.
        path: the path in the current value, if the expression only follows a path.
        names: the names of the scope that the expression uses.
        name: the name of the scope, if the expression consists only of it.
        reads: the places of the message on which the value depends.
        truth_reads: the places on which it depends whether the value is true.
        repeats: the value may contain a part of the input many times.
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
    """Compile the expression in `text`.

    Args:
        text: the expression.
        vocabulary: the names that exist at the place of the expression.

    Raises:
        InvalidExpression: the expression cannot be parsed, or is obviously a mistake.
    """
    return Expression(parsed(text, vocabulary), vocabulary.names)


def _repeats(node: Node) -> bool:
    """Return whether the value of this node may contain a part of its input more than once."""
    is_call = node["type"] == "function_expression"
    return node["type"] in _REPEATING or (is_call and node["value"] in _REPEATING_FUNCTIONS)


def _null_on_failure(compiled: Evaluate) -> Evaluate:
    def evaluate(value: Any, scope: Scope) -> Any:
        try:
            return compiled(value, scope)
        except FAILURES:
            return None

    return evaluate
