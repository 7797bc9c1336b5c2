"""Normalises single events, outside of a stream.

Source: the library contract, section 4. Nothing is remembered from one call to the next: no lifecycle, no
sequence, no pairing of tool calls, no comparison of texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec

from streamweir.codec.detector import Detector
from streamweir.codec.head_messages import head_messages
from streamweir.codec.standard_events import is_standard
from streamweir.errors import ProtocolError
from streamweir.events import (
    EVENT_TYPES,
    WIRE_FIELDS,
    Content,
    Event,
    SessionEnd,
    Thinking,
    wire_data,
    wire_metadata,
)
from streamweir.framing.blank import BOM
from streamweir.jsontext import write_json
from streamweir.optional_json import json_object
from streamweir.options.limits import Limits
from streamweir.stages import REASON_OF_STATUS, ErrorSanitizer, passed_on
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader

__all__ = ["normalize_stream_event", "parse_stream_line"]

_OLD: Final = "legacy"
"""The dialect for events that no dialect claims with a score of 0.5; it also reads standard events."""

_LIMITS: Final = Limits(event_bytes=256 << 20)
_END: Final = b"\n\n"
_TIMES: Final = ("timestamp", "created_at")
_FIRST_MILLISECOND: Final = 100_000_000_000
"""A smaller number is in seconds: seconds reach this number in the year 5138, milliseconds did in 1973."""
_LAST_MILLISECOND: Final = 1e14


def normalize_stream_event(
    event: Mapping[str, Any] | str | bytes, *, speaks: str = "auto"
) -> list[dict[str, Any]]:
    """Return the standard events of one event, with its metadata.

    Args:
        event: the message as a dict, or as its bytes or text on the wire: one line, or one SSE block.
        speaks: its dialect; `auto` detects it.

    Returns:
        An empty list for a ping, `[DONE]` or a blank line. A standard event is returned equal, an unknown one
        as `data` / `custom`, one that cannot be read as a `warning`.

    Raises:
        UnknownDialectError: there is no dialect `speaks`, or it has no decoder.
    """
    text = write_json(event) if isinstance(event, Mapping) else _bytes_of(event)
    message = _only_message(text)
    if speaks in ("auto", "standard", _OLD) and isinstance(message, dict) and is_standard(message):
        return [dict(message)]
    reader = _reader(text, message) if speaks == "auto" else StreamReader(speaks, limits=_LIMITS)
    sanitizer = ErrorSanitizer(debug=False)
    stamp = _stamp_of(message)
    return [_wire(safe, stamp) for item in _read(reader, text) for safe in passed_on(sanitizer, item)]


def parse_stream_line(line: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object of one NDJSON line or one SSE `data:` line.

    None for a blank line, a comment, another SSE field, `[DONE]`, and data that is no JSON object.
    """
    data = _bytes_of(line).strip().removeprefix(BOM).strip().removeprefix(b"data:").strip()
    return json_object(data) if data.startswith(b"{") else None


def _bytes_of(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else bytes(text)


def _only_message(text: bytes) -> Any:
    """Return the JSON value of the message in `text`; None if there is no message, or more than one."""
    messages = head_messages(text)
    return messages[0].value if len(messages) == 1 else None


def _reader(text: bytes, message: Any) -> StreamReader:
    """Return a reader for an event whose dialect is unknown."""
    if not _has_standard_data(message):
        return StreamReader(Detector().feed(text + _END) or _OLD, limits=_LIMITS)
    reader = StreamReader("standard", limits=_LIMITS)
    reader.frames.errors_for_users = (
        False  # many a server has such an event: it is not sure that its texts are safe
    )
    return reader


@cache
def _required_fields(kind: str) -> frozenset[str]:
    """Return the fields that the data of a standard event must have."""
    fields = msgspec.structs.fields(EVENT_TYPES[kind])
    return frozenset(field.name for field in fields if field.required)


def _has_standard_data(message: Any) -> bool:
    """Return whether a message is a standard event without its metadata."""
    match message:
        case {"type": str(kind), "data": dict(data), **rest} if not rest and kind in EVENT_TYPES:
            fields = data.keys()
            return _required_fields(kind) <= fields <= set(WIRE_FIELDS[EVENT_TYPES[kind]])
    return False


def _read(reader: StreamReader, text: bytes) -> Iterator[Event]:
    """Yield the events of `text`, and text that the decoder has held back; end events are left out."""
    try:
        yield from events_of(reader.feed(text + _END))
    except ProtocolError:
        yield from reader.reject()
    yield from events_of(reader.frames.release())
    yield from _kept_back(reader)


def _kept_back(reader: StreamReader) -> Iterator[Event]:
    """Yield the text that the decoder has held back; stop if the decoder raises."""
    try:
        for left in reader.conclude():
            if isinstance(left, Content | Thinking):
                yield left
    except Exception as error:
        reader.frames.unreadable.log_fault(error, reader.dialect)


def _stamp_of(message: Any) -> dict[str, Any]:
    """Return the request id, the sequence and the time of an event, from its fields or its metadata."""
    stamp: dict[str, Any] = {}
    given = message if isinstance(message, dict) else {}
    metadata = given.get("metadata")
    for place in (metadata if isinstance(metadata, dict) else {}, given):
        if isinstance(place.get("request_id"), str):
            stamp["request_id"] = place["request_id"]
        if isinstance(place.get("sequence"), int) and not isinstance(place["sequence"], bool):
            stamp["sequence"] = place["sequence"]
        for name in _TIMES:
            if (time := _milliseconds(place.get(name))) is not None:
                stamp["timestamp"] = time
                break
    return stamp


def _milliseconds(value: Any) -> int | None:
    """Return a time in Unix milliseconds: a number (seconds or milliseconds, by its size) or an ISO 8601
    text; None for others.
    """
    if isinstance(value, str):
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return None
        return round((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < _LAST_MILLISECOND:
        return None
    return round(value if value >= _FIRST_MILLISECOND else value * 1000)


def _wire(event: Event, stamp: Mapping[str, Any]) -> dict[str, Any]:
    data = wire_data(event)
    if isinstance(event, SessionEnd):
        data.setdefault("reason", REASON_OF_STATUS[event.status])
    return {"type": event.type, "data": data, "metadata": {**stamp, **wire_metadata(event)}}
