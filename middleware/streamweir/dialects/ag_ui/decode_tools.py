"""Reads tool calls: begun, continued and ended by id, or in chunks, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from streamweir.codec.argument_pieces import ArgumentPieces
from streamweir.codec.coerce import custom, text_of, tool_error
from streamweir.dialects.ag_ui.shared_metadata import BASE, metadata_of, read_metadata
from streamweir.errors import LimitExceeded
from streamweir.events import Event, Meta, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id
from streamweir.jsontext import json_to_keep
from streamweir.options.limits import EVENT_BYTES

__all__ = ["Calls"]

MAX_WAITING: Final = 1000
"""The most calls without a result that are remembered. The stages end all other calls."""

_CALL: Final = BASE | {"toolCallId", "toolCallName", "parentMessageId", "delta"}
_RESULT: Final = BASE | {"toolCallId", "messageId", "content", "role"}


class Calls:
    """The calls of one stream.

    Attributes:
        waiting: the names of the calls without a result, by id.
        room: the number of bytes, roughly, of open calls that may be kept.
    """

    def __init__(self) -> None:
        self.waiting: dict[str, str] = {}
        self._begun: dict[str, bytes] = {}
        """The metadata of each open call's start, by id; held as JSON, which takes little memory."""
        self.room = self._left = EVENT_BYTES
        self._pieces = ArgumentPieces()
        self._chunk_id = ""
        self._unnamed = 0

    def set_room(self, room: int) -> None:
        """Set the limit of kept bytes, before anything has been read."""
        self.room, self._pieces, self._left = room, ArgumentPieces(room), room // 2

    def read(self, message: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the events for an event of a call."""
        kind = message["type"]
        tool_id = short_id(text_of(message.get("toolCallId")))
        if kind == "TOOL_CALL_CHUNK":
            yield from self._read_chunk(message, tool_id or self._id_of_chunk(message))
            return
        yield from self._end_chunks()
        match kind:
            case "TOOL_CALL_START":
                yield from self._begin(message, tool_id)
            case "TOOL_CALL_ARGS":
                yield from self._pieces.pass_on([_piece(message, tool_id, None)])
            case "TOOL_CALL_END":
                yield from self._end(message, tool_id)
            case "TOOL_CALL_RESULT":
                yield from self._result(message, tool_id)
            case _:
                yield custom(text_of(kind), dict(message))

    def _begin(self, message: Mapping[str, Any], tool_id: str) -> Iterator[Event]:
        name = short_id(text_of(message.get("toolCallName"))) or "unknown"
        if len(self.waiting) < MAX_WAITING:
            self.waiting[tool_id] = name
            self._taken_begin(tool_id)
            meta = self._begun[tool_id] = json_to_keep(_meta(message))
            self._left -= len(meta)
            if self._left < 0:
                raise LimitExceeded("what calls began with is more than allowed")
        yield from self._pieces.pass_on([_piece(message, tool_id, name)])

    def never_ended(self) -> Iterator[Event]:
        """Yield the metadata of calls that have started and not ended at the end of the run."""
        for tool_id in [*self._begun]:
            meta = self._taken_begin(tool_id) or {}
            if extra := meta.get("extra"):
                yield custom("TOOL_CALL_START", extra)

    def _taken_begin(self, tool_id: str) -> Meta | None:
        """Remove and return the metadata of a call's start."""
        kept = self._begun.pop(tool_id, None)
        if kept is None:
            return None
        self._left += len(kept)
        meta: Meta | None = orjson.loads(kept)
        return meta

    def _end(self, message: Mapping[str, Any], tool_id: str) -> Iterable[Event]:
        description = text_of(metadata_of(message).get("description")) or None
        begun = self._taken_begin(tool_id)
        meta: Meta | None = {**(begun or {}), **(_meta(message) or {})}
        start = ToolCallStart(tool_id, self.waiting.get(tool_id, "unknown"), description, meta=meta or None)
        return self._pieces.pass_on([start])

    def _result(self, message: Mapping[str, Any], tool_id: str) -> Iterable[Event]:
        self.waiting.pop(tool_id, None)
        metadata, content = metadata_of(message), message.get("content")
        meta = read_metadata(message, _RESULT, "status", "code", "result")
        if metadata.get("status") == "failed":
            error = tool_error(content, code=metadata.get("code"))
            end = ToolCallEnd(tool_id, "failed", metadata.get("result"), error, meta=meta)
        else:
            end = ToolCallEnd(tool_id, result=content, meta=meta)
        return self._pieces.pass_on([end])

    def _read_chunk(self, message: Mapping[str, Any], tool_id: str) -> Iterator[Event]:
        """Yield a piece of a call. A piece of another call ends the call before it."""
        if not tool_id:
            yield custom("TOOL_CALL_CHUNK", dict(message))
        elif tool_id != self._chunk_id:
            yield from self._end_chunks()
            self._chunk_id = tool_id
            yield from self._begin(message, tool_id)
        elif text_of(message.get("delta")):
            yield from self._pieces.pass_on([_piece(message, tool_id, None)])

    def _id_of_chunk(self, message: Mapping[str, Any]) -> str:
        """Return the id of the call for a chunk without one: the open call, unless its name differs."""
        name = short_id(text_of(message.get("toolCallName")))
        if not name or (self._chunk_id and self.waiting.get(self._chunk_id) == name):
            return self._chunk_id
        self._unnamed += 1
        return f"chunk_{self._unnamed}"

    def _end_chunks(self) -> Iterable[Event]:
        if not self._chunk_id:
            return ()
        ended, self._chunk_id = self._chunk_id, ""
        meta = self._taken_begin(ended)
        return self._pieces.pass_on([ToolCallStart(ended, self.waiting.get(ended, "unknown"), meta=meta)])


def _piece(message: Mapping[str, Any], tool_id: str, name: str | None) -> ToolCallDelta:
    return ToolCallDelta(tool_id, name, text_of(message.get("delta")), meta=_meta(message))


def _meta(message: Mapping[str, Any]) -> Meta | None:
    return read_metadata(message, _CALL, "description", message_id=message.get("parentMessageId"))
