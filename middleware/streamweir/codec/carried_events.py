"""Carries standard events in a protocol that has no form for them but takes named data of any kind.

The name is the type of the event, and the data is the data of the event in the standard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.standard_events import read_standard
from streamweir.events import Event

__all__ = ["CARRIED", "read_carried"]

CARRIED: Final[Mapping[str, tuple[str, ...]]] = {
    "data": ("data_type", "data"),
    "error": ("error_type", "code", "message", "terminal"),
    "interaction": ("interaction_id", "kind", "state"),
    "reference": ("citations",),
    "status": ("scope", "state"),
    "tool_call_progress": ("tool_id", "progress"),
    "warning": ("message",),
}
"""For each type of event: the fields that tell a standard event from an application's of the same name."""


def read_carried(name: str, value: Any, metadata: Mapping[str, Any]) -> Event | None:
    """Return the standard event that is carried under `name`; None if the value is an application's data.

    An error that is carried in this way never ends the stream.
    """
    if name not in CARRIED or not isinstance(value, dict) or not value.keys() >= {*CARRIED[name]}:
        return None
    data = {**value, "terminal": False} if name == "error" else value
    return read_standard({"type": name, "data": data, "metadata": metadata})
