"""Carries standard events that RAGFlow lacks, in the outputs of a node of a made-up type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from streamweir.codec.carried_events import read_carried
from streamweir.codec.coerce import custom
from streamweir.events import Data, DataType, Event, Meta, Scope, State, Status, Warning

__all__ = ["CARRIER", "carried"]

CARRIER: Final = "Event"
"""The component type of the node that carries a standard event."""

_DATA_TYPES: Final = get_args(DataType)
_SCOPES: Final = get_args(Scope)
_STATES: Final = get_args(State)


def carried(outputs: Mapping[str, Any], meta: Meta | None) -> Event:
    """Return the event that a carrier node holds."""
    match outputs:
        case {"type": str(kind), "data": dict(data), **rest} if not rest:
            event = read_carried(kind, data, meta or {})
            if event is not None:
                return event
        case {"data_type": str(kind), "data": dict() | list() as data} if (
            kind == "state_delta"
        ) == isinstance(data, list):
            description = outputs.get("metadata")
            return Data(
                kind if kind in _DATA_TYPES else "custom",  # type: ignore[arg-type]
                data if kind in _DATA_TYPES else {"name": kind, "value": data},
                description if isinstance(description, dict) else None,
                meta=meta,
            )
        case {"scope": str(scope), "state": str(state)} if scope in _SCOPES and state in _STATES:
            name, detail = outputs.get("name"), outputs.get("detail")
            return Status(scope, state, name if isinstance(name, str) else None, detail, meta=meta)  # type: ignore[arg-type]
        case {"warning": str(text)}:
            code = outputs.get("code")
            return Warning(text, code if isinstance(code, str) else None, meta=meta)
    return custom("event", dict(outputs), meta)
