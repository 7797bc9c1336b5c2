"""Remembers enough of a text to find the new part of a later copy, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from streamweir.digests import new_blake2b

if TYPE_CHECKING:
    import hashlib

__all__ = ["TextDigest"]

KEPT_CHARACTERS: Final = 1 << 15
"""The most characters of a text that are kept; of a longer text only the length and a hash are kept."""

_MAX_PIECES: Final = 256

_PART: Final = 64 << 10
"""Characters that are hashed at a time."""


class TextDigest:
    """The digest of one text that has been sent.

    Args:
        kept: roughly how many characters are kept unchanged; never fewer than 256.

    Attributes:
        length: the number of characters of the text.
    """

    _hash: hashlib.blake2b | None = None
    """Of the beginning of a text for all of which there is no room; `_hashed` is its length."""
    _hashed = 0

    def __init__(self, kept: int = KEPT_CHARACTERS) -> None:
        self.length = 0
        self._kept = kept
        self._pieces: list[str] = []
        self._checked_at = _MAX_PIECES
        """The length beyond which room and pieces are looked at."""

    def append(self, piece: str) -> None:
        """Append a piece of the text."""
        self._pieces.append(piece)
        self.length = length = self.length + len(piece)
        if length > self._checked_at:
            self._shorten()

    def _shorten(self) -> None:
        """Compact a text for which there is no room, and join many pieces."""
        if self.length - self._hashed > self._kept:
            self.compact()
        elif len(self._pieces) > _MAX_PIECES:
            self._pieces = ["".join(self._pieces)]  # a piece takes as much as fifty letters
        self._checked_at = self.length + min(self._kept - self.length + self._hashed, _MAX_PIECES)

    def compact(self) -> None:
        """Keep only the length and the hash of the text that has been appended."""
        if self._hash is None:
            self._hash = new_blake2b(digest_size=16)
        _hash(self._hash, "".join(self._pieces))
        self._pieces.clear()
        self._hashed = self.length

    def new_part(self, whole: str) -> str | None:
        """Return the part of `whole` that is new (`""` if there is none), or None if `whole` does not begin
        with the text.

        Differences in surrounding white space and in the Unicode normal form are ignored.
        """
        if self._hash is not None:
            return self._new_part_by_hash(whole, self._hash.copy())
        text = "".join(self._pieces)
        if len(self._pieces) > 1:
            self._pieces = [text]
        if whole[: len(text)] == text:
            return whole[len(text) :]
        bare, begun = text.strip(), whole.lstrip()
        if normalize("NFC", begun.rstrip()) == normalize("NFC", bare):
            return ""
        return begun[len(bare) :] if bare and begun[: len(bare)] == bare else None

    def is_exactly(self, whole: str) -> bool:
        """Return whether `whole` is the text, character by character."""
        if len(whole) != self.length:
            return False
        if self._hash is not None:
            return self._new_part_by_hash(whole, self._hash.copy()) is not None
        return "".join(self._pieces) == whole

    def shares_beginning(self, whole: str) -> bool:
        """Return whether more than half of `whole` equals the beginning of the text; False for long texts."""
        if self._hash is not None or not self.length:
            return False
        text = "".join(self._pieces)
        half = len(text) // 2 + 1
        return whole[:half] == text[:half]

    def _new_part_by_hash(self, whole: str, digest: hashlib.blake2b) -> str | None:
        if len(whole) < self.length:
            return None
        _hash(digest, "".join(self._pieces))
        same = new_blake2b(digest_size=16)
        _hash(same, whole[: self.length])
        return whole[self.length :] if same.digest() == digest.digest() else None


def _hash(digest: hashlib.blake2b, text: str) -> None:
    """Add a text to a hash piece by piece: the bytes of a large text at once would double its memory."""
    for at in range(0, len(text), _PART):
        digest.update(text[at : at + _PART].encode("utf-8", "surrogatepass"))
