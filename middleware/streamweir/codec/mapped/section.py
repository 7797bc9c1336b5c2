"""A mapping in a dialect's file: its values by key, and the report of its problems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from streamweir.codec.mapped.problems import KeyPath, ProblemReport, quoted, suggestion
from streamweir.expressions import (
    Expression,
    InvalidExpression,
    Template,
    Vocabulary,
    bare_expression,
    compile_expression,
    compile_template,
)

__all__ = ["Section", "is_text_list"]


@dataclass(slots=True, eq=False)
class Section:
    """One mapping of a dialect's file.

    Attributes:
        values: the values by key.
        path: the keys and indices that lead to the mapping in the file.
        report: gets the problems that are found in the mapping.
    """

    values: Mapping[str, Any]
    path: KeyPath
    report: ProblemReport

    @classmethod
    def of(cls, value: Any, path: KeyPath, report: ProblemReport, what: str = "a mapping") -> Section | None:
        """Return the mapping `value`; None if it is no mapping, which is reported."""
        if isinstance(value, Mapping):
            return cls(value, path, report)
        report.at_value(path, f"must be {what}", quoted(value))
        return None

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def at(self, key: str | int) -> KeyPath:
        """Return the path of the value under `key`."""
        return (*self.path, key)

    def wrong(self, key: str, message: str, value: Any = None) -> None:
        """Note a problem with the value under `key`, which is quoted if given."""
        self.report.at_value(self.at(key), message, quoted(value))

    def misplaced(self, key: str, message: str) -> None:
        """Note a problem with a key."""
        self.report.at_key(self.at(key), message)

    def lacks(self, message: str) -> None:
        """Note that something is missing in the mapping."""
        self.report.at_value(self.path, message)

    def check_keys(self, known: Collection[str], what: str = "key") -> None:
        """Report each key that is not in `known`."""
        for key in self.values:
            if key not in known:
                self.misplaced(key, f"unknown {what}{suggestion(str(key), known)}")

    # Values of one kind

    def flag(self, key: str) -> bool | None:
        """Return true or false; None if the key is absent or its value is wrong."""
        value = self.values.get(key)
        if value is None or isinstance(value, bool):
            return value
        self.wrong(key, "must be true or false", value)
        return None

    def text(self, key: str) -> str | None:
        """Return the text; None if the key is absent or its value is wrong."""
        value = self.values.get(key)
        if value is None or isinstance(value, str):
            return value
        self.wrong(key, "must be text", value)
        return None

    def word(self, key: str, allowed: Collection[str]) -> str | None:
        """Return one of the `allowed` words; None if the key is absent or its value is wrong."""
        value = self.values.get(key)
        if value is None:
            return None
        if isinstance(value, str) and value in allowed:
            return value
        self.wrong(key, f"must be one of {', '.join(allowed)}", value)
        return None

    def texts(self, key: str) -> list[str]:
        """Return a text, or a list of texts, as a list; empty if the key is absent or its value is wrong."""
        value = self.values.get(key)
        if isinstance(value, str):
            return [value]
        if isinstance(value, list) and is_text_list(value):
            return [*value]
        if key in self.values:
            self.wrong(key, "must be text, or a list of texts", value)
        return []

    def items(self, key: str, what: str = "a list") -> Iterator[tuple[KeyPath, Any]]:
        """Yield a list's items, each with its path; nothing if the key is absent or the value is wrong."""
        value = self.values.get(key)
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield (*self.at(key), index), item
        elif key in self.values:
            self.wrong(key, f"must be {what}", value)

    # Expressions

    def expression(self, key: str, names: Vocabulary) -> Expression | None:
        """Return the expression under `key`, with or without `${{ }}`; None if it is not valid."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            self.wrong(key, "must be an expression", value)
            return None
        try:
            return compile_expression(bare_expression(value), names)
        except InvalidExpression as error:
            self.wrong(key, str(error))
            return None

    def template(self, key: str, names: Vocabulary) -> Template:
        """Return the tree under `key`; a leaf with a problem becomes null."""
        return compile_template(self.values[key], names, self.report.at_value, self.at(key))


def is_text_list(value: Any) -> bool:
    """Return whether a value is a list of texts with at least one text."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
