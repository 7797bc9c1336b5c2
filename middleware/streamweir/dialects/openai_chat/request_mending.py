"""Repairs a refused request: missing reasoning is added as an empty text, or all reasoning is left out.

Source: DeepSeek (thinking mode), Groq (unsupported properties); the conversation contract, section 4 (lost).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["mend", "refuses_field"]

_FIELD: Final = "reasoning_content"
_FIELDS: Final = (_FIELD, "reasoning", "reasoning_details")
_UNKNOWN: Final = re.compile(
    r"unsupported|unexpected|unknown|unrecogni[sz]ed|extra|not (?:permitted|allowed)", re.IGNORECASE
)
"""Matches the error text of an upstream that does not know the field."""


def mend(body: Mapping[str, Any], refusal: str) -> Mapping[str, Any] | None:
    """Return the body with `reasoning_content: ""` on each message with calls that lacks it.

    If no message lacks it, or the upstream does not know the field, the reasoning of all messages is removed.

    Args:
        body: the body of the refused request.
        refusal: the error text of the upstream.

    Returns:
        The changed body; None if the body needs no change.
    """
    messages = body.get("messages", [])
    lacks = [bool(message.get("tool_calls")) and _FIELD not in message for message in messages]
    if any(lacks) and not refuses_field(refusal):
        pairs = zip(messages, lacks, strict=True)
        return {**body, "messages": [{**m, _FIELD: ""} if lacking else m for m, lacking in pairs]}
    if not any(name in message for message in messages for name in _FIELDS):
        return None
    return {**body, "messages": [_without_reasoning(message) for message in messages]}


def refuses_field(refusal: str) -> bool:
    """Return whether the upstream does not know the field, by the text of its refusal."""
    return _UNKNOWN.search(refusal) is not None


def _without_reasoning(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in _FIELDS}
