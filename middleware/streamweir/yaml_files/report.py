"""The problems of one YAML file: collected with their places, sorted, printed one per line.

A message has two parts. What is said of every value is `message`; what quotes the value itself is `detail`,
and is left out where the value was filled in from outside the file: it may be a secret.
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
    """One thing that is wrong; `str()` is the line to print."""

    file: str
    line: int | None
    """None if the file could not even be read."""
    column: int | None
    path: str
    """Such as `endpoints./chat.timeouts.idle`; empty for the file as a whole."""
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
    """Where each value of the merged tree was written."""
    filled: set[KeyPath] = field(default_factory=set)
    """Values that `${...}` filled in: they are never quoted."""
    problems: set[Problem] = field(default_factory=set)
    """A set: a problem in `defaults` is found at every endpoint and reported once."""
    remarks: set[Problem] = field(default_factory=set)
    """Values that were probably meant otherwise; the file is good all the same."""

    def at(self, position: Position | None, message: str, path: KeyPath = ()) -> None:
        """Add a problem at a place that is known already; None: the file as a whole."""
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
        """Whether the value, or one that it is part of, came from outside the file."""
        origin = self.origin_of(path)
        return any(origin[:length] in self.filled for length in range(1, len(origin) + 1))

    def origin_of(self, path: KeyPath) -> KeyPath:
        """Return where a value of the merged tree was written, or would have been."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.origins:
                return self.origins[path[:length]] + path[length:]
        return path

    def stop_if_any(self) -> None:
        """Raise `ConfigErrors` with the collected problems, in the file's order, if there are any."""
        if self.problems:
            raise ConfigErrors(sorted(self.problems, key=self._reading_order))

    def _reading_order(self, problem: Problem) -> tuple[bool, str, int, int, str, str]:
        """Sort problems: those of this file first, then those of the files that it names."""
        place = (problem.line or 0, problem.column or 0)
        return problem.file != self.file, problem.file, *place, problem.path, problem.message

    def _mark(self, path: KeyPath) -> Mark:
        """Return the position of `path`, or of the nearest value around it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, Mark(Position(1, 1), Position(1, 1)))

    def _marked(self, path: KeyPath) -> KeyPath:
        """Return `path` without the index of a list that is written as its one item."""
        while path and path not in self.marks and isinstance(path[-1], int):
            path = path[:-1]
        return path


def _one_line(text: str) -> str:
    """Escape characters that would break the line or hide part of it: a key may hold any character."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
