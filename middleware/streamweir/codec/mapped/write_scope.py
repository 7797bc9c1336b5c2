"""The state of one stream that is written by rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.kept_calls import KeptCalls
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import (
    Content,
    Event,
    Stamp,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    wire_data,
    wire_metadata,
)

__all__ = ["WRITE_NAMES", "Answer", "OpenCalls", "flat_event"]

WRITE_NAMES: Final = frozenset({"_message", "_state", "_options", "_count", "_answer"})
"""The names that expressions of writing rules may use outside of `each`."""

MAX_ANSWER: Final = 1 << 20
"""The most bytes of an answer that is kept. A longer answer is null in expressions."""


class Answer:
    """Collects all text of the answer."""

    def __init__(self, room: int) -> None:
        self._most = min(MAX_ANSWER, room // 2)
        self._pieces = TextPieces()
        self._is_too_long = False

    def note(self, event: Event) -> None:
        """Note `event`, if it is text of the answer."""
        if isinstance(event, Content) and event.channel is None:
            if event.op == "replace":
                self._pieces = TextPieces()
                self._is_too_long = False
            self.add(event.content)

    def add(self, text: str) -> None:
        """Add `text` to the answer."""
        if not self._is_too_long:
            self._pieces.append(text)
            self._is_too_long = self._pieces.size > self._most
        if self._is_too_long:
            self._pieces = TextPieces()

    def text(self) -> str | None:
        """Return the text of the answer; None if it is too long to be kept."""
        return None if self._is_too_long else self._pieces.text


class OpenCalls:
    """The names and arguments of the open calls, because the later events of a call do not repeat them."""

    def __init__(self, room: int) -> None:
        self._starts = KeptCalls(room)

    def of(self, event: Event) -> Mapping[str, Any]:
        """Return the fields of the call's start that `event` itself does not have."""
        match event:
            case ToolCallStart():
                self._starts.add(event)
            case ToolCallProgress():
                return _named(self._starts.get(event.tool_id))
            case ToolCallEnd():
                return _named(self._starts.pop(event.tool_id))
        return {}


def _named(start: ToolCallStart | None) -> Mapping[str, Any]:
    return {} if start is None else {"tool_name": start.tool_name, "arguments": start.arguments}


def flat_event(event: Event, stamp: Stamp, beside: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event in the flat form that expressions of writing rules see as the message.

    Args:
        event: the event that is written.
        stamp: the place of the event in the stream.
        beside: fields that are added to the fields of the event.
    """
    message: dict[str, Any] = {"type": event.type, **wire_metadata(event), **beside}
    message |= wire_data(event)
    message["request_id"] = stamp.request_id
    message["sequence"] = stamp.sequence
    message["timestamp"] = stamp.timestamp
    return message
