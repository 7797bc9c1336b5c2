"""Splits a read at the bytes between two texts."""

from __future__ import annotations

from io import BytesIO
from operator import itemgetter
from typing import Final

__all__ = ["Separator", "searched_part"]

_LONG: Final = 100
"""A search for a separator of at least this many bytes takes longer than one for line ends."""

_PART: Final = 48
"""The most bytes of that part: a search for about 100 bytes or more takes twice as long."""


class Separator:
    """The constant bytes between two texts. They contain a line end, which texts do not.

    If the separator is long, only its line ends are searched for; the other bytes are compared.

    Args:
        whole: the separator.

    Attributes:
        part: bytes without this part contain no separator.
        is_cut: the part is not the whole separator.
    """

    __slots__ = ("_begin", "_end", "_lines", "_piece_of", "_whole", "is_cut", "part")

    def __init__(self, whole: bytes) -> None:
        begin, end = _place_of_part(whole)
        self._whole = whole
        self.part = whole[begin:end]
        self.is_cut = self.part != whole
        self._lines = whole.count(b"\n")
        self._begin, self._end = len(whole) - whole.rfind(b"\n") - 1, -1 - whole.find(b"\n")
        self._piece_of = itemgetter(slice(self._begin, self._end))

    def split(self, data: bytes) -> list[bytes] | None:
        """Return the pieces of `data` between separators; None if a line of `data` has a part of one only."""
        if not (self.is_cut and self._lines):
            return data.split(self._whole)
        lines = BytesIO(data).readlines()[:: self._lines]  # `split` takes longer
        if len(lines) < 2:
            return [data] if lines == [data] or not data else None
        pieces = [*map(self._piece_of, lines)]
        pieces[0], pieces[-1] = lines[0][: self._end], lines[-1][self._begin :]
        return pieces if self._whole.join(pieces) == data else None


def searched_part(whole: bytes) -> bytes:
    """Return the part of a separator that is searched for; see `Separator.part`."""
    if len(whole) < _LONG:
        return whole
    begin, end = _place_of_part(whole)
    return whole[begin:end]


def _place_of_part(whole: bytes) -> tuple[int, int]:
    if len(whole) < _LONG:
        return 0, len(whole)
    begin = max(0, whole.find(b"\n") - _PART // 2)
    return begin, begin + _PART
