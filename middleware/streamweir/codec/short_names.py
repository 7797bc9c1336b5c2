"""Shortens ids, names and channels that are too long for an event.

Source: the standard protocol 1.1, section 3 rule 11.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, Final, cast

import msgspec

from streamweir.events import (
    Content,
    Data,
    Event,
    Interaction,
    Meta,
    SessionEnd,
    SessionStart,
    Status,
    Thinking,
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


_IS_ID: Final = re.compile(r"(?:^|_)ids?$|[a-z]Ids?$|[a-z]IDs?$")
"""Matches the keys of ids in values that a client sends back."""


def with_short_names(event: Event, short: Callable[[str], str] = short_id) -> Event:
    """Return `event` with digests in place of too long ids, names and channels; usually `event` itself.

    Args:
        event: the decoded event.
        short: returns the digest of a text that is too long.
    """
    kind, meta = type(event), event.meta
    is_short = kind is SessionEnd or (kind is Content and event.channel is None)  # type: ignore[union-attr]
    is_short = is_short or (kind is SessionStart and event.session_id is None)  # type: ignore[union-attr]
    if is_short or ((has_short := _SHORT_ONES.get(kind)) is not None and has_short(event)):
        if meta is None:
            return event
        for item in meta.values():
            if type(item) is str and len(item) > MAX_ID_CHARACTERS:
                break
        else:
            return event
    return _shortened(event, short) if _may_have_long_names(event) else event


def _shortened(event: Event, short: Callable[[str], str]) -> Event:
    """Return `with_short_names` of an event that may have long names."""
    changed: dict[str, Any] = {}
    for name in _NAMES.get(type(event), ()):
        value = getattr(event, name)
        if value is not None and len(value) > MAX_ID_CHARACTERS:
            changed[name] = short(value)
    if event.meta is not None:
        for item in event.meta.values():
            if type(item) is str and len(item) > MAX_ID_CHARACTERS:
                changed["meta"] = _short_meta(event.meta, short)
    if isinstance(event, Data) and event.data_type == "custom" and (data := _short_custom(event.data, short)):
        changed["data"] = data
    if isinstance(event, Interaction) and event.resume is not None:
        resume = _with_short_ids(event.resume, short)
        if resume is not event.resume:
            changed["resume"] = resume
    return msgspec.structs.replace(event, **changed) if changed else event


def _has_long_value(meta: Meta) -> bool:
    """Return whether a text in the metadata of an event is too long."""
    for item in meta.values():  # noqa: SIM110 - a generator takes three times as long
        if type(item) is str and len(item) > MAX_ID_CHARACTERS:
            return True
    return False


def _has_short_id_and_name(event: ToolCallStart | ToolCallEnd) -> bool:
    """Return whether the names of a call are short."""
    name = event.tool_name
    return len(event.tool_id) <= MAX_ID_CHARACTERS and (name is None or len(name) <= MAX_ID_CHARACTERS)


def _has_short_name(event: Data) -> bool:
    """Return whether data certainly has no long name."""
    if event.data_type != "custom":
        return True
    name = event.data.get("name") if type(event.data) is dict else None
    return type(name) is str and len(name) <= MAX_ID_CHARACTERS


_SHORT_ONES: Final[dict[type[Event], Callable[[Any], bool]]] = {
    SessionStart: lambda event: event.session_id is None or len(event.session_id) <= MAX_ID_CHARACTERS,
    Status: lambda event: event.name is None or len(event.name) <= MAX_ID_CHARACTERS,
    Thinking: lambda _: True,
    ToolCallStart: _has_short_id_and_name,
    ToolCallEnd: _has_short_id_and_name,
    Data: _has_short_name,
}
"""By kind of event, except for those that `with_short_names` looks at itself: returns whether an event
certainly has no long name outside of its metadata.
"""


def _may_have_long_names(event: Event) -> bool:
    """Return False if no id, name or channel of `event` is too long."""
    if event.meta is not None and _has_long_value(event.meta):
        return True
    if type(event) is Content:
        return event.channel is not None and len(event.channel) > MAX_ID_CHARACTERS
    kind = type(event)
    for name in _NAMES.get(kind, ()):
        value = getattr(event, name)
        if value is not None and len(value) > MAX_ID_CHARACTERS:
            return True
    if kind is Data:
        data = cast("Data", event)
        return data.data_type == "custom" and len(_name_of(data.data)) > MAX_ID_CHARACTERS
    return kind is Interaction


def _name_of(data: Any) -> str:
    """Return the name of an unknown event; empty if it has no name."""
    name = data.get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""


def _short_meta(meta: Meta, short: Callable[[str], str]) -> Meta:
    fields = {name: short(value) if isinstance(value, str) else value for name, value in meta.items()}
    return cast("Meta", fields)


def _short_custom(data: Any, short: Callable[[str], str]) -> dict[str, Any] | None:
    """Return the data of an unknown event with a shortened name; None if the name is not too long."""
    name = _name_of(data)
    return {**data, "name": short(name)} if len(name) > MAX_ID_CHARACTERS else None


def _with_short_ids(value: Any, short: Callable[[str], str], key: str = "") -> Any:
    """Return `value` with digests in place of ids that are too long, at any depth; usually `value` itself."""
    if isinstance(value, str):
        return short(value) if len(value) > MAX_ID_CHARACTERS and _IS_ID.search(key) else value
    if isinstance(value, dict):
        fields = {name: _with_short_ids(item, short, name) for name, item in value.items()}
        return value if all(fields[name] is item for name, item in value.items()) else fields
    if isinstance(value, list):
        items = [_with_short_ids(item, short, key) for item in value]
        return value if all(map(operator.is_, items, value)) else items
    return value
