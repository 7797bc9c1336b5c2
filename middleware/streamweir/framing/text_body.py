"""Reads a body that is one text: one frame per read, cut between characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.framing.blank import BOM
from streamweir.framing.frame import Frame

__all__ = ["TextBodyParser"]

_LENGTHS: Final = ((0xF0, 4), (0xE0, 3), (0xC0, 2))
"""The lowest first byte of characters of each length, with the length."""


class TextBodyParser:
    """Returns each read of a text as a frame; the bytes of an incomplete character wait for the next read.

    Args:
        limit: the most bytes that one frame may have; a larger read becomes several frames.

    Attributes:
        cut_off: the body ended within a character.
    """

    def __init__(self, limit: int) -> None:
        self.recognised = False
        self.cut_off = False
        self._limit = max(limit, len(BOM) + 1)
        self._rest = b""

    @property
    def is_at_boundary(self) -> bool:
        """Always False: the text has no boundaries between frames."""
        return False

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the whole characters of `data`."""
        data = self._rest + data
        if not self.recognised:
            if len(data) < len(BOM) and BOM.startswith(data):
                self._rest = data
                return
            data = data.removeprefix(BOM)
        begin = 0
        while len(data) - begin > self._limit:
            end = begin + (_whole(data[begin : begin + self._limit]) or self._limit)
            yield self._piece(data[begin:end])
            begin = end
        end = begin + _whole(data[begin:])
        self._rest = data[end:]
        if end > begin:
            yield self._piece(data[begin:end])

    def finish(self) -> Iterator[Frame]:
        """Yield the bytes of an incomplete character at the end of the body."""
        rest, self._rest = self._rest, b""
        if rest and (self.recognised or not BOM.startswith(rest)):
            self.cut_off = True
            frame = self._piece(rest)
            frame.unterminated = True
            yield frame

    def _piece(self, data: bytes) -> Frame:
        self.recognised = True
        return Frame(data, bare=True)


def _whole(data: bytes) -> int:
    """Return the length of `data` without an incomplete character at its end."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:  # not the first byte of a character
            continue
        length = next((count for first, count in _LENGTHS if byte >= first), 1)
        return len(data) - back if length > back else len(data)
    return len(data)
