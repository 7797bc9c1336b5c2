"""The names that the fields of the old vocabulary may have."""

from __future__ import annotations

from typing import Final

__all__ = [
    "BOOKKEEPING",
    "ERROR_TEXT",
    "KNOWN",
    "META",
    "PLACES",
    "SUMMARY",
    "TABLE_NAME",
    "TABLE_ROWS",
    "TEXT",
    "TOOL_ARGUMENTS",
    "TOOL_ID",
    "TOOL_NAME",
    "TOOL_RESULT",
    "UNDER_WAY",
    "VERDICTS",
    "WARNING_CODE",
]

TEXT: Final = ("content", "token", "text", "delta")
TOOL_ID: Final = ("tool_id", "tool_call_id", "call_id", "id")
TOOL_NAME: Final = ("tool_name", "name", "tool")
TOOL_ARGUMENTS: Final = ("tool_args", "arguments", "args", "tool_input", "input")
TOOL_RESULT: Final = ("result", "tool_output", "output", "tool_result", "content")
UNDER_WAY: Final = frozenset({"calling", "running", "started", "pending"})
VERDICTS: Final = frozenset({"completed", "success", "succeeded", "done", "ok"})
ERROR_TEXT: Final = ("message", "error", "error_message")
WARNING_CODE: Final = ("message_code", "code")
TABLE_NAME: Final = ("dataframe_name", "name")
TABLE_ROWS: Final = ("rows", "data")
SUMMARY: Final = ("prompt_tokens", "completion_tokens", "total_tokens", "finish_reason")
META: Final = ("session_id", "thread_id", "message_id", "run_id", "parent_run_id", "node_id", "node_name")
PLACES: Final = ("data", "metadata")
"""The names of objects that hold further fields of a message."""
BOOKKEEPING: Final = (
    "type",
    "timestamp",
    "sequence",
    "request_id",
    "duration_ms",
    *META,
)

KNOWN: Final = frozenset(
    {
        *BOOKKEEPING,
        *PLACES,
        *(*TEXT, *TOOL_ID, *TOOL_NAME, *TOOL_ARGUMENTS, *TOOL_RESULT, *ERROR_TEXT),
        *("status", "success", "is_error"),
        *(*WARNING_CODE, *TABLE_NAME, *TABLE_ROWS, *SUMMARY, "columns", "description", "usage"),
    }
)
"""All names that rules read."""
