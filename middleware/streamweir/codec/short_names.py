"""Ids, names and channels that no event has at endless length.

Source: the standard protocol 1.1, section 3 rule 11.
"""

from __future__ import annotations

from typing import Any, Final, cast

import msgspec

from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    SessionStart,
    Status,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.ids import MAX_ID_CHARACTERS, short_id

__all__ = ["with_short_names"]

_NAMES: Final[dict[type[Event], tuple[str, ...]]] = {
    SessionStart: ("session_id",),
    Content: ("channel",),
    ToolCallStart: ("tool_id", "tool_name"),
    ToolCallDelta: ("tool_id", "tool_name"),
    ToolCallProgress: ("tool_id", "tool_name"),
    ToolCallEnd: ("tool_id", "tool_name"),
    Interaction: ("interaction_id",),
    Status: ("name",),
}


def with_short_names(event: Event) -> Event:
    """Return `event` with the digests of ids, names and channels that are too long; mostly `event` itself."""
    if type(event) is Content and event.channel is None and event.meta is None:  # nearly all
        return event
    changed: dict[str, Any] = {}
    for name in _NAMES.get(type(event), ()):
        value = getattr(event, name)
        if value is not None and len(value) > MAX_ID_CHARACTERS:
            changed[name] = short_id(value)
    if event.meta is not None:
        for item in event.meta.values():
            if type(item) is str and len(item) > MAX_ID_CHARACTERS:
                changed["meta"] = _short_meta(event.meta)
    if isinstance(event, Data) and event.data_type == "custom" and (data := _short_custom(event.data)):
        changed["data"] = data
    return msgspec.structs.replace(event, **changed) if changed else event


def _short_meta(meta: Meta) -> Meta:
    short = {name: short_id(value) if isinstance(value, str) else value for name, value in meta.items()}
    return cast("Meta", short)


def _short_custom(data: Any) -> dict[str, Any] | None:
    """The data of an unknown event whose name is too long; None for any other."""
    name = data.get("name") if isinstance(data, dict) else None
    if isinstance(name, str) and len(name) > MAX_ID_CHARACTERS:
        return {**data, "name": short_id(name)}
    return None
