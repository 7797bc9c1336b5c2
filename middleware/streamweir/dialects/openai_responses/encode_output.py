"""Keeps the output of a response: all items, which the end of the response repeats."""

from __future__ import annotations

from typing import Any

import orjson

from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.jsontext import json_to_keep

__all__ = ["Output"]


class Output:
    """The items of one response, held as JSON.

    Args:
        room: the most bytes that may be kept.
        must_be_whole: see the attribute.

    Attributes:
        must_be_whole: whether a larger output ends the stream. Its items are forgotten either way.
    """

    def __init__(self, room: int, *, must_be_whole: bool) -> None:
        self.must_be_whole = must_be_whole
        self._left = room
        self._items: list[bytes] = []
        self._is_forgotten = False

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: dict[str, Any]) -> int:
        """Append `item`; return its index."""
        self._items.append(b"")
        self.set(len(self._items) - 1, item)
        return len(self._items) - 1

    def set(self, place: int, item: dict[str, Any]) -> None:
        """Set the item at `place`."""
        kept = b"" if self._is_forgotten else json_to_keep(item)
        before, self._items[place] = self._items[place], kept
        self.count(len(kept) - len(before))

    def append(self, pieces: TextPieces, text: str) -> None:
        """Append `text` to an item that is not complete."""
        if not self._is_forgotten:
            self.count(pieces.append(text))

    def count(self, size: int) -> None:
        """Note that an incomplete item has grown by `size` bytes.

        Raises:
            LimitExceeded: the output has become larger than can be repeated, and must be whole.
        """
        self._left -= size
        if self._left >= 0 or self._is_forgotten:
            return
        self._is_forgotten = True
        self._items = [b""] * len(self._items)
        if self.must_be_whole:
            raise LimitExceeded("an answer is larger than can be said again at its end")

    @property
    def items(self) -> list[orjson.Fragment]:
        """The JSON of all items; an empty list if they were too large."""
        return [] if self._is_forgotten else [*map(orjson.Fragment, self._items)]
