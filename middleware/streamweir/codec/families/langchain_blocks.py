"""Reads version 3 of LangChain's events, in which a message arrives as events of its blocks.

    message-start, content-block-start, content-block-delta ..., content-block-finish, message-finish

Source: langchain-protocol 0.0.20 (`protocol.py`, `MessagesData`), langgraph 1.2 (`stream/`). The blocks of a
message follow the start of the message. The end of a block repeats the pieces of the block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, leftover, object_in, text_of, upstream_error
from streamweir.codec.families.langchain_call_blocks import CallBlocks
from streamweir.codec.families.langchain_messages import ChainMessages
from streamweir.events import Content, Event, Meta
from streamweir.ids import RecentIds, short_id

__all__ = ["MessageBlocks", "is_block_event"]

_EVENTS: Final = frozenset(
    {
        *("message-start", "content-block-start", "content-block-delta"),
        *("content-block-finish", "message-finish"),
    }
)
_KNOWN: Final = (
    *("event", "role", "id", "message_id", "index", "content", "delta", "usage", "metadata"),
    *("additional_kwargs", "message", "code"),
)
_BLOCK: Final = (
    *("type", "text", "reasoning", "id", "index", "name", "args", "fields"),
    *("tool_call_id", "status", "output", "url", "data", "encoding", "base64"),
    *("file_id", "mime_type", "value"),
)
"""The fields of a block; those that no text, thought or call has are read at the end of the block."""
_STARTS: Final = ("role", "content", "id", "message_id")


def is_block_event(value: Any) -> bool:
    """Return whether a message is one of the events that this module reads."""
    match value:
        case {"event": str(name)} if name in _EVENTS:
            is_start = name in ("message-start", "content-block-start")
            return not is_start or any(field in value for field in _STARTS)
        case {"event": "error", "message": str()}:
            return len(value) <= 3
    return False


class MessageBlocks:
    """Reads the events of messages, several of which may be open at a time.

    Args:
        messages: reads a piece of a message.
        room: the number of bytes of ids, roughly, that may be kept.
    """

    def __init__(self, messages: ChainMessages, room: int) -> None:
        self._messages = messages
        self._calls = CallBlocks(room)
        self._ids: RecentIds[str] = RecentIds(room // 8)
        """The ids of messages, by origin."""
        self._foreign: RecentIds[None] = RecentIds(room // 8)
        """The origins whose message the model did not write."""

    def read(self, event: Mapping[str, Any], origin: str, meta: Meta | None = None) -> Iterator[Event]:
        """Yield the standard events for an event of a message.

        Args:
            event: the event of a message or a block.
            origin: the step that the message comes from.
            meta: the metadata of that step.
        """
        origin, name = short_id(origin), event["event"]
        if name == "error":
            yield upstream_error(event["message"], code=event.get("code"), meta=meta)
            return
        if name == "message-start":
            self._start(origin, event)
        if origin not in self._foreign:
            message_id = self._ids.get(origin) or ""
            call = self._calls.read(name, event, message_id)
            added = _piece_of(name, event) if call is None else {"content": "", "tool_call_chunks": [call]}
            yield from self._messages.read({"type": "AIMessageChunk", "id": message_id, **added}, meta)
        if name != "content-block-finish" and (rest := _unread(event)):
            yield Content("", meta=and_extra(meta, rest))

    def _start(self, origin: str, event: Mapping[str, Any]) -> None:
        """Note the message that an origin begins; LangGraph.js names no role."""
        self._ids.add(origin, short_id(text_of(event.get("id") or event.get("message_id"))))
        if event.get("role", "ai") in ("ai", "assistant"):
            self._foreign.discard(origin)
        else:
            self._foreign.add(origin, None)


def _piece_of(name: str, event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the addition in an event, in the form in which older versions send a piece of a message."""
    if name == "message-finish":
        ended = {"usage_metadata": event.get("usage"), "response_metadata": object_in(event, "metadata")}
        return {"content": "", "chunk_position": "last", **ended}
    if name == "content-block-finish":
        return {"content": [_not_repeated(object_in(event, "content"))]}
    block = object_in(event, "content" if name == "content-block-start" else "delta")
    match block:
        case {"type": "text" | "text-delta", "text": str(text)} if text:
            return {"content": text}
        case {"type": "reasoning" | "reasoning-delta", "reasoning": str(text)} if text:
            return {"content": [{"type": "reasoning", "reasoning": text}]}
    return {"content": ""}


def _not_repeated(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a whole block that its pieces have not held: all but a text or a thought."""
    return {name: value for name, value in block.items() if name not in ("text", "reasoning")}


def _unread(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an event, and of the addition in it, that no rule reads."""
    delta = object_in(event, "delta")
    blocks = (object_in(event, "content"), delta, object_in(delta, "fields"))
    rest = (leftover(event, _KNOWN), *(leftover(block, _BLOCK) for block in blocks))
    return {name: value for found in rest if found for name, value in found.items()}
