"""Splits a read at the bytes between two texts."""

from __future__ import annotations

from io import BytesIO
from operator import itemgetter
from typing import Final

__all__ = ["Separator", "searched_part"]

_BY_LINES: Final = 115
"""A search for a separator of at least this many bytes takes longer than one for line ends."""

_LONG: Final = 192
"""If the separator has at least this many bytes, a part is searched for: long searches need preparation."""

_PART: Final = 48
"""The most bytes of that part: a search for about 100 bytes or more takes twice as long."""


class Separator:
    """The constant bytes between two texts. They contain a line end, which texts do not.

    If the separator is long, only its line ends are searched for; the other bytes are compared.

    Args:
        whole: the separator.

    Attributes:
        whole: the argument.
        is_long: whether only its line ends are searched for.
    """

    __slots__ = ("_begin", "_end", "_lines", "is_long", "whole")

    def __init__(self, whole: bytes) -> None:
        self.whole = whole
        self.is_long = len(whole) >= _BY_LINES and whole.find(b"\n") >= 0
        if self.is_long:
            self._lines = whole.count(b"\n")
            self._begin, self._end = len(whole) - whole.rfind(b"\n") - 1, -1 - whole.find(b"\n")

    def split(self, data: bytes) -> list[bytes] | None:
        """Return the pieces of `data` between separators; None if a line of `data` has a part of one only."""
        if not self.is_long:
            return data.split(self.whole)
        lines = BytesIO(data).readlines()[:: self._lines]  # `split` takes longer
        if len(lines) < 2:
            return [data] if lines == [data] or not data else None
        pieces = [*map(itemgetter(slice(self._begin, self._end)), lines)]
        pieces[0], pieces[-1] = lines[0][: self._end], lines[-1][self._begin :]
        return pieces if self.whole.join(pieces) == data else None


def searched_part(whole: bytes) -> bytes:
    """Return a part of a separator; bytes without it contain no separator."""
    if len(whole) < _LONG:
        return whole
    begin = max(0, whole.find(b"\n") - _PART // 2)
    return whole[begin : begin + _PART]
