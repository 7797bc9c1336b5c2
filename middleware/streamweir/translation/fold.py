"""The folded result: one JSON object instead of a stream.

Source: the standard protocol 1.1, section 4 (`Accept: application/json`) and section 3 rule 5 (messages).
Both the server's answer and the client's `MessageState` are folded here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec
import orjson

from streamweir.codec.text_pieces import TextPieces
from streamweir.errors import LimitExceeded
from streamweir.events import (
    WIRE_FIELDS,
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Meta,
    Reference,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
    Warning,
    wire_data,
)
from streamweir.jsontext import json_to_keep, write_json
from streamweir.stages.tools import UNNAMED
from streamweir.translation.tool_call import ToolCall

__all__ = ["Fold", "KeptJson", "MessageTexts", "closes", "plain"]

LIMIT: Final = 64 << 20
"""The most bytes of JSON of a folded answer, by default."""

_CHARACTER_BYTES: Final = 6
"""The most bytes of a character in JSON, as an escape."""

_RESERVE: Final = 1 << 20
"""Bytes that the end of an answer over its limit may still take: open calls, warnings, the error."""

_QUOTES: Final = 2
_MESSAGE_BYTES: Final = 256
_CHANNEL_BYTES: Final = 512
"""Bytes that each message and each channel counts in addition to its text."""
_NEW_MESSAGE_BYTES: Final = 4 << 10
"""An upper bound of the bytes that a new message in a new channel counts beside its text, with names."""


class KeptJson(msgspec.Struct, frozen=True, gc=False):
    """An object or a list as JSON text, which takes a tenth of the memory of the Python object."""

    json: bytes


class _Message:
    """The text of one message, with its size in JSON."""

    __slots__ = ("json_bytes", "pieces")

    def __init__(self) -> None:
        self.pieces = TextPieces()
        self.json_bytes = 0

    def append(self, piece: str) -> int:
        """Append `piece`; return by how many bytes the JSON has grown."""
        self.pieces.append(piece)
        grown = len(write_json(piece)) - _QUOTES
        self.json_bytes += grown
        return grown

    def clear(self) -> int:
        """Drop the text; return by how many bytes the JSON has shrunk."""
        shrunk, self.json_bytes = self.json_bytes, 0
        self.pieces = TextPieces()
        return shrunk


class MessageTexts:
    """The text of one channel, message by message in order of appearance.

    Pieces are kept in a list and joined by `text`, so that appending does not copy a long text.
    """

    __slots__ = ("_by_id", "_messages", "_unnamed_is_over")

    def __init__(self) -> None:
        self._messages: list[_Message] = []
        self._by_id: dict[str | None, _Message] = {}
        self._unnamed_is_over = False

    def append(self, message_id: str | None, piece: str) -> int:
        """Append `piece` to a message; without an id, to the last message that is not complete.

        Returns:
            By how many bytes the kept text has grown.
        """
        if not piece:
            return 0
        if message_id is None and self._unnamed_is_over:
            self._unnamed_is_over = False
            self._by_id.pop(None, None)
        before = len(self._messages)
        grown = self._message(message_id).append(piece)
        return grown + _MESSAGE_BYTES * (len(self._messages) - before)

    def replace(self, message_id: str | None, text: str) -> int:
        """Replace the whole text of a message; without an id, of the last message.

        Returns:
            By how many bytes the kept text has grown.
        """
        message = self._message(message_id)
        shrunk = message.clear()
        return message.append(text) - shrunk

    def complete(self, message_id: str | None) -> None:
        """Note that a message is complete. A message with an id can still be appended to."""
        if message_id is None:
            self._unnamed_is_over = True

    @property
    def text(self) -> str:
        """The texts of all messages, separated by empty lines."""
        return "\n\n".join(message.pieces.text for message in self._messages if message.pieces.size)

    def __bool__(self) -> bool:
        return any(message.pieces.size for message in self._messages)

    def _message(self, message_id: str | None) -> _Message:
        message = self._by_id.get(message_id)
        if message is None:
            message = self._by_id[message_id] = _Message()
            self._messages.append(message)
        return message


class Fold:
    """Collects the events of a valid stream, or of several one after another.

    Args:
        request_id: the id of the last stream; replaced by that of a `SessionStart`, if it has one.
        limit: the most bytes of JSON of the result. Objects are then kept as JSON, which takes a tenth of
            their memory. None: no limit, and objects are kept unchanged.
        keep: wraps that JSON for the result. `orjson.Fragment` can only be written; `KeptJson` can be read
            again by `plain`.

    Attributes:
        answer: the texts of the answer. Those of all other channels are in `channels`.
        thinking: the texts of the reasoning.
        calls: the tool calls in order of their start.
        error: the terminal error of the last stream; None without one.
        end: the end of the last stream; None before.
    """

    def __init__(
        self,
        request_id: str | None = None,
        *,
        limit: int | None = None,
        keep: Callable[[bytes], Any] = orjson.Fragment,
    ) -> None:
        self.request_id = request_id
        self.answer = MessageTexts()
        self.channels: dict[str, MessageTexts] = {}
        self.thinking = MessageTexts()
        self.calls: list[ToolCall] = []
        self.data: list[Data] = []
        self.references: list[Reference] = []
        self.interactions: list[Interaction] = []
        self.warnings: list[Warning] = []
        self.error: Error | None = None
        self.end: SessionEnd | None = None
        self._reported: Error | None = None
        self._calls_by_id: dict[str, ToolCall] = {}
        self._limit = limit
        self._keep = keep
        self._size = 0

    def add(self, event: Event, at: int | None = None) -> None:
        """Add one event; `at` is its time in Unix milliseconds.

        Raises:
            LimitExceeded: the stream is too large to be one answer.
        """
        if self._limit is not None:
            event = _compact(event, self._keep)
        grown = self._take(event, at)
        if self._limit is None:
            return
        self._size += grown
        room = self._limit + _RESERVE if closes(event) else self._limit
        if self._size > room and not isinstance(event, Error | SessionEnd):
            raise LimitExceeded("the folded answer is larger than allowed")

    def has_room(self, characters: int) -> bool:
        """Return whether a text of this many characters surely fits, even as the first of its message."""
        most = _NEW_MESSAGE_BYTES + _CHARACTER_BYTES * characters
        return self._limit is None or self._size + most <= self._limit

    def _take(self, event: Event, at: int | None) -> int:
        """Add one event; return by how many bytes the JSON of the result has grown."""
        match event:
            case Content():
                return self._add_content(event) + self._opaque_bytes(event)
            case Thinking():
                grown = self.thinking.append(_message_id(event.meta), event.content)
                return grown + self._opaque_bytes(event)
            case ToolCallStart() | ToolCallProgress() | ToolCallEnd():
                return self._add_call(event, at)
            case Data():
                self.data.append(event)
            case Reference():
                self.references.append(event)
            case Interaction():
                self.interactions.append(event)
            case Warning():
                self.warnings.append(event)
            case Error():
                self._reported = event
                self.error = event if event.terminal else self.error
                return 0
            case SessionStart():
                self._begin(event)
                return 0
            case SessionEnd():
                self._end(event, at)
                return 0
            case _:
                return 0
        return self._json_bytes(wire_data(event))

    def _json_bytes(self, value: Any) -> int:
        return 0 if self._limit is None else len(write_json(value)) + 1

    def _opaque_bytes(self, event: Content | Thinking) -> int:
        return 0 if event.opaque is None else self._json_bytes(event.opaque)

    @property
    def size(self) -> int:
        """The approximate size of the result's JSON in bytes; 0 without a limit."""
        return self._size

    @property
    def has_answer(self) -> bool:
        """Whether the stream held text, thinking, calls, data, references or interactions."""
        return bool(
            self.answer
            or any(self.channels.values())
            or self.thinking
            or self.calls
            or self.data
            or self.references
            or self.interactions
        )

    def result(self) -> dict[str, Any]:
        """Return the folded result of the events that were added."""
        message: dict[str, Any] = {"content": self.answer.text}
        if self.channels:
            message["channels"] = {channel: texts.text for channel, texts in self.channels.items()}
        message["thinking"] = self.thinking.text
        message["tool_calls"] = [call.folded() for call in self.calls]
        message["data"] = list(map(wire_data, self.data))
        message["references"] = list(map(wire_data, self.references))
        message["interactions"] = list(map(wire_data, self.interactions))
        return {
            "request_id": self.request_id,
            "status": self.end.status if self.end else None,
            "reason": self.end.reason if self.end else None,
            "message": message,
            "warnings": list(map(wire_data, self.warnings)),
            "error": wire_data(self.error) if self.error else None,
            "summary": self.end.summary if self.end else None,
        }

    def _begin(self, event: SessionStart) -> None:
        """Begin a stream: messages without an id that the previous stream left open become complete."""
        self.request_id = event.request_id or self.request_id
        self.error = self.end = self._reported = None
        for texts in (self.answer, *self.channels.values(), self.thinking):
            texts.complete(None)
        self._calls_by_id = {call.tool_id: call for call in self.calls if call.status == "running"}

    def _end(self, event: SessionEnd, at: int | None) -> None:
        """End a stream: calls without a result are marked as failed, unless the run is suspended."""
        self.end = event
        if event.status != "suspended":
            for call in self._calls_by_id.values():
                if call.status == "running":
                    call.close(at)
        if event.status == "error" and self.error is None:  # version 1.0 has no `terminal`
            self.error = self._reported

    def _add_content(self, event: Content) -> int:
        texts, grown = self.answer, 0
        if event.channel is not None:
            before = len(self.channels)
            texts = self.channels.setdefault(event.channel, MessageTexts())
            grown = _CHANNEL_BYTES * (len(self.channels) - before)
        message_id = _message_id(event.meta)
        if event.op == "replace":
            grown += texts.replace(message_id, event.content)
        else:
            grown += texts.append(message_id, event.content)
        if event.is_complete:
            texts.complete(message_id)
            if texts is self.answer:
                self.thinking.complete(message_id)
        return grown

    def _add_call(self, event: ToolCallStart | ToolCallProgress | ToolCallEnd, at: int | None) -> int:
        call, before = self._calls_by_id.get(event.tool_id), 0
        if isinstance(event, ToolCallProgress) and call is not None:  # the result does not show it
            call.go_on(event)
            return 0
        if call is None or (isinstance(event, ToolCallStart) and call.status != "running"):
            call = self._calls_by_id[event.tool_id] = ToolCall(
                tool_id=event.tool_id, tool_name=UNNAMED, start_time=at
            )
            self.calls.append(call)
        else:
            before = self._json_bytes(call.folded())
        match event:
            case ToolCallStart():
                call.start(event)
            case ToolCallProgress():
                call.go_on(event)
                return 0
            case ToolCallEnd():
                call.end(event, at)
        return self._json_bytes(call.folded()) - before


