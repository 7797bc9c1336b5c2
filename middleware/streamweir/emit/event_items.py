"""The items of an application's own stream: an event as a dict, in the standard's shape or flat, or typed.

    {"type": "content", "data": {"content": "Hi"}, "metadata": {"message_id": "m1"}}      as on the wire
    {"type": "content", "content": "Hi", "message_id": "m1"}                              flat
    Content("Hi", meta={"message_id": "m1"})                                              typed

Unknown fields are kept in `metadata.extra`, and an unknown type becomes `data{custom}`. Missing fields of an
error are filled in; without `recoverable` it ends the stream.

Source: the library contract, section 3; the configuration contract (`emit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom
from streamweir.codec.event_validation import TIMED, checked_event, checked_meta
from streamweir.errors import CODES, EventValidationError
from streamweir.events import (
    EVENT_TYPES,
    META_FIELDS,
    WIRE_FIELDS,
    Error,
    Event,
    Meta,
    SessionStart,
    ToolCallEnd,
)

__all__ = ["event_of"]

_META: Final = frozenset(META_FIELDS) - {"source"}
_OURS: Final = frozenset({"request_id", "timestamp", "sequence", "source"})
"""Metadata that this library sets, and that is ignored in items."""

_ENVELOPE: Final = frozenset({"type", "data", "metadata"})


def event_of(item: object) -> Event:
    """Return the event for an item.

    Raises:
        EventValidationError: the item is not an event, or has a value that the protocol forbids.
    """
    if isinstance(item, Event):
        return _checked(item)
    if isinstance(item, Mapping):
        return _from_mapping(item)
    to_dict = getattr(item, "to_dict", None)  # an event as it was received
    message = to_dict() if callable(to_dict) and not isinstance(item, type) else None
    if isinstance(message, Mapping):
        return _from_mapping(message)
    raise EventValidationError("item", f"must be an event, not {type(item).__name__}")


def _checked(event: Event) -> Event:
    fields = {name: getattr(event, name) for name in event.__struct_fields__ if name != "meta"}
    return checked_event(type(event), fields, _meta(event.meta or {}, type(event)))


def _from_mapping(item: Mapping[str, Any]) -> Event:
    kind = item.get("type")
    if not isinstance(kind, str) or not kind:
        raise EventValidationError("type", "is missing")
    fields, metadata = _parts(kind, item)
    cls = EVENT_TYPES.get(kind)
    if cls is None:
        return custom(kind, fields)
    known = set(WIRE_FIELDS[cls])
    data = {name: value for name, value in fields.items() if name in known}
    rest = {name: value for name, value in fields.items() if name not in known and value is not None}
    return checked_event(cls, _completed(cls, data), _meta(metadata, cls, rest))


def _parts(kind: str, item: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the data and the metadata of an item in the standard or the flat shape."""
    metadata = item.get("metadata", {})
    data = item.get("data", {})
    is_flat_data = kind == "data" and "data_type" in item
    if item.keys() <= _ENVELOPE and not is_flat_data:
        return _object("data", data), _object("metadata", metadata)
    fields = {name: value for name, value in item.items() if name != "type"}
    if not is_flat_data:
        fields.pop("metadata", None)
        if isinstance(data, Mapping):  # the shape of the standard, with more fields
            fields.pop("data", None)
            fields = {**fields, **data}
    else:
        metadata = {}
    meta = {name: fields.pop(name) for name in (_META | _OURS) & fields.keys() if name not in _own(kind)}
    return fields, {**meta, **_object("metadata", metadata)}


def _own(kind: str) -> tuple[str, ...]:
    """Return the names of an event's data fields, which take precedence over metadata with these names."""
    cls = EVENT_TYPES.get(kind)
    return WIRE_FIELDS[cls] if cls is not None else ()


def _object(field: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise EventValidationError(field, "must be a mapping")
    return value


def _completed(cls: type[Event], data: dict[str, Any]) -> dict[str, Any]:
    """Return the data, with defaults for fields that an item may omit."""
    if data.get("is_complete") is False:
        del data["is_complete"]
    if "tool_id" in WIRE_FIELDS[cls]:
        data.setdefault("tool_id", "")
    if cls is ToolCallEnd and isinstance(data.get("error"), Mapping):
        data["error"] = {"code": "TOOL_FAILED", "message": "", **data["error"]}
    if cls is SessionStart:
        return {name: value for name, value in data.items() if name == "session_id"}
    return _completed_error(data) if cls is Error else data


def _completed_error(data: dict[str, Any]) -> dict[str, Any]:
    recoverable = data.get("recoverable", False)
    code = data.get("code") or (
        "UPSTREAM_TIMEOUT" if data.get("error_type") == "timeout" else "UPSTREAM_ERROR"
    )
    row = CODES.get(code, CODES["UPSTREAM_ERROR"]) if isinstance(code, str) else CODES["UPSTREAM_ERROR"]
    defaults = {
        "error_type": row.error_type,
        "message": "",
        "recoverable": recoverable,
        "terminal": not recoverable,
    }
    return {**defaults, **{name: value for name, value in data.items() if value is not None}, "code": code}


def _meta(
    metadata: Mapping[str, Any], cls: type[Event], rest: Mapping[str, Any] | None = None
) -> Meta | None:
    """Return the metadata of an event; unknown fields go to `extra` if the event can have it."""
    known = {name: value for name, value in metadata.items() if name in _META}
    foreign = {name: value for name, value in metadata.items() if name not in _META and name not in _OURS}
    extra = {**(rest or {}), **foreign, **_object("metadata.extra", known.pop("extra", None))}
    if extra and cls is not Error:
        known["extra"] = extra
    if "duration_ms" in known and cls not in TIMED:
        del known["duration_ms"]
    return checked_meta(known, cls, allowed=_META)
