"""The answer so far: the last event repeats it, and is the one place where text can be corrected."""

from __future__ import annotations

from typing import Final

from streamweir.events import Content

__all__ = ["Answer"]

MAX_SIZE: Final = 8 << 20
"""Characters of an answer that are kept; a longer one is not repeated."""

_PIECE_COST: Final = 64  # what a piece takes beside its characters


class Answer:
    """Collects the text of a stream by message, within bounds.

    Attributes:
        has_channels: text of another channel was sent, so that the answer is not all that was sent.
        replaced: what was sent is not the answer any more.
        too_long: it is not kept any more.
    """

    def __init__(self) -> None:
        self._messages: dict[str | int, list[str]] = {}
        self._unnamed = 0
        self._size = 0
        self.has_channels = False
        self.replaced = False
        self.too_long = False

    def add(self, event: Content) -> bool:
        """Take in a piece or a replacement; False for a replacement that cannot be said."""
        if event.channel is not None or self.too_long:
            self.has_channels = self.has_channels or event.channel is not None
            return event.op != "replace"
        key = (event.meta or {}).get("message_id") or self._unnamed
        if event.op == "replace":
            self.replaced = True
            self._messages[key] = []
        if event.content:
            self._messages.setdefault(key, []).append(event.content)
            self._size += len(event.content) + _PIECE_COST
        if event.is_complete and key == self._unnamed:
            self._unnamed += 1
        if self._size > MAX_SIZE:
            self.too_long = True
            self._messages.clear()
        return True

    @property
    def text(self) -> str:
        """All of it; nothing if it was too long."""
        return "".join(piece for pieces in self._messages.values() for piece in pieces)
