"""One call of a tool, folded from its events.

Source: the standard protocol 1.1, section 4 (the folded result); the library contract, section 5.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from streamweir.errors import TOOL_CODES
from streamweir.events import Opaque, ToolCallEnd, ToolCallProgress, ToolCallStart, ToolError
from streamweir.stages.tools import UNNAMED

__all__ = ["ToolCall"]


class ToolCall(msgspec.Struct, kw_only=True):
    """One call with its known fields; an absent field is `None`.

    Attributes:
        progress: 0..1.
        start_time: Unix milliseconds of its first event: the `upstream_time`, else the `timestamp`.
        end_time: the time of its end event, or of the end of the stream that closed the call, in Unix
            milliseconds.
        opaque: values that only the upstream of the call can read, by dialect.
    """

    tool_id: str
    tool_name: str
    description: str | None = None
    arguments: dict[str, Any] = {}
    status: Literal["running", "success", "failed"] = "running"
    progress: float | None = None
    progress_message: str | None = None
    result: Any = None
    error: ToolError | None = None
    duration_ms: int | None = None
    start_time: int | None = None
    end_time: int | None = None
    opaque: Opaque | None = None

    def folded(self) -> dict[str, Any]:
        """Return the call in the form of the folded result."""
        optional = {
            "result": self.result,
            "error": self.error,
            "duration_ms": self.duration_ms,
            "opaque": self.opaque,
        }
        return {
            "tool_id": self.tool_id,
            "tool_name": self.tool_name,
            "arguments": self.arguments,
            "status": self.status,
            **{name: value for name, value in optional.items() if value is not None},
        }

    def start(self, event: ToolCallStart) -> None:
        """Note a reported start. One made up for a resumed run has fewer facts, and overwrites none."""
        if event.tool_name != UNNAMED:
            self.tool_name = event.tool_name
        self.description = event.description or self.description
        self.arguments = event.arguments or self.arguments
        self.opaque = event.opaque or self.opaque

    def go_on(self, event: ToolCallProgress) -> None:
        """Note the progress of the call; None leaves the number unchanged."""
        self.progress = event.progress if event.progress is not None else self.progress
        self.progress_message = event.message or self.progress_message

    def end(self, event: ToolCallEnd, at: int | None) -> None:
        """Note the result and the time of the end."""
        self.status = event.status
        self.result = event.result
        self.error = event.error
        self.duration_ms = event.meta.get("duration_ms") if event.meta else None
        self.end_time = at

    def close(self, at: int | None) -> None:
        """Mark the call as failed, because the stream has ended before the call."""
        self.status = "failed"
        self.error = {"code": "TOOL_INCOMPLETE", "message": TOOL_CODES["TOOL_INCOMPLETE"]}
        self.end_time = at
