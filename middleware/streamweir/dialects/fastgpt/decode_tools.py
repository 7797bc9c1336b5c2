"""Reads tool calls that the server runs: the start, the arguments in pieces, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import arguments, custom, leftover, meta_of, text_of
from streamweir.codec.room import Room
from streamweir.codec.text_pieces import TextPieces
from streamweir.events import Event, Meta, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id

__all__ = ["Tools"]

_TOOL: Final = ("id", "toolName", "toolAvatar", "functionName", "params", "response")
_CALL: Final = 2048
"""The bytes of a call in addition to its arguments."""


class _Call(msgspec.Struct):
    """A call whose arguments are arriving."""

    name: str
    meta: Meta | None
    pieces: TextPieces = msgspec.field(default_factory=TextPieces)


class Tools:
    """Reads the calls of one stream by their ids.

    Attributes:
        room: the room for incomplete calls.
    """

    def __init__(self) -> None:
        self.room = Room("the calls of an answer")
        self._open: dict[str, _Call] = {}

    def read(self, name: str, tool: Mapping[str, Any], beside: dict[str, Any] | None) -> Iterator[Event]:
        """Yield the events of a call: its pieces; at the result, its start with all arguments and its end."""
        tool_id = short_id(text_of(tool.get("id"))) or "call"
        rest = {**(leftover(tool, _TOOL) or {}), **(beside or {})}
        if name == "toolCall" and tool_id not in self._open:
            shown = short_id(text_of(tool.get("functionName") or tool.get("toolName"))) or "unknown"
            title = text_of(tool.get("toolName"))
            extra = {**rest, **({"title": title} if title not in ("", shown) else {})}
            self._open[tool_id] = _Call(shown, meta_of(extra=extra))
            self.room.take(_CALL)
            rest = {}
        if piece := text_of(tool.get("params")):
            yield from self._piece(tool_id, piece)
        if name == "toolResponse":
            yield from self._result(tool_id, tool, rest)
        elif rest:
            yield custom(name, rest)

    def _piece(self, tool_id: str, piece: str) -> Iterator[Event]:
        call = self._open.get(tool_id)
        if call is not None:
            self.room.take(call.pieces.append(piece))
            yield ToolCallDelta(tool_id, call.name, piece)

    def _result(self, tool_id: str, tool: Mapping[str, Any], rest: dict[str, Any]) -> Iterator[Event]:
        call = self._open.pop(tool_id, None)
        if call is not None:
            self.room.give_back(_CALL + call.pieces.size)
            yield ToolCallStart(tool_id, call.name, arguments=arguments(call.pieces.text), meta=call.meta)
        yield ToolCallEnd(tool_id, result=tool.get("response"), meta=meta_of(extra=rest))

    def close(self) -> Iterator[Event]:
        """Yield the calls whose results have not arrived."""
        for tool_id, call in self._open.items():
            yield ToolCallStart(tool_id, call.name, arguments=arguments(call.pieces.text), meta=call.meta)
        self._open.clear()
