"""Writes text and reasoning as messages that are begun, continued and ended by their id."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from streamweir.dialects.ag_ui.shared_metadata import with_metadata
from streamweir.events import Content, Thinking

__all__ = ["OpenTexts", "Reasoning", "encrypted_value"]

Message = dict[str, Any]

MAX_OPEN: Final = 1000
_TEXT: Final = 6144
"""The most bytes that an open message takes, for its ids and its channel."""

_WORDS: Final = {
    "reasoning": (
        ("REASONING_START", "REASONING_MESSAGE_START"),
        "REASONING_MESSAGE_CONTENT",
        ("REASONING_MESSAGE_END", "REASONING_END"),
    ),
    "thinking": (
        ("THINKING_START", "THINKING_TEXT_MESSAGE_START"),
        "THINKING_TEXT_MESSAGE_CONTENT",
        ("THINKING_TEXT_MESSAGE_END", "THINKING_END"),
    ),
}
"""The types of the events that begin reasoning, add to it, and end it, by the option `reasoning`."""


class OpenTexts:
    """The open text messages, by message and channel: several agents may write at the same time.

    If there are too many, the oldest message is ended before another one begins.

    Args:
        room: the number of bytes, roughly, of open messages that may be kept.
    """

    def __init__(self, room: int) -> None:
        self._most = min(MAX_OPEN, max(1, room // _TEXT))
        self._open: dict[tuple[str | None, str | None], str] = {}

    def write(self, event: Content, new_id: Callable[[Content], str]) -> list[Message]:
        """Return the events that add the text of `event`; they include the start of its message if it is not
        open.

        `new_id` makes the id of a message that begins.
        """
        text_id = self._open.get(_key(event))
        if text_id is not None:
            return [_piece(text_id, event.content)]
        begin = self._begin(event, new_id(event))
        return [*begin, _piece(self._open[_key(event)], event.content)]

    def value(self, event: Content, value: str, new_id: Callable[[Content], str]) -> list[Message]:
        """Return the events that give the message of `event` an encrypted value; with a start if not open."""
        begin = [] if _key(event) in self._open else self._begin(event, new_id(event))
        return [*begin, encrypted_value("message", self._open[_key(event)], value)]

    def _begin(self, event: Content, text_id: str) -> list[Message]:
        begin = []
        if len(self._open) >= self._most:
            begin.append(_end(self._open.pop(next(iter(self._open)))))
        self._open[_key(event)] = text_id
        start = {"type": "TEXT_MESSAGE_START", "messageId": text_id, "role": "assistant"}
        begin.append(with_metadata(start, event, channel=event.channel, format=event.format))
        return begin

    def end(self, event: Content) -> list[Message]:
        """Return the end of the message of `event`, if it is open."""
        text_id = self._open.pop(_key(event), None)
        return [] if text_id is None else [_end(text_id)]

    def end_all(self) -> list[Message]:
        """Return the ends of all open messages."""
        ended = [_end(text_id) for text_id in self._open.values()]
        self._open.clear()
        return ended


class Reasoning:
    """The open reasoning.

    Args:
        form: `reasoning`, or `thinking` for older clients, whose reasoning has no ids.
        message_id: the id of the reasoning message.
        stage: the stage of the reasoning in the standard.
    """

    def __init__(self, form: str, message_id: str, stage: str | None) -> None:
        self._begin, self._piece, self._end = _WORDS[form]
        self._id = {"messageId": message_id} if form == "reasoning" else {}
        self._role = {"role": "reasoning"} if form == "reasoning" else {}
        self.stage = stage

    def begin(self, event: Thinking) -> list[Message]:
        """Return the events before the first piece."""
        span, message = self._begin
        first: Message = {"type": span, **self._id}
        return [
            with_metadata(first, event, stage=self.stage) if self._id else first,
            {"type": message, **self._id, **self._role},
        ]

    def piece(self, text: str) -> Message:
        """Return the event of one piece."""
        return {"type": self._piece, **self._id, "delta": text}

    def value(self, value: str) -> Message:
        """Return the event that gives the reasoning an encrypted value; only in the form `reasoning`."""
        return encrypted_value("message", self._id["messageId"], value)

    def end(self) -> list[Message]:
        """Return the events after the last piece."""
        return [{"type": kind, **self._id} for kind in self._end]


def encrypted_value(subtype: str, entity_id: str, value: str) -> Message:
    """Return the event that gives a message or a call an encrypted value."""
    return {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": subtype,
        "entityId": entity_id,
        "encryptedValue": value,
    }


def _key(event: Content) -> tuple[str | None, str | None]:
    return event.meta.get("message_id") if event.meta else None, event.channel


def _piece(text_id: str, text: str) -> Message:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": text_id, "delta": text}


def _end(text_id: str) -> Message:
    return {"type": "TEXT_MESSAGE_END", "messageId": text_id}
