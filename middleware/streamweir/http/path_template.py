"""Path templates such as `/agents/{id}/chat`, and the values of their names in the path of a request.

A name matches one segment or a part of one, at least one character. A `*` at the end matches the remaining
path, which may be empty or have several segments. If a segment has several names, the first one matches as
many characters as it can, then the next.

Matching looks at each character a bounded number of times, whatever the path: a regular expression would try
all ways to share a segment between its names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

__all__ = ["PathTemplate"]

REST: Final = "rest"
"""The name under which `match` returns the part that the `*` at the end matches."""

_NAME: Final = re.compile(r"\{([^{}]*)\}")


class PathTemplate:
    """A path template.

    Args:
        template: its text. Every brace belongs to a name; a `*` is a wildcard at the end only.

    Attributes:
        names: the keys of the result of `match`, in order.
    """

    def __init__(self, template: str) -> None:
        self._is_open = template.endswith("*")
        stem = template[:-1] if self._is_open else template
        self.names: tuple[str, ...] = (*_NAME.findall(stem), *([REST] if self._is_open else []))
        self._segments = [_NAME.sub("{}", segment).split("{}") for segment in stem.split("/")]

    def match(self, path: str) -> dict[str, str] | None:
        """Return the value of each name in a decoded path; None if the path does not match."""
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
    """Return the texts between `literals`; the segment must begin with the first and end with the last."""
    first, last = literals[0], literals[-1]
    if len(literals) == 1:
        return [] if segment == first else None
    if not (segment.startswith(first) and segment.endswith(last)):
        return None
    return _between(literals, segment, len(segment) - len(last))


def _values_and_rest(literals: Sequence[str], segments: str) -> list[str] | None:
    """Return the texts between `literals` in the first segment, and the path after the last literal."""
    segment, slash, others = segments.partition("/")
    first, last = literals[0], literals[-1]
    end = segment.rfind(last, len(first)) if len(literals) > 1 else 0
    if end < 0 or not segment.startswith(first):
        return None
    values = _between(literals, segment, end)
    return None if values is None else [*values, segment[end + len(last) :] + slash + others]


def _between(literals: Sequence[str], segment: str, end: int) -> list[str] | None:
    """Return the texts between `literals`, the last of which begins at `end`.

    Each literal is searched from the right, so that the text before it is as long as possible.
    """
    values: list[str] = []
    for literal in literals[-2:0:-1]:
        at = segment.rfind(literal, len(literals[0]), end - 1) if end > 0 else -1
        if at < 0:
            return None
        values.append(segment[at + len(literal) : end])
        end = at
    if len(literals) > 1:
        if end <= len(literals[0]):
            return None
        values.append(segment[len(literals[0]) : end])
    return values[::-1]
