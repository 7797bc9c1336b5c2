"""Writes tool calls: a page shows calls that ran on the server, and runs calls that are for the client.

A page shows `dynamic` calls without knowing their tool, and does not run `providerExecuted` calls. It knows
the tools that it runs: a call for the client is a part `tool-NAME`, if that is known when the call begins.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.kept_calls import KeptCalls
from streamweir.codec.opaque_values import sealed_holder
from streamweir.events import Interaction, ToolCallDelta, ToolCallEnd, ToolCallStart
from streamweir.ids import RecentIds

__all__ = ["Calls"]

Chunk = dict[str, Any]

_OURS: Final = {"dynamic": True, "providerExecuted": True}
_RAN: Final = {"providerExecuted": True}
"""The fields of a call that began as the page's own, and was run on the server after all."""


class Calls:
    """The calls of one stream. If there are too many, the oldest are ended and forgotten.

    Args:
        room: the number of bytes, roughly, of calls that may be kept.

    Attributes:
        have_ended: whether some call of the step has ended.
        upstream: the name or URL of the upstream, for the seals of opaque values.
    """

    def __init__(self, room: int) -> None:
        self.upstream = ""
        self._begun: RecentIds[bool] = RecentIds(room // 4)
        """For each call by its id: whether it began as a call that the client is to run."""
        self._started = KeptCalls(room // 2)
        """The calls that have not ended, with their starts."""
        self._open = 0
        self.have_ended = False

    def has_begun(self, tool_id: str) -> bool:
        """Return whether a chunk of the call has been written."""
        return tool_id in self._begun

    def close_step(self) -> bool:
        """Return whether all calls of the step have ended; later calls then belong to the next step."""
        is_over = self.have_ended and not self._open
        if is_over:
            self.have_ended = False
        return is_over

    def piece(self, event: ToolCallDelta) -> list[Chunk]:
        """Return the chunks of a piece of arguments; those before the tool's name wait for the whole call."""
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
        """Return the chunks of a call; a page would run its own tool at once, so it gets no arguments yet."""
        begin = [] if event.tool_id in self._begun else [self._begin(event)]
        self._started.add(event)
        return begin if self._is_pages(event.tool_id) else [*begin, self._available(event, **_OURS)]

    def end(self, event: ToolCallEnd) -> list[Chunk]:
        """Return the chunks of the result of a call, or of the reason why there is no result."""
        self._open, self.have_ended = max(0, self._open - 1), True
        start = self._started.pop(event.tool_id)
        flags = _RAN if self._is_pages(event.tool_id) else _OURS
        whole = [self._available(start, **_RAN)] if start and flags is _RAN else []
        ended = {"toolCallId": event.tool_id, **flags}
        if event.error:
            return [*whole, {"type": "tool-output-error", "errorText": event.error["message"], **ended}]
        return [*whole, {"type": "tool-output-available", "output": event.result, **ended}]

    def hand_over(self, event: Interaction) -> list[Chunk]:
        """Return the chunks of a call that the client is to run."""
        start = self._started.get(event.interaction_id)
        if start is None:
            return []
        flags = {} if self._is_pages(event.interaction_id) else {"dynamic": True, "providerExecuted": False}
        return [self._available(start, **flags)]

    def _is_pages(self, tool_id: str) -> bool:
        """Return whether the call has begun as a call of the page's own tools."""
        return self._begun.get(tool_id) is True

    def _begin(self, event: ToolCallStart | ToolCallDelta) -> Chunk:
        is_pages = bool(event.for_client or (isinstance(event, ToolCallDelta) and event.may_run))
        self._begun.add(event.tool_id, is_pages)
        self._open += 1
        return {
            "type": "tool-input-start",
            "toolCallId": event.tool_id,
            "toolName": event.tool_name,
            **({} if is_pages else _OURS),
        }

    def _available(self, start: ToolCallStart, **flags: bool) -> Chunk:
        opaque = start.opaque
        metadata = {"providerMetadata": sealed_holder(opaque, "call", self.upstream)} if opaque else {}
        return {
            "type": "tool-input-available",
            "toolCallId": start.tool_id,
            "toolName": start.tool_name,
            "input": start.arguments,
            **flags,
            **metadata,
        }
