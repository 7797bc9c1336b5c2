"""Calls of tools: those that ran on the server are shown, those for the client are handed over.

A page shows what is `dynamic` without knowing the tool, and runs nothing that is `providerExecuted`. A tool
that it is to run it knows: such a call is a part `tool-NAME`, if that is known when it begins.
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
"""A call that began as the page's own, and was run elsewhere after all."""


class Calls:
    """The calls of one stream. If there are too many, the oldest are ended and forgotten.

    Args:
        room: how many bytes may be kept of them, about.

    Attributes:
        have_ended: some call of the step is over.
        upstream: the name or URL of the upstream, for the seals of opaque values.
    """

    def __init__(self, room: int) -> None:
        self.upstream = ""
        self._begun: RecentIds[bool] = RecentIds(room // 4)
        """By the id of a call, whether it began as one that the client is to run."""
        self._started = KeptCalls(room // 2)
        """Calls that have not ended, as they started."""
        self._open = 0
        self.have_ended = False

    def has_begun(self, tool_id: str) -> bool:
        """Whether a chunk of the call has been written."""
        return tool_id in self._begun

    def close_step(self) -> bool:
        """Return whether all calls of the step have ended; later calls then belong to the next step."""
        is_over = self.have_ended and not self._open
        if is_over:
            self.have_ended = False
        return is_over

    def piece(self, event: ToolCallDelta) -> list[Chunk]:
        """Return a piece of arguments; pieces before the tool's name are written with the whole."""
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
        """Return a call with its whole arguments; a page would at once run one that it takes for its own."""
        begin = [] if event.tool_id in self._begun else [self._begin(event)]
        self._started.add(event)
        return begin if self._is_pages(event.tool_id) else [*begin, self._available(event, **_OURS)]

    def end(self, event: ToolCallEnd) -> list[Chunk]:
        """Return the result of a call, or why it has none."""
        self._open, self.have_ended = max(0, self._open - 1), True
        start = self._started.pop(event.tool_id)
        flags = _RAN if self._is_pages(event.tool_id) else _OURS
        whole = [self._available(start, **_RAN)] if start and flags is _RAN else []
        ended = {"toolCallId": event.tool_id, **flags}
        if event.error:
            return [*whole, {"type": "tool-output-error", "errorText": event.error["message"], **ended}]
        return [*whole, {"type": "tool-output-available", "output": event.result, **ended}]

    def hand_over(self, event: Interaction) -> list[Chunk]:
        """Return the call as one that the client is to run."""
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
