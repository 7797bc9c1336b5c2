"""The problems of one YAML file: collected with their places, sorted, printed one per line.

A message has two parts. `message` holds for every value; `detail` quotes the value, and is left out if the
value was filled in from outside the file, because it may be a secret.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from streamweir.codec.mapped.problems import path_text
from streamweir.errors import ConfigurationError

__all__ = ["ConfigErrors", "KeyPath", "Mark", "Position", "Problem", "Report"]

KeyPath: TypeAlias = tuple[str | int, ...]
"""The keys and list indices that lead from the top of the file to a value."""


class Position(NamedTuple):
    """A place in the file, both numbers from 1."""

    line: int
    column: int


class Mark(NamedTuple):
    """The positions of a key and of its value; the key of a list item is the item."""

    key: Position
    value: Position


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem of a file; `str()` is the line to print."""

    file: str
    line: int | None
    """The line number; None if the file could not be read."""
    column: int | None
    path: str
    """The path of the value, such as `endpoints./chat.timeouts.idle`; empty for the file as a whole."""
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}:{self.column}"
        subject = f"{self.path}: " if self.path else ""
        separator = ": " if self.line is None else " "
        return _one_line(f"{place}{separator}{subject}{self.message}")


class ConfigErrors(ConfigurationError):
    """A configuration that cannot be used; `str()` lists every problem, one per line."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


@dataclass
class Report:
    """Collects the problems of one file, and has the positions of its keys and values."""

    file: str
    marks: Mapping[KeyPath, Mark] = field(default_factory=dict)
    origins: Mapping[KeyPath, KeyPath] = field(default_factory=dict)
    """For each value of the merged tree, the path at which it was written."""
    filled: set[KeyPath] = field(default_factory=set)
    """The values that `${...}` filled in, which are never quoted."""
    problems: set[Problem] = field(default_factory=set)
    """The problems, as a set: a problem in `defaults` is found at every endpoint but reported once."""
    remarks: set[Problem] = field(default_factory=set)
    """Notes on values that were probably meant differently; the file is valid nevertheless."""

    def at(self, position: Position | None, message: str, path: KeyPath = ()) -> None:
        """Add a problem at a known position; None: the file as a whole."""
        line, column = position or (None, None)
        self.problems.add(Problem(self.file, line, column, path_text(path), message))

    def at_key(self, path: KeyPath, message: str) -> None:
        """Add a problem with a key: an unknown, misplaced or missing one."""
        origin = self.origin_of(path)
        self.at(self._mark(origin).key, message, origin)

    def at_value(self, path: KeyPath, message: str, detail: str = "") -> None:
        """Add a problem with a value; `detail` may quote it."""
        known = self._marked(self.origin_of(path))
        shown = "" if self.is_filled(known) else detail
        self.at(self._mark(known).value, message + shown, known)

    def remark_at_key(self, path: KeyPath, message: str) -> None:
        """Add a remark on a key."""
        origin = self.origin_of(path)
        self.remarks.add(Problem(self.file, *self._mark(origin).key, path_text(origin), message))

    def remark_at_value(self, path: KeyPath, message: str) -> None:
        """Add a remark on a value of the file's own tree."""
        self.remarks.add(Problem(self.file, *self._mark(path).value, path_text(path), message))

    def sorted_remarks(self) -> tuple[str, ...]:
        """Return the remarks in the file's order, one line each."""
        return tuple(map(str, sorted(self.remarks, key=self._reading_order)))

    def is_filled(self, path: KeyPath) -> bool:
        """Return whether the value, or a value that contains it, came from outside the file."""
        origin = self.origin_of(path)
        return any(origin[:length] in self.filled for length in range(1, len(origin) + 1))

    def origin_of(self, path: KeyPath) -> KeyPath:
        """Return the path at which a value of the merged tree was written, or would have been."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]] + path[length:]
        return path

    def stop_if_any(self) -> None:
        """Raise `ConfigErrors` with the collected problems, in the file's order, if there are any."""
        if self.problems:
            raise ConfigErrors(sorted(self.problems, key=self._reading_order))

    def _reading_order(self, problem: Problem) -> tuple[bool, str, int, int, str, str]:
        """Return the sort key of a problem: those of this file first, then of the files that it names."""
        place = (problem.line or 0, problem.column or 0)
        return problem.file != self.file, problem.file, *place, problem.path, problem.message

    def _mark(self, path: KeyPath) -> Mark:
        """Return the position of `path`, or of the nearest value that contains it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(Position(1, 1), Position(1, 1)))

    def _marked(self, path: KeyPath) -> KeyPath:
        """Return `path` without the index of a list whose single item is written without the list."""
        while path and path not in self.marks and isinstance(path[-1], int):
            path = path[:-1]
        return path


def _one_line(text: str) -> str:
    """Return a text with escapes for characters that would break the line or hide a part of it."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
