"""Standard events in a protocol that has no word for them but takes named data of any kind.

They travel under the name of their type, as the data that they have in the standard.
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
"""By type: the fields that tell an event of ours from another application's data of that name."""


def read_carried(name: str, value: Any, metadata: Mapping[str, Any]) -> Event | None:
    """Return the event that travels under `name`; None if it is the application's own data.

    An error that travels so ends nothing.
    """
    if name not in CARRIED or not isinstance(value, dict) or not value.keys() >= {*CARRIED[name]}:
        return None
    data = {**value, "terminal": False} if name == "error" else value
    return read_standard({"type": name, "data": data, "metadata": metadata})
