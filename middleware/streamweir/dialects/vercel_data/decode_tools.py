"""Reads tool calls, whole or in pieces, and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from streamweir.codec.argument_pieces import ArgumentPieces
from streamweir.codec.coerce import arguments, leftover, meta_of, text_of, tool_error
from streamweir.events import Event, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamweir.ids import short_id

__all__ = ["Calls"]

MAX_WAITING: Final = 1000
"""The most calls without a result that are remembered. The stages end all other calls."""

_KNOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "9": ("toolCallId", "toolName", "args"),
    "a": ("toolCallId", "result", "isError"),
    "b": ("toolCallId", "toolName"),
    "c": ("toolCallId", "argsTextDelta"),
}


class Calls:
    """The calls of one stream.

    Args:
        room: the number of bytes, roughly, of arguments that may wait.

    Attributes:
        waiting: the names of the calls without a result, by id.
    """

    def __init__(self, room: int) -> None:
        self.waiting: dict[str, str] = {}
        self._pieces = ArgumentPieces(room)

    def pass_on(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield `events`, each after the calls that have to start before it."""
        return self._pieces.pass_on(events)

    def start_all(self) -> Iterable[Event]:
        """Return the starts of the calls whose arguments arrived only in pieces."""
        return self._pieces.start_all()

    def read(self, code: str, call: Mapping[str, Any], message_id: str | None) -> Iterator[Event]:
        """Yield the events of a line about a call."""
        tool_id = short_id(text_of(call.get("toolCallId")))
        name = short_id(text_of(call.get("toolName")))
        meta = meta_of(message_id=message_id, extra=leftover(call, _KNOWN[code]))
        match code:
            case "9":
                self._note(tool_id, name)
                yield ToolCallStart(
                    tool_id, name or "unknown", arguments=arguments(call.get("args")), meta=meta
                )
            case "b":
                self._note(tool_id, name)
                yield ToolCallDelta(tool_id, name or None, "", meta=meta)
            case "c":
                yield ToolCallDelta(tool_id, None, text_of(call.get("argsTextDelta")), meta=meta)
            case _:
                self.waiting.pop(tool_id, None)
                result = call.get("result")
                if call.get("isError"):
                    yield ToolCallEnd(tool_id, "failed", error=tool_error(result), meta=meta)
                else:
                    yield ToolCallEnd(tool_id, result=result, meta=meta)

    def _note(self, tool_id: str, name: str) -> None:
        if len(self.waiting) < MAX_WAITING:
            self.waiting[tool_id] = name or self.waiting.get(tool_id, "unknown")
