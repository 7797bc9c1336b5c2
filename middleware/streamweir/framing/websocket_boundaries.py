"""Follows the frames of a WebSocket by their headers; payloads are skipped, so they may be compressed.

Source: RFC 6455, section 5.2.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FrameBoundaries"]

_CLOSE: Final = 8
_MASK: Final = 0x80
_LENGTHS: Final = {126: 2, 127: 8}
_CODE_BYTES: Final = 2


class FrameBoundaries:
    """Follows the frames of one direction.

    Attributes:
        close_code: the close code of the first Close frame; None: no Close frame has come, or it has no code.
        has_closed: a whole Close frame has arrived.
    """

    __slots__ = ("_code", "_header", "_is_close", "_mask", "_skip", "close_code", "has_closed")

    def __init__(self) -> None:
        self.close_code: int | None = None
        self.has_closed = False
        self._header = b""
        """The beginning of a header that is not complete."""
        self._skip = 0
        """The number of bytes of the payload that have not arrived."""
        self._is_close = False
        self._mask = b""
        self._code = b""
        """The first two bytes of a Close frame's payload, masked or not."""

    @property
    def is_at_boundary(self) -> bool:
        """Whether the last byte ended a frame, or no byte has arrived."""
        return not self._skip and not self._header

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        position, end = 0, len(data)
        while position < end:
            if self._skip:
                step = min(self._skip, end - position)
                if self._is_close and len(self._code) < _CODE_BYTES:
                    self._code += data[position : position + step][: _CODE_BYTES - len(self._code)]
                self._skip -= step
                position += step
                if not self._skip and self._is_close:
                    self._note_close()
                continue
            needed = self._header_bytes(self._header or data[position : position + 2]) - len(self._header)
            piece = data[position : position + needed]
            position += len(piece)
            self._header += piece
            if len(self._header) >= 2 and len(self._header) == self._header_bytes(self._header):
                self._begin(self._header)

    @staticmethod
    def _header_bytes(header: bytes) -> int:
        """Return the length of a header; 2 if fewer than two bytes of it have arrived."""
        if len(header) < 2:
            return 2
        return 2 + _LENGTHS.get(header[1] & 0x7F, 0) + (4 if header[1] & _MASK else 0)

    def _begin(self, header: bytes) -> None:
        """Begin the payload of a frame."""
        length = header[1] & 0x7F
        bytes_of_length = _LENGTHS.get(length, 0)
        if bytes_of_length:
            length = int.from_bytes(header[2 : 2 + bytes_of_length])
        self._mask = header[-4:] if header[1] & _MASK else b""
        self._is_close = header[0] & 0x0F == _CLOSE
        self._header = self._code = b""
        self._skip = length
        if self._is_close and not length:
            self._note_close()

    def _note_close(self) -> None:
        if not self.has_closed and len(self._code) == _CODE_BYTES:
            mask = self._mask or bytes(4)
            self.close_code = (self._code[0] ^ mask[0]) << 8 | (self._code[1] ^ mask[1])
        self.has_closed = True
