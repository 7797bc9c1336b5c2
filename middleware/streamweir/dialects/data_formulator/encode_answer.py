"""Keeps the answer: the last event repeats it, and is the only event that can correct text."""

from __future__ import annotations

from typing import Final

from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Content

__all__ = ["Answer"]

_MESSAGE: Final = 512
"""The bytes that a message counts in addition to its text."""


class Answer:
    """Collects the text of a stream by message; a text above the limit is not repeated at the end.

    Args:
        room: the most bytes that may be kept.

    Attributes:
        has_channels: whether text of another channel was sent, so the client has seen more than the answer.
        replaced: whether the answer has been replaced, so that it differs from the sent text.
        too_long: whether the text exceeds the limit and is no longer kept.
        begins_further_message: whether the last piece began a message other than the first message.
    """

    def __init__(self, room: int) -> None:
        self._messages: dict[str | int, TextPieces] = {}
        self._unnamed = 0
        self._last: str | int | None = None
        self.begins_further_message = False
        self._left = room
        self.has_channels = False
        self.replaced = False
        self.too_long = False

    def add(self, event: Content) -> bool:
        """Add a piece or a replacement; return False if the protocol cannot write the replacement."""
        if event.channel is not None or self.too_long:
            self.has_channels = self.has_channels or event.channel is not None
            return event.op != "replace"
        key = (event.meta or {}).get("message_id") or self._unnamed
        self.begins_further_message = bool(self._messages) and key != self._last and event.content != ""
        self._last = key if event.content else self._last
        if event.op == "replace":
            self.replaced = True
            self._left += self._messages.pop(key, TextPieces()).size
        if key not in self._messages:
            self._messages[key] = TextPieces()
            self._left -= _MESSAGE
        self._left -= self._messages[key].append(event.content)
        if event.is_complete and key == self._unnamed:
            self._unnamed += 1
        if self._left < 0:
            self.too_long = True
            self._messages.clear()
        return True

    @property
    def text(self) -> str:
        """The whole text; empty if it was too long."""
        return "\n\n".join([pieces.text for pieces in self._messages.values() if pieces.size])
