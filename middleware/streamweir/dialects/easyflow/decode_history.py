"""Reads AIFlowy's `event:needSaveMessage`: the history that the client has to keep.

The texts in it were streamed, or are the user's own. Calls and results are not sent in other messages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamweir.codec.coerce import arguments, text_of
from streamweir.dialects.easyflow.decode_envelope import Envelope, Run, snake_keys
from streamweir.events import Event, ToolCallEnd, ToolCallStart
from streamweir.optional_json import json_or

__all__ = ["read_history"]


def read_history(envelope: Envelope, run: Run) -> Iterator[Event]:
    """Yield the calls and results in a message of the history."""
    message = _saved(envelope.payload.get("content"))
    run.add_usage(message)
    match envelope.text("role").lower():
        case "assistant":
            calls = message.get("tool_calls")
            for call in calls if isinstance(calls, list) else ():
                yield from _call(snake_keys(call), envelope, run)
        case "tool":
            call_id = text_of(message.get("tool_call_id", message.get("id")))
            yield ToolCallEnd(tool_id=call_id, result=message.get("content"), meta=envelope.meta("content"))


def _saved(content: Any) -> dict[str, Any]:
    """Return a message that the server's model library wrote as JSON text; empty if it cannot be parsed."""
    if not isinstance(content, str):
        return snake_keys(content)
    return snake_keys(json_or(content))


def _call(call: dict[str, Any], envelope: Envelope, run: Run) -> Iterator[Event]:
    call_id = text_of(call.get("id"))
    if call and run.is_new_call(call_id, "history"):
        yield ToolCallStart(
            tool_id=call_id,
            tool_name=text_of(call.get("name")) or "unknown",
            arguments=arguments(call.get("arguments")),
            meta=envelope.ids(),
        )
