"""Calls of tools: those that ran on the server are shown, those for the client are handed over.

A page shows what is `dynamic` without knowing the tool, and runs nothing that is `providerExecuted`.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.kept_calls import KeptCalls
from streamweir.events import Interaction, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamweir.ids import RecentIds

__all__ = ["Calls"]

Chunk = dict[str, Any]

_OURS: Final = {"dynamic": True, "providerExecuted": True}


class Calls:
    """The calls of one stream; of too many the oldest are forgotten, and ended as any other.

    Args:
        room: how many bytes may be kept of them, about.

    Attributes:
        have_ended: some call of the step is over.
    """

    def __init__(self, room: int) -> None:
        self._begun: RecentIds[None] = RecentIds(room // 4)
        self._started = KeptCalls(room // 2)
        """Calls that have not ended, as they started."""
        self._open = 0
        self.have_ended = False

    def has_begun(self, tool_id: str) -> bool:
        """Something of the call has been written."""
        return tool_id in self._begun

    def close_step(self) -> bool:
        """Are all calls of the step over? If there were any, the next calls belong to the next step."""
        is_over = self.have_ended and not self._open
        if is_over:
            self.have_ended = False
        return is_over

    def piece(self, event: ToolCallDelta) -> list[Chunk]:
        """Return a piece of arguments; what comes before the tool's name is written with the whole."""
        begun = event.tool_id in self._begun
        if not begun and not event.tool_name:
            return []
        written = [] if begun else [self._begin(event)]
        if event.arguments_delta:
            written.append(
                {
                    "type": "tool-input-delta",
                    "toolCallId": event.tool_id,
                    "inputTextDelta": event.arguments_delta,
                }
            )
        return written

    def start(self, event: ToolCallStart) -> list[Chunk]:
        """Return a call with its whole arguments."""
        begin = [] if event.tool_id in self._begun else [self._begin(event)]
        self._started.add(event)
        return [*begin, _available(event, **_OURS)]

    def end(self, event: ToolCallEnd) -> Chunk:
        """Return the result of a call, or why it has none."""
        self._open, self.have_ended = max(0, self._open - 1), True
        self._started.discard(event.tool_id)
        ended = {"toolCallId": event.tool_id, **_OURS}
        if event.error:
            return {"type": "tool-output-error", "errorText": event.error["message"], **ended}
        return {"type": "tool-output-available", "output": event.result, **ended}

    def hand_over(self, event: Interaction) -> list[Chunk]:
        """Return the call once more, as one that the client is to run."""
        start = self._started.get(event.interaction_id)
        return [] if start is None else [_available(start, dynamic=True, providerExecuted=False)]

    def _begin(self, event: ToolCallStart | ToolCallDelta) -> Chunk:
        self._begun.add(event.tool_id, None)
        self._open += 1
        return {
            "type": "tool-input-start",
            "toolCallId": event.tool_id,
            "toolName": event.tool_name,
            **_OURS,
        }


def _available(start: ToolCallStart, **flags: bool) -> Chunk:
    return {
        "type": "tool-input-available",
        "toolCallId": start.tool_id,
        "toolName": start.tool_name,
        "input": start.arguments,
        **flags,
    }
