"""Writes the results of calls, each in the form for the kind of its call.

    call                output item               output
    ─────────────────   ───────────────────────   ──────────────────────────────────────────────────
    function_call       function_call_output      the text (files: `request_items`)
    custom_tool_call    custom_tool_call_output   the text (files: `request_items`)
    shell_call          shell_call_output         a list with how each command ended; else made of the text
    local_shell_call    local_shell_call_output   the text; the id of the call as `id`
    computer_call       computer_call_output      a screenshot; a text is its address
    apply_patch_call    apply_patch_call_output   the text, and whether the patch was applied
    tool_search_call    tool_search_output        a list of tools

Source: the Responses API (openai-python 3.57, `response_input_item_param.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from streamweir.dialects.openai_responses.shared_words import CLIENT_CALLS
from streamweir.optional_json import json_or
from streamweir.requests.canonical import Message
from streamweir.requests.messages import text_of_message
from streamweir.requests.opaque_values import native_text
from streamweir.requests.outgoing import Outgoing

__all__ = ["call_kind", "kinds_of_calls", "output_item"]

_FUNCTION: Final = "function_call"
_KINDS: Final = CLIENT_CALLS | {"tool_search_call", "mcp_approval_request"}


class _MadeItem(msgspec.Struct):
    """The fields in an item of a kept turn by which an output finds its call."""

    type: Any = None
    call_id: Any = None


_items = msgspec.json.Decoder(list[_MadeItem]).decode


def kinds_of_calls(messages: Iterable[Message], outgoing: Outgoing) -> Mapping[str, str]:
    """Return the kinds of calls that are not functions, by their ids."""
    found: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls", []):
            kind = call_kind(outgoing.opaque_of(call) or {})
            if kind != _FUNCTION:
                found[call["id"]] = kind
        if turn := message.get("turn"):
            found |= _kinds_in(turn)
    return found


def call_kind(own: Mapping[str, Any]) -> str:
    """Return the type of item for a call, by its opaque value: usually a function."""
    kind = native_text(own, "type")
    return kind if kind in _KINDS else _FUNCTION


def _kinds_in(turn: bytes) -> dict[str, str]:
    try:
        items = _items(turn)
    except msgspec.MsgspecError:
        return {}
    return {
        item.call_id: item.type
        for item in items
        if isinstance(item.call_id, str) and isinstance(item.type, str) and item.type != _FUNCTION
    }


def output_item(message: Message, kind: str | None) -> dict[str, Any]:
    """Return the item of a result.

    Args:
        message: the result.
        kind: the kind of the call; None for a function.
    """
    call_id, text = message.get("tool_call_id", ""), text_of_message(message)
    failed = message.get("is_error") is True
    match kind:
        case "custom_tool_call":
            return {"type": "custom_tool_call_output", "call_id": call_id, "output": text}
        case "shell_call":
            output = _value(text, list) or [_command_output(text, failed=failed)]
            return {"type": "shell_call_output", "call_id": call_id, "output": output}
        case "local_shell_call":
            return {"type": "local_shell_call_output", "id": call_id, "output": text}
        case "computer_call":
            output = _value(text, dict) or {"type": "computer_screenshot", "image_url": text}
            return {"type": "computer_call_output", "call_id": call_id, "output": output}
        case "apply_patch_call":
            status = "failed" if failed else "completed"
            return {
                "type": "apply_patch_call_output",
                "call_id": call_id,
                "status": status,
                "output": text,
            }
        case "tool_search_call":
            tools = _value(text, list) or []
            return {"type": "tool_search_output", "call_id": call_id, "execution": "client", "tools": tools}
    return {"type": "function_call_output", "call_id": call_id, "output": text}


def _command_output(text: str, *, failed: bool) -> dict[str, Any]:
    return {"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": int(failed)}}


def _value(text: str, kind: type) -> Any:
    """Return the JSON in a text; None if it is not JSON of this type."""
    value = json_or(text)
    return value if isinstance(value, kind) else None
