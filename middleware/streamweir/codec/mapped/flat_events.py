"""Converts events to and from the flat form that examples show, without fields of which the value is clear.

Source: the dialect-file contract, section 8.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.standard_events import read_standard
from streamweir.events import EVENT_TYPES, META_FIELDS, WIRE_FIELDS, Event, wire_data

__all__ = ["MAY_BE_LEFT_OUT", "event_from", "shown"]

_OURS: Final = frozenset({"protocol", "request_id"})
_EMPTY: Final = frozenset({"tool_id", "interaction_id", "message"})
"""The fields that are empty if a rule leaves them out."""

_HINTS: Final = ("tool_name", "for_users")

MAY_BE_LEFT_OUT: Final[Mapping[str, frozenset[str]]] = {
    "tool_call_progress": frozenset({"tool_name"}),
    "tool_call_end": frozenset({"tool_name", "for_users"}),
    "warning": frozenset({"for_users"}),
    "error": frozenset({"for_users"}),
    "session_end": frozenset({"summary"}),
}
"""For each type, the fields that an example may leave out."""


def shown(event: Event) -> dict[str, Any]:
    """Return `event` in the form that examples show."""
    data = {name: value for name, value in wire_data(event).items() if name not in _OURS}
    data |= {name: getattr(event, name, None) for name in _HINTS}
    visible = {
        name: value
        for name, value in data.items()
        if value is not None and not (name in _EMPTY and value == "")
    }
    return {"type": event.type, **(event.meta or {}), **visible}


def event_from(fields: Mapping[str, Any]) -> Event:
    """Return the event for flat fields; values of a wrong type are converted."""
    name = fields["type"]
    own = set(WIRE_FIELDS[EVENT_TYPES[name]])
    data = {key: value for key, value in fields.items() if key in own}
    meta = {key: value for key, value in fields.items() if key in META_FIELDS and key not in own}
    return read_standard({"type": name, "data": data, "metadata": meta})
