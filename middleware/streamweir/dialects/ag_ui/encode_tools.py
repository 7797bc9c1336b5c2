"""Writes tool calls, their results, and patches of a state, in the form that AG-UI's clients accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.dialects.ag_ui.shared_metadata import with_metadata
from streamweir.events import ToolCallEnd

__all__ = ["call_result", "is_patch", "lasting_id"]

_LASTING: Final = 12
"""An id of fewer characters, such as `call_1`, may occur in several runs of a conversation."""

_NEEDED: Final = {
    "add": ("value",),
    "remove": (),
    "replace": ("value",),
    "move": ("from",),
    "copy": ("from",),
    "test": ("value",),
}
"""The required fields of an operation of a JSON Patch (RFC 6902), by its name."""


def lasting_id(tool_id: str, request_id: str) -> str:
    """Return an id that no call of an earlier run on the page has.

    If a page gets the start of a call that it has already, it takes the start for a repetition and adds to
    the arguments of that call.
    """
    return tool_id if len(tool_id) >= _LASTING else f"{tool_id}-{request_id}"


def call_result(event: ToolCallEnd, message_id: str, tool_id: str) -> dict[str, Any]:
    """Return the result of a call. If the call failed, the metadata say so, and the content is the reason."""
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
    """Return whether a client can apply this JSON patch; an unknown operation ends the client's run."""
    return all(isinstance(item, dict) and _is_operation(item) for item in operations)


def _is_operation(item: dict[str, Any]) -> bool:
    needed = _NEEDED.get(str(item.get("op")))
    if needed is None or not all(name in item for name in needed):
        return False
    pointers = [item.get("path"), *([item["from"]] if "from" in needed else [])]
    return all(isinstance(pointer, str) and (not pointer or pointer[0] == "/") for pointer in pointers)
