"""Keeps a text that arrives in pieces, in about as many bytes as were received."""

from __future__ import annotations

__all__ = ["TextPieces"]


class TextPieces:
    """The pieces of a text, joined in one buffer: a short string takes as much memory as 50 letters."""

    __slots__ = ("_utf8",)

    def __init__(self) -> None:
        self._utf8 = bytearray()

    def append(self, piece: str) -> int:
        """Append `piece` to the text; return the number of bytes that were added."""
        encoded = piece.encode("utf-8", "surrogatepass")
        self._utf8 += encoded
        return len(encoded)

    @property
    def size(self) -> int:
        """The size of the text in bytes."""
        return len(self._utf8)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._utf8.decode("utf-8", "surrogatepass")
