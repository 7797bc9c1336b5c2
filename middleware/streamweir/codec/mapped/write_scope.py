"""The state of one stream while it is written by rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

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
"""The names of expressions that write, outside of `each`."""

MAX_ANSWER: Final = 1 << 20
"""Bytes of the longest answer that is kept; a longer one is null."""


class Answer:
    """All text of the answer so far."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._bytes = 0

    def note(self, event: Event) -> None:
        """Take note of `event`, if it is text of the answer."""
        if isinstance(event, Content) and event.channel is None:
            if event.op == "replace":
                self._pieces.clear()
                self._bytes = 0
            self.add((event.content,))

    def add(self, texts: tuple[str, ...] | list[str]) -> None:
        """The answer goes on with `texts`."""
        if self._bytes <= MAX_ANSWER:
            self._bytes += sum(len(text.encode("utf-8", "replace")) for text in texts)
            self._pieces += texts
        if self._bytes > MAX_ANSWER:
            self._pieces.clear()

    def text(self) -> str | None:
        """Return it; None if it is too long to be kept."""
        if self._bytes > MAX_ANSWER:
            return None
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""


class OpenCalls:
    """Name and arguments of the calls that have no end yet: their later events do not say them."""

    def __init__(self) -> None:
        self._starts: dict[str, Mapping[str, Any]] = {}

    def of(self, event: Event) -> Mapping[str, Any]:
        """Return what the start of the call of `event` says that the event itself does not."""
        match event:
            case ToolCallStart():
                self._starts[event.tool_id] = {"tool_name": event.tool_name, "arguments": event.arguments}
            case ToolCallProgress():
                return self._starts.get(event.tool_id, {})
            case ToolCallEnd():
                return self._starts.pop(event.tool_id, {})
        return {}


def flat_event(event: Event, stamp: Stamp, beside: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of expressions that write: the event, flat.

    Args:
        event: what is written.
        stamp: its place.
        beside: what the event itself does not say.
    """
    message: dict[str, Any] = {"type": event.type, **wire_metadata(event), **beside}
    message |= wire_data(event)
    message["request_id"] = stamp.request_id
    message["sequence"] = stamp.sequence
    message["timestamp"] = stamp.timestamp
    return message
