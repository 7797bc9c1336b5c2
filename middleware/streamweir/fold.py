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

__all__ = ["Fold"]

MAX_EVENTS: Final = 1_000_000
"""A folded stream is held in memory: more events than this do not fit into one answer."""

_Texts = dict[str | None, list[str]]
"""The pieces of a channel's messages by message id, in order of appearance."""


class Fold:
    """Collects the events of one valid stream.

    Args:
        limit: the most characters of text and thinking together.
    """

    def __init__(self, request_id: str, *, limit: int = 64 << 20) -> None:
        self._request_id = request_id
        self._limit = limit
        self._size = 0
        self._events = 0
        self._texts: dict[str | None, _Texts] = {None: {}}
        self._thinking: _Texts = {}
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
        if (self._events > MAX_EVENTS or self._size > self._limit) and not isinstance(
            event, Error | SessionEnd
        ):
            raise LimitExceeded("the folded answer is larger than allowed")
        match event:
            case Content():
                self._add_content(event)
            case Thinking():
                self._append(self._thinking, event.meta, event.content)
            case ToolCallStart():
                self._calls[event.tool_id] = {
                    "tool_id": event.tool_id,
                    "tool_name": event.tool_name,
                    "arguments": event.arguments,
                    "status": "running",
                }
            case ToolCallEnd():
                self._end_call(event)
            case Data():
                self._lists["data"].append(wire_data(event))
            case Reference():
                self._lists["references"].append(wire_data(event))
            case Interaction():
                self._lists["interactions"].append(wire_data(event))
            case Warning():
                self._lists["warnings"].append(wire_data(event))
            case Error(terminal=True):
                self._error = wire_data(event)
            case SessionEnd():
                self._end = event

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
        answer, *others = ((channel, _joined(texts)) for channel, texts in self._texts.items())
        message: dict[str, Any] = {"content": answer[1]}
        if others:
            message["channels"] = dict(others)
        message["thinking"] = _joined(self._thinking)
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

    def _add_content(self, event: Content) -> None:
        texts = self._texts.setdefault(event.channel, {})
        if event.op == "replace":
            texts.pop(_message_id(event.meta), None)
        self._append(texts, event.meta, event.content)

    def _append(self, texts: _Texts, meta: Meta | None, piece: str) -> None:
        if piece:
            self._size += len(piece)
            texts.setdefault(_message_id(meta), []).append(piece)

    def _end_call(self, event: ToolCallEnd) -> None:
        call = self._calls[event.tool_id]
        data = wire_data(event)
        call.update({name: data[name] for name in ("status", "result", "error") if name in data})
        if event.meta and "duration_ms" in event.meta:
            call["duration_ms"] = event.meta["duration_ms"]


def _message_id(meta: Meta | None) -> str | None:
    return meta.get("message_id") if meta else None


def _joined(texts: _Texts) -> str:
    return "\n\n".join("".join(pieces) for pieces in texts.values())
