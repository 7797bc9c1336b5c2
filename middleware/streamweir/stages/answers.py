"""Decides which events are an answer, or a part of one."""

from __future__ import annotations

from typing import Final

from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Reference,
    Thinking,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)

__all__ = ["is_answer"]

_ANSWERS: Final = frozenset(
    {ToolCallStart, ToolCallDelta, ToolCallProgress, ToolCallEnd, Interaction, Reference}
)
"""The kinds of events that count as an answer, whatever their fields."""

_MUTE_DATA: Final = frozenset({"custom", "state", "state_delta"})
"""The kinds of data that do not count as an answer."""


def is_answer(event: Event) -> bool:
    """Return whether an event is an answer or a part of one (the standard protocol, section 3 rule 8)."""
    if type(event) is Content or type(event) is Thinking:
        text = event.content
        return bool(text) and not text.isspace()
    if type(event) is Data:
        return event.data_type not in _MUTE_DATA or bool(event.is_answer)
    return type(event) in _ANSWERS
