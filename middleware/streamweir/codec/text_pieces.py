"""A text that arrives in pieces, held in about the bytes that it took to send."""

from __future__ import annotations

__all__ = ["TextPieces"]


class TextPieces:
    """The pieces of one text, as one piece of memory: a short piece alone takes as much as fifty letters."""

    __slots__ = ("_utf8",)

    def __init__(self) -> None:
        self._utf8 = bytearray()

    def append(self, piece: str) -> int:
        """Append `piece` to the text; return its number of bytes."""
        encoded = piece.encode("utf-8", "surrogatepass")
        self._utf8 += encoded
        return len(encoded)

    @property
    def size(self) -> int:
        """The number of bytes."""
        return len(self._utf8)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._utf8.decode("utf-8", "surrogatepass")
