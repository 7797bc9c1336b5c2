"""Describes the kind of an upstream's message to the operator, in plain words without its text."""

from __future__ import annotations

import re
from typing import Final

from streamweir.codec.head_messages import HeadMessage

__all__ = ["message_kind"]

_FIELDS: Final = (
    *("type", "event", "kind", "method", "action", "op", "object", "event_type", "eventType"),
    *("status", "code"),
)
"""Fields that name the kind of a message, in the order in which they are looked for."""

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:/-]{0,39}")
_MOST_NAMES: Final = 3


def message_kind(message: HeadMessage) -> str | None:
    """Return a description: `type=chunk`, `event: tick` or `fields a, b`; None if no name is a plain word."""
    for field in _FIELDS:
        value = message.fields.get(field)
        if isinstance(value, str) and _WORD.fullmatch(value):
            return f"{field}={value}"
    if message.event and _WORD.fullmatch(message.event):
        return f"event: {message.event}"
    names = [name for name in message.fields if _WORD.fullmatch(name)][:_MOST_NAMES]
    return f"fields {', '.join(names)}" if names else None
