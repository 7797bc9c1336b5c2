"""Splits a read at the bytes between two texts."""

from __future__ import annotations

from typing import Final

__all__ = ["Separator", "searched_part"]

_LONG: Final = 192
"""If the separator has at least this many bytes, a part is searched for: long searches need preparation."""

_PART: Final = 48
"""The most bytes of that part: a search for about 100 bytes or more takes twice as long."""


class Separator:
    """The constant bytes between two texts. They contain a line end, which texts do not.

    Of a long separator, only a part with the line end is searched for; the other bytes are compared.

    Args:
        whole: the separator.

    Attributes:
        part: the part that is searched for. Bytes without this part contain no separator.
    """

    __slots__ = ("_head", "_tail", "_whole", "part")

    def __init__(self, whole: bytes) -> None:
        begin, end = _place_of_part(whole)
        self._whole = whole
        self.part = whole[begin:end]
        self._head, self._tail = whole[:begin], whole[end:]

    @property
    def is_cut(self) -> bool:
        """Whether the part is not the whole separator."""
        return bool(self._head or self._tail)

    def split(self, data: bytes) -> list[bytes] | None:
        """Return the pieces of `data` between separators; None if there is the searched part of one only."""
        head, tail = self._head, self._tail
        if not (head or tail):
            return data.split(self.part)
        begin, end = len(tail), -len(head) or None
        pieces = [piece[begin:end] for piece in b"".join((tail, data, head)).split(self.part)]
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
