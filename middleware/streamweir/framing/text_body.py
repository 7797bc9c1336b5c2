"""A body that is one text: a frame per piece, as it arrives, with whole characters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from streamweir.framing.blank import BOM
from streamweir.framing.frame import Frame

__all__ = ["TextBodyParser"]

_LENGTHS: Final = ((0xF0, 4), (0xE0, 3), (0xC0, 2))
"""The first byte of a character says how many there are."""


class TextBodyParser:
    """Passes text on in the pieces in which it arrives; a character cut in two waits for its rest.

    Args:
        limit: the most bytes that one frame may have; a larger piece becomes several.

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
        """Unknown: what is between two frames belongs to neither."""
        return False

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield what is whole of `data`."""
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
        """Yield the beginning of a character that the body ended in."""
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
    """How much of `data` ends with a whole character, or with something that is none."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:  # not the first of its character
            continue
        length = next((count for first, count in _LENGTHS if byte >= first), 1)
        return len(data) - back if length > back else len(data)
    return len(data)
