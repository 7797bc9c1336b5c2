"""Paths with names in them, such as `/agents/{id}/chat`, and what the names stand for in a request's path.

A name stands for one segment or a part of one, at least one character; a `*` at the end for any rest, empty
or of several segments. Of names that share a segment each takes as much as it can, the first one first.

Matching looks at each character a bounded number of times, whatever the path: a regular expression would try
all ways to share a segment between its names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["PathTemplate"]

REST: Final = "rest"
"""What the `*` at the end is called among the names."""

_NAME: Final = re.compile(r"\{([^{}]*)\}")


class PathTemplate:
    """A path with names in it.

    Args:
        template: its text; every brace belongs to a name, and only a `*` at the end is not literal.

    Attributes:
        names: what `match` finds, in order.
    """

    def __init__(self, template: str) -> None:
        self._is_open = template.endswith("*")
        stem = template[:-1] if self._is_open else template
        self.names: tuple[str, ...] = (*_NAME.findall(stem), *([REST] if self._is_open else []))
        self._segments = [_NAME.sub("{}", segment).split("{}") for segment in stem.split("/")]

    def match(self, path: str) -> dict[str, str] | None:
        """Return what each name stands for in a decoded path; None if the path is another one."""
        segments = path.split("/", len(self._segments) - 1 if self._is_open else len(self._segments))
        if len(segments) != len(self._segments):
            return None
        found: list[str] = []
        for literals, segment in zip(self._segments[:-1], segments, strict=False):
            values = _values(literals, segment)
            if values is None:
                return None
            found += values
        last = _values_and_rest if self._is_open else _values
        values = last(self._segments[-1], segments[-1])
        return None if values is None else dict(zip(self.names, [*found, *values], strict=True))


def _values(literals: Sequence[str], segment: str) -> list[str] | None:
    """Return what stands between `literals`, the first and last of which are the segment's ends."""
    first, last = literals[0], literals[-1]
    if len(literals) == 1:
        return [] if segment == first else None
    if not (segment.startswith(first) and segment.endswith(last)):
        return None
    return _between(literals, segment, len(segment) - len(last))


def _values_and_rest(literals: Sequence[str], segments: str) -> list[str] | None:
    """Return what stands between `literals`, which one segment begins with, and all that comes after them."""
    segment, slash, others = segments.partition("/")
    first, last = literals[0], literals[-1]
    end = segment.rfind(last, len(first)) if len(literals) > 1 else 0
    if end < 0 or not segment.startswith(first):
        return None
    values = _between(literals, segment, end)
    return None if values is None else [*values, segment[end + len(last) :] + slash + others]


def _between(literals: Sequence[str], segment: str, end: int) -> list[str] | None:
    """Return what stands between `literals` where the last of them begins at `end`.

    Each is sought from the right, so that what stands before it is as long as it can be.
    """
    values: list[str] = []
    for literal in literals[-2:0:-1]:
        at = segment.rfind(literal, len(literals[0]), end - 1)
        if at < 0:
            return None
        values.append(segment[at + len(literal) : end])
        end = at
    if len(literals) > 1:
        if end <= len(literals[0]):
            return None
        values.append(segment[len(literals[0]) : end])
    return values[::-1]
