"""Reads the tools that Groq's compound systems run themselves: `executed_tools` of a delta or of a message.

A tool is sent once when it begins and again with its `output`. Source: Groq's API (compound systems).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, objects_in, text_of
from streamweir.codec.room import Room
from streamweir.events import Event, Meta, ToolCallEnd, ToolCallStart
from streamweir.ids import made_call_id, short_index

__all__ = ["ExecutedTools"]

_TOOL: Final = ("index", "type", "name", "arguments")
_KEPT: Final = 512
"""The bytes of a tool that has begun, roughly."""


class ExecutedTools:
    """The tools of one answer.

    Args:
        request_id: the request id of the stream.
        room: the number of bytes, roughly, that may be kept of them.
    """

    def __init__(self, request_id: str, room: int) -> None:
        self._request_id = request_id
        self._room = Room("the tools of an answer", room)
        self._ended: dict[Any, bool] = {}
        """By the index of each tool that has begun: whether its output has arrived."""

    def read(self, tools: Any, meta: Meta | None) -> Iterator[Event]:
        """Yield the starts of tools that are new, and the ends of those with an output."""
        for place, tool in enumerate(objects_in(tools)):
            index = short_index(tool.get("index", place))
            tool_id = made_call_id(self._request_id, f"executed {index}")
            has_output, rest = tool.get("output") is not None, leftover(tool, _TOOL)
            if index not in self._ended:
                self._room.take(_KEPT)
                self._ended[index] = False
                name = text_of(tool.get("name")) or text_of(tool.get("type")) or "unknown"
                beside = meta if has_output else and_extra(meta, rest)
                yield ToolCallStart(tool_id, name, arguments=arguments(tool.get("arguments")), meta=beside)
            if has_output and not self._ended[index]:
                self._ended[index] = True
                result = tool["output"] if rest == {"output": tool["output"]} else rest
                yield ToolCallEnd(tool_id, result=result, meta=meta)
