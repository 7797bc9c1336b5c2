"""Collects the problems of a dialect's file. Each problem has a path, and is about the key or the value.

The reader of the file knows lines and columns; this module knows only paths.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, Protocol

from streamweir.errors import did_you_mean

__all__ = [
    "CountingReport",
    "KeyPath",
    "Problem",
    "ProblemList",
    "ProblemReport",
    "path_text",
    "quoted",
    "suggestion",
]

MAX_QUOTED: Final = 60
"""The most characters of a quoted value in an error message, including the quotes."""

KeyPath = tuple[str | int, ...]
"""The keys and list indices that lead to a value."""


class ProblemReport(Protocol):
    """Collects problems. `detail` quotes the value; reports omit it if the value may be a secret."""

    def at_key(self, path: KeyPath, message: str) -> None:
        """Note a problem with the key at `path`, or with an item of a list."""

    def at_value(self, path: KeyPath, message: str, detail: str = "") -> None:
        """Note a problem with the value at `path`."""


class Problem(NamedTuple):
    """One problem; `str()` returns the form for output without line numbers."""

    path: KeyPath
    message: str
    is_at_key: bool

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.message}" if self.path else self.message


class ProblemList:
    """Collects problems in the order in which they are found."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def at_key(self, path: KeyPath, message: str) -> None:
        """Note a problem with a key."""
        self.problems.append(Problem(path, message, is_at_key=True))

    def at_value(self, path: KeyPath, message: str, detail: str = "") -> None:
        """Note a problem with a value."""
        self.problems.append(Problem(path, message + detail, is_at_key=False))


class CountingReport:
    """Passes problems on to another report, and counts them."""

    def __init__(self, report: ProblemReport) -> None:
        self._report = report
        self.count = 0

    def at_key(self, path: KeyPath, message: str) -> None:
        """Pass on a problem with a key."""
        self.count += 1
        self._report.at_key(path, message)

    def at_value(self, path: KeyPath, message: str, detail: str = "") -> None:
        """Pass on a problem with a value."""
        self.count += 1
        self._report.at_value(path, message, detail)


def path_text(path: KeyPath) -> str:
    """Return a path in the form for error messages: `rules[0].emit.type`."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def quoted(value: Any) -> str:
    """Return the words that quote a wrong value, `, not 'x'`; empty for mappings, lists and null."""
    if not isinstance(value, str | int | float):
        return ""
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return f", not {text if len(text) <= MAX_QUOTED else text[: MAX_QUOTED - 4] + '...' + text[-1]}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the words that follow an unknown name: the most similar known name, or else all known names."""
    names = [*known]
    return did_you_mean(name, names) or f" (known: {', '.join(names) or 'none'})"
