"""Finds the end of an object that arrives in pieces; each character is looked at once."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["ObjectExtent"]

_MARKS: Final = re.compile(r'\\.|["{}\[\]\\]', re.DOTALL)


class ObjectExtent:
    """Tracks the nesting of one JSON text that arrives in pieces.

    Attributes:
        is_whole: whether all opened brackets have been closed.
    """

    __slots__ = ("_depth", "_escaped", "_in_text", "is_whole")

    def __init__(self) -> None:
        self._depth = 0
        self._in_text = False
        self._escaped = False
        self.is_whole = False

    def add(self, piece: str) -> None:
        """Take the next piece of the text."""
        if self._escaped and piece:
            piece, self._escaped = piece[1:], False
        for mark in _MARKS.findall(piece):
            if mark == '"':
                self._in_text = not self._in_text
            elif mark == "\\":
                self._escaped = self._in_text
            elif len(mark) == 1 and not self._in_text:
                self._depth += 1 if mark in "{[" else -1
                self.is_whole = self._depth <= 0
