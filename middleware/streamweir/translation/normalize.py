"""One event at a time, without a stream around it.

Source: the library contract, section 4. Nothing is remembered from one call to the next: no lifecycle, no
sequence, no pairing of tool calls, no comparison of texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from streamweir.codec.base import NO_OPTIONS, Decoder
from streamweir.codec.detector import Detector
from streamweir.codec.registry import make_decoder
from streamweir.codec.standard_events import is_standard
from streamweir.errors import MalformedEvent, ProtocolError
from streamweir.events import (
    EVENT_TYPES,
    WIRE_FIELDS,
    Content,
    Event,
    SessionEnd,
    Thinking,
    Warning,
    wire_data,
)
from streamweir.framing import Frame, SniffingParser
from streamweir.jsontext import parse_json, write_json
from streamweir.stages import ErrorSanitizer, passed_on

__all__ = ["normalize_stream_event", "parse_stream_line"]

_OLD: Final = "legacy"
"""The dialect of an event that none claims for sure: it reads the standard's own shape as well."""

_BOM: Final = b"\xef\xbb\xbf"
_EVENT_BYTES: Final = 256 << 20
_REQUIRED: Final = {
    name: {field.name for field in msgspec.structs.fields(cls) if field.required}
    for name, cls in EVENT_TYPES.items()
}
_REASONS: Final = {
    "completed": "done",
    "suspended": "interaction",
    "cancelled": "cancelled",
    "error": "upstream_error",
}


def normalize_stream_event(
    event: Mapping[str, Any] | str | bytes, *, speaks: str = "auto"
) -> list[dict[str, Any]]:
    """Return the standard events that one event means, with the metadata that it carries.

    Args:
        event: the message as a dict, or as it stands on the wire: one line, or one SSE block.
        speaks: its dialect; `auto` finds it out.

    Returns:
        An empty list for what says nothing (a ping, `[DONE]`, a blank line). A standard event comes back
        equal, an unknown one as `data` / `custom`, one that cannot be read as a `warning`.

    Raises:
        UnknownDialectError: nobody reads `speaks`.
    """
    text = write_json(event) if isinstance(event, Mapping) else _bytes_of(event)
    frames = _frames(text)
    if speaks in ("auto", "standard", _OLD) and len(frames) == 1 and (same := _standard(frames[0])):
        return [same]
    name, is_sure = _dialect_of(text, frames) if speaks == "auto" else (speaks, True)
    decoder = make_decoder(name, NO_OPTIONS)
    safety = ErrorSanitizer(errors_for_users=is_sure and decoder.errors_for_users, debug=False)
    return [_message(safe) for item in _decoded(decoder, frames) for safe in passed_on(safety, item)]


def parse_stream_line(line: str | bytes) -> dict[str, Any] | None:
    """Return the JSON object of one NDJSON line or one SSE `data:` line.

    None for a blank line, a comment, another SSE field, `[DONE]` and whatever is no JSON object.
    """
    data = _bytes_of(line).strip().removeprefix(_BOM).strip().removeprefix(b"data:").strip()
    if not data.startswith(b"{"):
        return None
    try:
        value = parse_json(data)[0]
    except MalformedEvent:
        return None
    return value if isinstance(value, dict) else None


def _bytes_of(text: str | bytes) -> bytes:
    return text.encode("utf-8", "replace") if isinstance(text, str) else bytes(text)


def _frames(text: bytes) -> list[Frame]:
    parser = SniffingParser(_EVENT_BYTES)
    try:
        return [*parser.feed(text), *parser.finish()]
    except ProtocolError:
        return [Frame(text)]


def _standard(frame: Frame) -> dict[str, Any] | None:
    try:
        message = frame.json()
    except MalformedEvent:
        return None
    return dict(message) if isinstance(message, dict) and is_standard(message) else None


def _dialect_of(text: bytes, frames: Sequence[Frame]) -> tuple[str, bool]:
    """The dialect of an event, and whether it is sure that its texts are what that dialect says they are."""
    if len(frames) == 1 and _has_standard_data(frames[0]):
        return "standard", False
    return Detector().feed(text + b"\n\n") or _OLD, True


def _has_standard_data(frame: Frame) -> bool:
    """Is this a standard event of which only the metadata is missing?"""
    try:
        message = frame.json()
    except MalformedEvent:
        return False
    match message:
        case {"type": str(kind), "data": dict(data), **rest} if not rest and kind in EVENT_TYPES:
            fields = data.keys()
            return _REQUIRED[kind] <= fields <= set(WIRE_FIELDS[EVENT_TYPES[kind]])
    return False


def _decoded(decoder: Decoder, frames: Iterable[Frame]) -> Iterator[Event]:
    for frame in frames:
        try:
            yield from decoder.decode(frame)
        except ProtocolError:
            yield Warning(
                message="An event could not be read.",
                message_code="UPSTREAM_MALFORMED_EVENT",
                for_users=True,
            )
    for left in decoder.close():  # text that the decoder has kept back; an end is not this event's to say
        if isinstance(left, Content | Thinking):
            yield left


def _message(event: Event) -> dict[str, Any]:
    data = wire_data(event)
    if isinstance(event, SessionEnd):
        data.setdefault("reason", _REASONS[event.status])
    return {"type": event.type, "data": data, "metadata": dict(event.meta or {})}
