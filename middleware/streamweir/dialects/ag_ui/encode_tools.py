"""Calls of tools, their results, and patches of a state, as AG-UI's clients accept them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.dialects.ag_ui.shared_metadata import with_metadata
from streamweir.events import ToolCallEnd

__all__ = ["call_result", "is_patch", "lasting_id"]

_LASTING: Final = 12
"""An id of fewer characters may occur in each run of a conversation: `call_1`."""

_NEEDED: Final = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
"""By operation of a JSON Patch: the fields that it must have (RFC 6902)."""


def lasting_id(tool_id: str, request_id: str) -> str:
    """Return an id that no call of an earlier run on the same page has.

    A page takes the start of a call that it has already for a repetition, and adds to its arguments.
    """
    return tool_id if len(tool_id) >= _LASTING else f"{tool_id}-{request_id}"


def call_result(event: ToolCallEnd, message_id: str, tool_id: str) -> dict[str, Any]:
    """Return the result of a call. Metadata marks a failed one, and its content is the reason."""
    content = event.error["message"] if event.error else text_of(event.result)
    result = {
        "type": "TOOL_CALL_RESULT",
        "messageId": message_id,
        "toolCallId": tool_id,
        "content": content,
        "role": "tool",
    }
    if event.error:
        return with_metadata(result, event, status="failed", code=event.error["code"], result=event.result)
    return with_metadata(result, event)


def is_patch(operations: Sequence[Any]) -> bool:
    """Tell whether a client can apply this JSON patch; an unknown operation ends the client's run."""
    return all(isinstance(item, dict) and _is_operation(item) for item in operations)


def _is_operation(item: dict[str, Any]) -> bool:
    needed = _NEEDED.get(str(item.get("op")))
    if needed is None or not all(name in item for name in needed):
        return False
    pointers = [item.get("path"), *([item["from"]] if "from" in needed else [])]
    return all(isinstance(pointer, str) and (not pointer or pointer[0] == "/") for pointer in pointers)