def plain(value: Any) -> Any:
    """Return a folded result with each `KeptJson` replaced by its object."""
    if type(value) is KeptJson:
        return orjson.loads(value.json)
    if type(value) is dict:
        return {key: plain(inner) for key, inner in value.items()}
    return [*map(plain, value)] if type(value) is list else value


def _compact(event: Event, keep: Callable[[bytes], Any]) -> Event:
    """Return `event` with its objects and lists as JSON, and without the ids and `extra` of its metadata."""
    match event:
        case Data() | Reference() | Interaction() | Warning() | ToolCallStart() | ToolCallEnd():
            fields = {name: _as_json(getattr(event, name), keep) for name in WIRE_FIELDS[type(event)]}
            return msgspec.structs.replace(event, **fields, meta=_needed(event.meta))
    return event


def _needed(meta: Meta | None) -> Meta | None:
    """Return the fields of the metadata that the answer shows; None if there are none."""
    return {"duration_ms": meta["duration_ms"]} if meta and "duration_ms" in meta else None


def _as_json(value: Any, keep: Callable[[bytes], Any]) -> Any:
    return keep(json_to_keep(value)) if value and isinstance(value, dict | list) else value


def closes(event: Event) -> bool:
    """Return whether `event` belongs to the end of a stream, for which memory is reserved."""
    return isinstance(event, Error | SessionEnd | ToolCallEnd | Warning) or (
        isinstance(event, Content) and not event.content
    )


def _message_id(meta: Meta | None) -> str | None:
    return meta.get("message_id") if meta else None
