"""A received event of the standard protocol: its JSON, and its typed fields.

Source: the standard protocol 1.1, sections 1 and 2; the library contract, section 5.
Data that keeps the protocol is read exactly. A value of a wrong type is converted if it can be; an event with
a value that cannot be converted is `Unknown`. `to_dict()` always returns the JSON that was received.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from streamweir.codec.standard_events import read_standard
from streamweir.errors import ErrorInfo, MalformedEvent
from streamweir.events import (
    EVENT_TYPES,
    META_FIELDS,
    Content,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    Stamp,
    Thinking,
    Unknown,
    wire_data,
    wire_message,
)
from streamweir.jsontext import plain_json
from streamweir.metadata import unix_milliseconds
from streamweir.stages import error_event

__all__ = ["EventMetadata", "ReceivedEvent", "failure_events", "made_event", "translated_event"]

_MAY_LACK_DATA: Final = frozenset({"session_start", "session_end"})


class EventMetadata(msgspec.Struct, kw_only=True):
    """The metadata of an event; absent fields are None."""

    request_id: str | None = None
    timestamp: int | None = None
    sequence: int | None = None
    session_id: str | None = None
    thread_id: str | None = None
    message_id: str | None = None
    run_id: str | None = None
    parent_run_id: str | None = None
    node_id: str | None = None
    node_name: str | None = None
    duration_ms: int | None = None
    upstream_time: int | None = None
    extra: dict[str, Any] | None = None
    source: dict[str, Any] | None = None


class ReceivedEvent:
    """One received event. It is read-only, including its data.

    Attributes:
        type: the type in its JSON.
        data: an object of the class of `streamweir.events` for this type, else `Unknown`.
        metadata: ids, time and sequence number.
    """

    __match_args__ = ("type", "data", "metadata")
    __slots__ = ("_wire", "data", "metadata", "type")

    type: str
    data: Event | Unknown
    metadata: EventMetadata

    def __init__(self, message: Any) -> None:
        """Read a received message.

        Raises:
            MalformedEvent: the message is not an object with a type.
        """
        kind = message.get("type") if isinstance(message, Mapping) else None
        if not isinstance(kind, str):
            raise MalformedEvent("an event is an object with a type")
        metadata = message.get("metadata")
        if not isinstance(metadata, dict):
            metadata = {}
        self._wire = message
        self.type = kind
        self.metadata = _metadata(metadata)
        self.data = _payload(kind, message.get("data"), metadata)

    def to_dict(self) -> dict[str, Any]:
        """Return a copy of the received message."""
        return cast("dict[str, Any]", msgspec.to_builtins(dict(self._wire)))

    def __eq__(self, other: object) -> bool:
        return self._wire == other._wire if isinstance(other, ReceivedEvent) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # holds lists and objects

    def __repr__(self) -> str:
        return f"ReceivedEvent({self.data!r}, sequence={self.metadata.sequence})"


def made_event(payload: Event, *, request_id: str | None, sequence: int | None = None) -> ReceivedEvent:
    """Return an event about this process's side of the connection."""
    metadata = {"request_id": request_id, "timestamp": unix_milliseconds(), "sequence": sequence}
    present = {name: value for name, value in metadata.items() if value is not None}
    return ReceivedEvent({"type": payload.type, "data": wire_data(payload), "metadata": present})


def translated_event(event: Event, stamp: Stamp) -> ReceivedEvent:
    """Return an event that was decoded from another dialect as a received event of the standard."""
    message = wire_message(event, stamp)
    is_text = isinstance(event, Content | Thinking) and not (event.meta and "extra" in event.meta)
    return ReceivedEvent(message if is_text else plain_json(message))


def failure_events(
    info: ErrorInfo, *, request_id: str | None, sequence: int | None = None
) -> tuple[ReceivedEvent, ReceivedEvent]:
    """Return the `error` and the `session_end` for a failure; `sequence` is the number of the error."""
    following = None if sequence is None else sequence + 1
    return (
        made_event(error_event(info), request_id=request_id, sequence=sequence),
        made_event(SessionEnd(status="error", reason=info.reason), request_id=request_id, sequence=following),
    )


def _metadata(metadata: dict[str, Any]) -> EventMetadata:
    try:
        return msgspec.convert(metadata, EventMetadata)
    except msgspec.ValidationError:
        fitting = {}
        for field in msgspec.structs.fields(EventMetadata):
            try:
                fitting[field.name] = msgspec.convert(metadata.get(field.name), field.type)
            except msgspec.ValidationError:
                continue
        return EventMetadata(**fitting)


def _payload(kind: str, data: Any, metadata: dict[str, Any]) -> Event | Unknown:
    cls = EVENT_TYPES.get(kind)
    if data is None and kind in _MAY_LACK_DATA:
        data = {}
    if cls is None or not isinstance(data, dict):
        return Unknown(kind, data)
    if kind != "error":  # what 1.0 leaves out of an error follows from what it says
        try:
            payload = msgspec.convert(data, cls)
        except msgspec.ValidationError:
            pass
        else:
            payload.meta = _meta(metadata)
            if isinstance(payload, SessionStart) and "protocol" not in data:
                payload.protocol = "1.0"
            return payload
    fitted = read_standard({"type": kind, "data": data, "metadata": metadata})
    return fitted if isinstance(fitted, cls) else Unknown(kind, data)


def _meta(metadata: dict[str, Any]) -> Meta | None:
    return cast("Meta | None", {key: metadata[key] for key in META_FIELDS if key in metadata} or None)
