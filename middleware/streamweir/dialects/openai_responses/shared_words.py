"""The types of items and events, and the types of events that only repeat other events.

Source: the Responses API, streaming events (openai-python 3.57, `response_stream_event.py`,
`response_output_item.py`); Open Responses: types of one vendor are `vendor:type`.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any, Final

__all__ = [
    "CLIENT_CALLS",
    "EVENTS",
    "ITEMS",
    "NAME",
    "OUTPUTS",
    "REPETITIONS",
    "RESPONSE_ENDS",
    "TEXT_DELTAS",
    "THINKING_DELTAS",
    "with_plain_type",
]

NAME: Final = "openai-responses"
"""The key of the dialect's opaque values."""

CLIENT_CALLS: Final = frozenset(
    {
        *("function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call"),
        "apply_patch_call",
    }
)
"""The types of calls that the client runs, unless the response also has their output."""

OUTPUTS: Final = frozenset(
    {
        *("function_call_output", "custom_tool_call_output", "computer_call_output", "program_output"),
        *("local_shell_call_output", "shell_call_output", "apply_patch_call_output", "tool_search_output"),
    }
)
"""The types of items that hold the result of a call, which they name by `call_id`."""

ITEMS: Final = frozenset(
    {
        *CLIENT_CALLS,
        *OUTPUTS,
        *("message", "reasoning", "web_search_call", "file_search_call", "code_interpreter_call"),
        *("image_generation_call", "mcp_call", "program", "tool_search_call", "mcp_approval_request"),
        *("mcp_list_tools", "additional_tools", "compaction", "mcp_approval_response"),
    }
)

TEXT_DELTAS: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
THINKING_DELTAS: Final = frozenset(
    {
        *("response.reasoning_summary_text.delta", "response.reasoning_text.delta"),
        *("response.reasoning_summary.delta", "response.reasoning.delta"),
    }
)
"""The types of deltas of reasoning: the API's, and the names of older releases and some servers."""

RESPONSE_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})

REPETITIONS: Final = frozenset(
    {
        *("response.in_progress", "keepalive"),
        *("response.content_part.added", "response.content_part.done"),
        *("response.output_text.done", "response.refusal.done"),
        *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
        *("response.reasoning_summary_text.done", "response.reasoning_text.done"),
        *("response.reasoning_part.added", "response.reasoning_part.done"),
        *("response.reasoning_summary.done", "response.reasoning.done"),
        *("response.custom_tool_call_input.done", "response.shell_call_command.added"),
        *("response.shell_call_command.done", "response.shell_call_output_content.done"),
        *("response.function_call_arguments.done", "response.mcp_call_arguments.done"),
        *("response.mcp_call.in_progress", "response.mcp_call.completed", "response.mcp_call.failed"),
        *("response.web_search_call.in_progress", "response.web_search_call.searching"),
        *("response.web_search_call.completed", "response.file_search_call.in_progress"),
        *("response.file_search_call.searching", "response.file_search_call.completed"),
        *("response.code_interpreter_call.in_progress", "response.code_interpreter_call.interpreting"),
        *("response.code_interpreter_call.completed", "response.code_interpreter_call_code.delta"),
        *("response.code_interpreter_call_code.done", "response.image_generation_call.in_progress"),
        *("response.image_generation_call.generating", "response.image_generation_call.completed"),
        *("response.mcp_list_tools.in_progress", "response.mcp_list_tools.completed"),
        *("response.mcp_call_arguments.delta", "response.apply_patch_call_operation_diff.done"),
    }
)
"""The types of events whose content the end of their item repeats completely."""

EVENTS: Final = frozenset(
    {
        *TEXT_DELTAS,
        *THINKING_DELTAS,
        *RESPONSE_ENDS,
        *REPETITIONS,
        *("response.created", "response.queued", "response.output_item.added", "response.output_item.done"),
        *("response.output_text.annotation.added", "response.function_call_arguments.delta"),
        *("response.custom_tool_call_input.delta", "response.shell_call_command.delta"),
        "response.apply_patch_call_operation_diff.delta",
        *("response.audio.delta", "response.audio.done", "response.audio.transcript.delta"),
        *("response.audio.transcript.done", "response.image_generation_call.partial_image"),
        *("response.shell_call_output_content.delta", "response.compaction.compacting"),
        *("response.mcp_list_tools.failed", "error"),
    }
)


def with_plain_type(value: Mapping[str, Any], known: Set[str]) -> Mapping[str, Any]:
    """Return an item or an event without the vendor in its type (`vendor:type`); unchanged without a vendor.

    Args:
        value: the item or the event.
        known: `ITEMS` or `EVENTS`; an unknown type keeps its vendor.
    """
    kind = value.get("type")
    plain = kind.rpartition(":")[2] if isinstance(kind, str) else kind
    return {**value, "type": plain} if plain != kind and plain in known else value
