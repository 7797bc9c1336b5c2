"""Events with and without their opaque values.

Source: the conversation contract, section 2.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from streamweir.events import Content, Thinking, ToolCallStart

__all__ = ["without_opaque"]

E = TypeVar("E", bound=Content | Thinking | ToolCallStart)


def without_opaque(event: E) -> E | None:
    """Return `event` without its opaque value; None if nothing is left of it."""
    if event.opaque is None:
        return event
    plain = msgspec.structs.replace(event, opaque=None)
    return plain if isinstance(plain, ToolCallStart) or _has_meaning(plain) else None


def _has_meaning(event: Content | Thinking) -> bool:
    if event.content:
        return True
    return isinstance(event, Content) and (event.is_complete is True or event.op is not None)
