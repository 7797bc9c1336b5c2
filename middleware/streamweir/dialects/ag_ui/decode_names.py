"""The names of fields in snake_case, which Python servers write where they dump models without aliases.

Source: ag-ui-protocol 1.0 (`ag_ui/_generated/models.py`): `model_dump_json()` without `by_alias=True`.
"""

from __future__ import annotations

import re
from typing import Any, Final

__all__ = ["in_camel_case"]

_KNOWN: Final = {
    re.sub(r"(?<=[a-z])([A-Z])", r"_\1", name).lower(): name
    for name in (
        *("threadId", "runId", "parentRunId", "protocolVersion", "messageId", "parentMessageId"),
        *("toolCallId", "toolCallName", "stepName", "subagentRunId", "activityType", "entityId"),
        *("encryptedValue", "rawEvent", "pendingToolCallIds", "responseSchema", "expiresAt"),
        *("interruptId", "inputTokens", "outputTokens", "totalTokens", "toolCalls"),
    )
}
_NESTED: Final = ("outcome", "interrupts", "usage", "messages", "input")
"""Fields whose objects have names of the protocol too. All others are the application's."""


def in_camel_case(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message whose fields have the protocol's own names; itself if no name is in snake_case.

    A field that has both names keeps the value of the protocol's own.
    """
    if not any("_" in name for name in message) and not any(name in message for name in _NESTED):
        return message
    named: dict[str, Any] = {}
    for name, value in message.items():
        own = _KNOWN.get(name, name)
        if own == name or own not in message:
            named[own] = _nested(value) if own in _NESTED else value
    return named


def _nested(value: Any) -> Any:
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return in_camel_case(value) if isinstance(value, dict) else value
