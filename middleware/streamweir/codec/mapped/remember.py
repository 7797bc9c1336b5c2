"""Compiles `remember`: one value per name, kept until the end of the stream.

Source: the dialect-file contract, section 3. Only short texts, numbers, true and false are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from streamweir.codec.mapped.section import Section
from streamweir.expressions import Scope, Template, Vocabulary
from streamweir.expressions.reads import all_reads

__all__ = ["Memory", "compile_memory"]

MAX_NAMES: Final = 16
MAX_TEXT: Final = 1000

_NAME: Final = re.compile(r"[a-z0-9_]+")


class Memory:
    """The values that one rule remembers.

    Attributes:
        names: the names of the values.
        keep: remembers the values, given the current value and the scope; returns whether any remembered
            value has changed.
        reads: the places of the message that the values come from.
        expression_names: the names of the scope that the values come from.
    """

    __slots__ = ("expression_names", "keep", "names", "reads")

    def __init__(self, values: dict[str, Template]) -> None:
        self.names = frozenset(values)
        expressions = [expression for value in values.values() for expression in value.expressions]
        self.reads = all_reads(found.reads for found in expressions)
        self.expression_names = frozenset(name for found in expressions for name in found.names)
        self.keep: Callable[[Any, Scope], bool] = _keeping(values)


def compile_memory(section: Section, names: Vocabulary) -> Memory | None:
    """Return the memory under `remember`; None if the key is absent."""
    if "remember" not in section:
        return None
    inner = Section.of(section.values["remember"], section.at("remember"), section.report)
    if inner is None:
        return None
    for name in inner.values:
        if not _NAME.fullmatch(name):
            inner.misplaced(name, "a name is small letters, digits and `_`")
    return Memory({name: inner.template(name, names) for name in inner.values})


def _keeping(values: dict[str, Template]) -> Callable[[Any, Scope], bool]:
    steps = [(name, value.evaluate) for name, value in values.items()]

    def keep(message: Any, scope: Scope) -> bool:
        before = scope.state.copy()
        found = [(name, evaluate(message, scope)) for name, evaluate in steps]
        for name, value in found:
            if value is None:
                scope.state.pop(name, None)
            elif _can_be_kept(value):
                scope.state[name] = value
        return scope.state != before

    return keep


def _can_be_kept(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    return isinstance(value, int | float) and abs(value) < 1 << 64
