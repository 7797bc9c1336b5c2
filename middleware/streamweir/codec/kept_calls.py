"""Keeps the starts of tool calls, for protocols that repeat the calls later."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

from streamweir.events import ToolCallStart
from streamweir.ids import room_for
from streamweir.jsontext import json_to_keep, parse_json

__all__ = ["KeptCalls"]

_LEAST: Final = 256
"""The least number of bytes that each call counts for."""


class KeptCalls:
    """The calls of one stream, held as JSON: Python objects would take up to thirty times as much memory.

    If the calls are too many, the oldest ones are forgotten. A large call is kept without its arguments.

    Args:
        room: the number of bytes, roughly, that all calls together may take.
    """

    def __init__(self, room: int) -> None:
        self._room = self._left = room
        self._calls: OrderedDict[str, bytes] = OrderedDict()

    def __contains__(self, tool_id: str) -> bool:
        return tool_id in self._calls

    def __bool__(self) -> bool:
        return bool(self._calls)

    def __iter__(self) -> Iterator[ToolCallStart]:
        return (_call_of(tool_id, kept) for tool_id, kept in self._calls.items())

    def add(self, call: ToolCallStart) -> None:
        """Keep `call`, without its metadata."""
        self.discard(call.tool_id)
        kept = json_to_keep([call.tool_name, call.description, call.arguments, call.opaque])
        if len(kept) > self._room // 2:
            kept = json_to_keep([call.tool_name, None, {}, None])
        self._calls[call.tool_id] = kept
        self._left -= _size_of(call.tool_id, kept)
        while self._left < 0 and len(self._calls) > 1:
            self.discard(next(iter(self._calls)))

    def get(self, tool_id: str) -> ToolCallStart | None:
        """Return the call; None if no such call is kept."""
        kept = self._calls.get(tool_id)
        return None if kept is None else _call_of(tool_id, kept)

    def pop(self, tool_id: str) -> ToolCallStart | None:
        """Forget the call and return it; None if no such call is kept."""
        kept = self._calls.pop(tool_id, None)
        if kept is None:
            return None
        self._left += _size_of(tool_id, kept)
        return _call_of(tool_id, kept)

    def discard(self, tool_id: str) -> None:
        """Forget the call if it is kept."""
        kept = self._calls.pop(tool_id, None)
        if kept is not None:
            self._left += _size_of(tool_id, kept)


def _size_of(tool_id: str, kept: bytes) -> int:
    return len(kept) + room_for(tool_id) + _LEAST


def _call_of(tool_id: str, kept: bytes) -> ToolCallStart:
    name, description, arguments, opaque = parse_json(kept)[0]
    return ToolCallStart(tool_id, name, description, arguments, opaque=opaque)
