"""The names of events, and which of them say nothing that others do not.

Source: the Responses API, streaming events.
"""

from __future__ import annotations

from typing import Final

__all__ = ["EVENTS", "REPETITIONS", "RESPONSE_ENDS", "TEXT_DELTAS", "THINKING_DELTAS"]

TEXT_DELTAS: Final = frozenset(
    {"response.output_text.delta", "response.refusal.delta", "response.audio.transcript.delta"}
)
THINKING_DELTAS: Final = frozenset(
    {
        *("response.reasoning_summary_text.delta", "response.reasoning_text.delta"),
        *("response.reasoning_summary.delta", "response.reasoning.delta"),
    }
)
"""Those of the API, and the names that older releases and some servers have for them."""

RESPONSE_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})

REPETITIONS: Final = frozenset(
    {
        *("response.in_progress", "response.queued", "keepalive"),
        *("response.content_part.added", "response.content_part.done"),
        *("response.output_text.done", "response.refusal.done"),
        *("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"),
        *("response.reasoning_summary_text.done", "response.reasoning_text.done"),
        *("response.reasoning_part.added", "response.reasoning_part.done"),
        *("response.reasoning_summary.done", "response.reasoning.done"),
        *("response.audio.done", "response.audio.transcript.done", "response.compaction.compacting"),
        *("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"),
        *("response.shell_call_command.added", "response.shell_call_command.delta"),
        *("response.shell_call_command.done", "response.shell_call_output_content.delta"),
        *("response.shell_call_output_content.done", "response.image_generation_call.partial_image"),
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
        *("response.mcp_list_tools.failed", "response.mcp_call_arguments.delta"),
    }
)
"""Events whose content the end of their item says again, and all of it."""

EVENTS: Final = frozenset(
    {
        *TEXT_DELTAS,
        *THINKING_DELTAS,
        *RESPONSE_ENDS,
        *REPETITIONS,
        *("response.created", "response.output_item.added", "response.output_item.done", "error"),
        *("response.output_text.annotation.added", "response.function_call_arguments.delta"),
        "response.audio.delta",
    }
)
