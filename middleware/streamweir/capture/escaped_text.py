r"""Undoes the JSON escapes of ASCII characters in a text, to find secrets that a server has escaped.

Servers escape characters that need no escape: PHP writes `\/`, .NET `\u002B`, Go `\u003c`. Others may escape
every letter of a secret. Escapes of one JSON text within another (`\\u002B`) are undone too.

Source: RFC 8259, section 7.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

__all__ = ["EscapedText", "end_of_escape"]

_ESCAPE: Final = re.compile(r"\\{1,8}(?:u00([2-7][0-9A-Fa-f])|(/))")
_BEGUN: Final = re.compile(r"\\{1,8}(?:u[0-9A-Fa-f]{0,3})?\Z")
"""An escape that is incomplete at the end of the text."""

_WHOLE: Final = re.compile(r"\\{1,8}(?:u[0-9A-Fa-f]{4}|[^\\u])")
_LONGEST: Final = 13


def end_of_escape(text: str, place: int) -> int:
    """Return the end of the JSON escape that `place` is within; `place` itself if it is in none."""
    begin = max(0, place - _LONGEST + 1)
    for match in _WHOLE.finditer(text, begin, place + _LONGEST):
        if match.start() < place < match.end():
            return match.end()
    return place


class EscapedText:
    """A text without its escapes, which knows the place of each character in the original.

    Args:
        text: the original.

    Attributes:
        text: the original with every escape replaced by its character. An incomplete escape at the end is
            left out.
    """

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._places: list[int] = []
        """The places in `self.text` after each escape."""
        self._ends: list[int] = []
        """For each of these places, the place in the original."""
        done = length = 0
        for match in _ESCAPE.finditer(text):
            plain = text[done : match.start()]
            pieces += (plain, match[2] or chr(int(match[1], 16)))
            done = match.end()
            length += len(plain) + 1
            self._places.append(length)
            self._ends.append(done)
        self.text = _BEGUN.sub("", "".join((*pieces, text[done:])))

    @property
    def has_escapes(self) -> bool:
        """Whether `text` differs from the original by more than an incomplete escape."""
        return bool(self._places)

    def original(self, place: int) -> int:
        """Return the place in the original for a place in `text`."""
        before = bisect_right(self._places, place) - 1
        return place if before < 0 else self._ends[before] + place - self._places[before]

    def place_of(self, original: int) -> int:
        """Return the place in `text` for a place in the original that is within no escape."""
        before = bisect_right(self._ends, original) - 1
        return original if before < 0 else self._places[before] + original - self._ends[before]

    def original_spans(self, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the spans in the original for spans in `text`."""
        return [(self.original(start), self.original(end)) for start, end in spans]
