"""Carries standard events without a type in the envelope, in a graph state under a key of this library.

The app's pages keep a state unchanged and show no part of it as the answer, so they accept any key in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.standard_events import read_standard
from streamweir.events import META_IDS, Event, Meta, wire_data

__all__ = ["CARRIER", "carry", "read_carried"]

CARRIER: Final = "agent_event"

_CARRIED: Final = frozenset(
    {"data", "reference", "status", "warning", "interaction", "tool_call_progress", "error"}
)


def carry(event: Event, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state that holds `event`; `extra`: the upstream's fields of the event to write."""
    value: dict[str, Any] = {"type": event.type, "data": wire_data(event)}
    if event.meta:
        metadata = {
            name: item for name, item in event.meta.items() if name in META_IDS or name == "duration_ms"
        }
        value["metadata"] = {**metadata, "extra": extra} if extra else metadata
    return {CARRIER: value}


def read_carried(state: Any, meta: Meta | None) -> Event | None:
    """Return the event in `state`; None for a graph's state. Such an error never ends the stream."""
    match state:
        case {"agent_event": {"type": str(kind), "data": dict(data)} as value, **rest} if kind in _CARRIED:
            if kind == "error":
                data = {**data, "terminal": False}
            given = value.get("metadata")
            own = given if isinstance(given, dict) else {}
            metadata: dict[str, Any] = {**(meta or {}), **own}
            if beside := {**(meta or {}).get("extra", {}), **own.get("extra", {}), **rest}:
                metadata["extra"] = beside
            return read_standard({**value, "data": data, "metadata": metadata})
    return None
