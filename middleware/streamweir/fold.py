"""The folded result: one JSON object in place of a stream.

Source: the standard protocol 1.1, section 4 (`Accept: application/json`).
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    Thinking,
    ToolCallEnd,
    ToolCallStart,
    Warning,
    wire_data,
)
from streamweir.jsontext import write_json

__all__ = ["Fold"]

MAX_EVENTS: Final = 1_000_000
"""A folded stream is held in memory: more events than this do not fit into one answer."""

_SPARE_EVENTS: Final = 100_000
"""What closes the stream still has room: the ends of open calls and the last warnings."""


class _Texts:
    """The pieces of one channel's messages, in order of appearance.

    Messages without an id follow one another: one ends with `is_complete`.
    """

    def __init__(self) -> None:
        self._pieces: dict[str | int, list[str]] = {}
        self._number = 0
        self._is_over = False

    def add(self, message_id: str | None, piece: str, *, replaces: bool = False, ends: bool = False) -> None:
        key: str | int = message_id or self._number
        if not message_id:
            if self._is_over and piece and not replaces:
                self._number += 1
                key = self._number
            self._is_over = ends or (self._is_over and not piece)
        if replaces:
            self._pieces[key] = []
        if piece:
            self._pieces.setdefault(key, []).append(piece)

    def __bool__(self) -> bool:
        return any(self._pieces.values())

    def joined(self) -> str:
        return "\n\n".join("".join(pieces) for pieces in self._pieces.values() if pieces)


class Fold:
    """Collects the events of one valid stream.

    Args:
        limit: the most characters of text, thinking, data and results together.
    """

    def __init__(self, request_id: str, *, limit: int = 64 << 20) -> None:
        self._request_id = request_id
        self._limit = limit
        self._size = 0
        self._events = 0
        self._texts: dict[str | None, _Texts] = {None: _Texts()}
        self._thinking = _Texts()
        self._calls: dict[str, dict[str, Any]] = {}
        self._lists: dict[str, list[Any]] = {"data": [], "references": [], "interactions": [], "warnings": []}
        self._error: dict[str, Any] | None = None
        self._end: SessionEnd | None = None

    def add(self, event: Event) -> None:
        """Take one event in.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        self._events += 1
        if self._is_full(event):
            raise LimitExceeded("the folded answer is larger than allowed")
        match event:
            case Content():
                self._size += len(event.content)
                self._texts.setdefault(event.channel, _Texts()).add(
                    _message_id(event.meta),
                    event.content,
                    replaces=event.op == "replace",
                    ends=bool(event.is_complete),
                )
            case Thinking():
                self._size += len(event.content)
                self._thinking.add(_message_id(event.meta), event.content)
            case ToolCallStart():
                self._start_call(event)
            case ToolCallEnd():
                self._end_call(event)
            case Data():
                self._list("data", event)
            case Reference():
                self._list("references", event)
            case Interaction():
                self._list("interactions", event)
            case Warning():
                self._list("warnings", event)
            case Error(terminal=True):
                self._error = wire_data(event)
            case SessionEnd():
                self._end = event

    def _is_full(self, event: Event) -> bool:
        """No room for `event`; what ends the stream has some to itself, or the end could not be told."""
        match event:
            case Error() | SessionEnd() | Content(content=""):
                return False
            case ToolCallEnd() | Warning():
                return self._events > MAX_EVENTS + _SPARE_EVENTS
        return self._events > MAX_EVENTS or self._size > self._limit

    @property
    def has_answer(self) -> bool:
        """Anything but a failure came: text, thinking, calls, data, references or interactions."""
        return bool(
            any(self._texts.values())
            or self._thinking
            or self._calls
            or self._lists["data"]
            or self._lists["references"]
            or self._lists["interactions"]
        )

    def result(self) -> dict[str, Any]:
        """Return the folded result of what has been added."""
        texts = {channel: texts.joined() for channel, texts in self._texts.items()}
        message: dict[str, Any] = {"content": texts.pop(None)}
        if texts:
            message["channels"] = texts
        message["thinking"] = self._thinking.joined()
        message["tool_calls"] = list(self._calls.values())
        for name in ("data", "references", "interactions"):
            message[name] = self._lists[name]
        return {
            "request_id": self._request_id,
            "status": self._end.status if self._end else None,
            "reason": self._end.reason if self._end else None,
            "message": message,
            "warnings": self._lists["warnings"],
            "error": self._error,
            "summary": self._end.summary if self._end else None,
        }

    def _list(self, name: str, event: Data | Reference | Interaction | Warning) -> None:
        data = wire_data(event)
        self._size += len(write_json(data))
        self._lists[name].append(data)

    def _start_call(self, event: ToolCallStart) -> None:
        self._size += len(write_json(event.arguments))
        self._calls[event.tool_id] = {
            "tool_id": event.tool_id,
            "tool_name": event.tool_name,
            "arguments": event.arguments,
            "status": "running",
        }

    def _end_call(self, event: ToolCallEnd) -> None:
        data = wire_data(event)
        self._size += len(write_json(event.result))
        call = self._calls[event.tool_id]
        call.update({name: data[name] for name in ("status", "result", "error") if name in data})
        if event.meta and "duration_ms" in event.meta:
            call["duration_ms"] = event.meta["duration_ms"]


def _message_id(meta: Meta | None) -> str | None:
    return meta.get("message_id") if meta else None
