"""The names of fields in snake_case, which Python servers write if they dump models without aliases.

Source: ag-ui-protocol 1.0 (`ag_ui/_generated/models.py`): `model_dump_json()` without `by_alias=True`.
"""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.camel_case import by_snake_case, with_own_names

__all__ = ["in_camel_case"]

_KNOWN: Final = by_snake_case(
    (
        *("threadId", "runId", "parentRunId", "protocolVersion", "messageId", "parentMessageId"),
        *("toolCallId", "toolCallName", "stepName", "subagentRunId", "activityType", "entityId"),
        *("encryptedValue", "rawEvent", "pendingToolCallIds", "responseSchema", "expiresAt"),
        *("interruptId", "inputTokens", "outputTokens", "totalTokens", "toolCalls"),
    )
)
_NESTED: Final = ("outcome", "interrupts", "usage", "messages", "input")
"""The fields whose objects have field names of the protocol, too; other objects are the application's."""


def in_camel_case(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with the protocol's own field names; `message` itself if no name is in snake_case."""
    if not any("_" in name for name in message) and not any(name in message for name in _NESTED):
        return message
    return with_own_names(message, _KNOWN, lambda own, value: _nested(value) if own in _NESTED else value)


def _nested(value: Any) -> Any:
    if isinstance(value, list):
        return [_nested(item) for item in value]
    return in_camel_case(value) if isinstance(value, dict) else value
