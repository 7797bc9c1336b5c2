"""Keeps the answer: a `final_answer` repeats it, and is the only event that corrects text."""

from __future__ import annotations

from typing import Final, TypeAlias

from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Content

__all__ = ["WholeAnswer"]

_LONGEST: Final = 1 << 20
"""The longest answer that is repeated."""

_MESSAGE: Final = 512
"""The bytes that a message counts in addition to its text."""

_Key: TypeAlias = tuple[str | int, str | None]
"""A message id and a channel."""


class WholeAnswer:
    """Collects the text of a stream by message, in the order in which the messages began.

    Args:
        room: the number of bytes, roughly, that may be kept.
    """

    def __init__(self, room: int) -> None:
        self._messages: dict[_Key, TextPieces] = {}
        self._unnamed = 0
        self._left = min(room, _LONGEST)
        self._is_too_long = False

    def add(self, event: Content) -> bool:
        """Add a piece or a replacement; return False for a replacement in an answer that is not repeated."""
        if self._is_too_long:
            return event.op != "replace"
        key = (event.meta or {}).get("message_id") or self._unnamed, event.channel
        pieces = self._messages.get(key)
        if event.content and pieces is None:
            pieces = self._messages[key] = TextPieces()
            self._left -= _MESSAGE
        if event.op == "replace" and pieces is not None:
            self._left += pieces.size
            pieces = self._messages[key] = TextPieces()
        if pieces is not None:
            self._left -= pieces.append(event.content)
        if event.is_complete and key[0] == self._unnamed:
            self._unnamed += 1
        if self._left < 0:
            self._is_too_long, self._messages = True, {}
        return event.op != "replace" or any(pieces.size for pieces in self._messages.values())

    @property
    def text(self) -> str:
        """The whole text; empty if it is too long."""
        return "".join([pieces.text for pieces in self._messages.values()])
