"""Writes the standard protocol; parts of the envelope are encoded separately."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final

from streamweir.codec.base import Encoder
from streamweir.codec.completion import COMPLETION
from streamweir.codec.decimals import decimal
from streamweir.codec.frame_template import Number
from streamweir.codec.opaque_values import OPAQUE_OPTION
from streamweir.codec.stamped_template import StampedTemplate, StampedThoughts
from streamweir.codec.text_json import text_json
from streamweir.dialects.standard.encode_first_version import in_first_version
from streamweir.events import (
    EVENT_TYPES,
    PROTOCOL_VERSION,
    Content,
    Event,
    Meta,
    SessionEnd,
    SessionStart,
    Stamp,
    Thinking,
    wire_data,
    wire_metadata,
)
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["StandardEncoder"]

_STARTS: Final = {cls: b'{"type":"%b","data":' % name.encode() for name, cls in EVENT_TYPES.items()}
"""For each class of event: the beginning of its JSON."""

_BLOCK: Final = b'id: %b\ndata: %b%b,"metadata":{"request_id":%b,"timestamp":%b,"sequence":%b%b\n\n'
"""The block of an event: sequence, beginning, data, request id, time, sequence, end."""

_COMPLETED: Final = b'{"content":"","is_complete":true}'
"""The data of `COMPLETION`."""
_COMPLETION: Final = (
    b'id: %%b\ndata: %b%b,"metadata":{"request_id":%%b,"timestamp":%%b,"sequence":%%b}}\n\n'
) % (_STARTS[Content], _COMPLETED)
"""The block of `COMPLETION`."""

_SESSION_START: Final = b'{"session_id":%%b,"request_id":%%b,"protocol":%b}' % write_json(PROTOCOL_VERSION)
"""The data of a start that has the ids of the stream."""

_OWN_PLACES: Final = frozenset({"private", "duration_ms"})
"""The metadata that is not written as it is."""

_REMEMBERED: Final = 1024
"""The most bytes of metadata that are remembered."""

_EMPTY_TEXT: Final = b'{"content":""'
_TEXT_BEGIN: Final = b'\ndata: %b{"content":'
_PLAIN_BEGIN: Final = _TEXT_BEGIN % _STARTS[Content]
"""The bytes between the id of a block and its text: of any text, and of a text without other data."""
_BEFORE_TIME: Final = b'%b},"metadata":{"request_id":%b,"timestamp":'
_BEFORE_SEQUENCE: Final = b',"sequence":'
_MARK: Final = "\0id"
"""The text that replaces the id of a message in metadata; it shows the place of the id."""
_WRITTEN_MARK: Final = write_json(_MARK)
"""`_MARK` as JSON."""


class StandardEncoder(Encoder):
    """Writes the standard protocol.

    Options:
        version: `1.0` for clients that know neither `op: replace` nor the words of 1.1. A suspended run is
            then written as completed, data of a kind that 1.0 lacks as `custom`, and `opaque` is left out.
        opaque: `off` leaves `opaque` out for all clients.
    """

    framings = ("sse", "ndjson")
    option_values: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "version": ("1.1", "1.0"),
        **OPAQUE_OPTION,
    }

    @property
    def can_replace(self) -> bool:
        """Whether text can be replaced: clients of 1.0 would append the replacement."""
        return not self.options or self.option("version") != "1.0"

    @property
    def carries_opaque(self) -> bool:
        """Whether opaque values are written: clients of 1.0 do not know them."""
        return not self.options or (super().carries_opaque and self.option("version") != "1.0")

    _is_first_version = False
    _timestamp = -1
    _metadata = b""
    _request_id: str | None = None
    """The request id of the last stamp; `_id_text` is the JSON of this id."""
    _id_text = b""
    _meta: Meta | None = None
    """The metadata of an earlier event; `_end` is the last part of the JSON of events with it."""
    _end = b""
    _template: StampedTemplate | None = None
    """The template of the latest plain text; `_text_meta` is its metadata."""
    _text_meta: Meta | None = None
    _thought: Thinking | None = None
    """The latest event given to `thought_template`; `_thoughts` is its template for `_thought_id`."""
    _thoughts: StampedThoughts | None = None
    _thought_id = b""

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the single frame of `event`. Fields that all events of one read share are encoded once."""
        if stamp.timestamp != self._timestamp:
            self._begin_read(stamp)
        if self._is_first_version:
            event = in_first_version(event)
        sequence = str(stamp.sequence)
        message = (
            _STARTS[type(event)],
            write_json(wire_data(event)),
            self._metadata,
            sequence.encode(),
            self._end_of(event, event.meta) if event.meta else b"}}",
        )
        return (Frame(b"".join(message), None, sequence),)

    def sse_block(self, event: Event, stamp: Stamp) -> bytes | None:
        """Return the SSE block of an event of the current version."""
        if self.options:
            return None
        written_id = self._id_text if stamp.request_id is self._request_id else self._written_id(stamp)
        kind = type(event)
        number, time = decimal(stamp.sequence), decimal(stamp.timestamp)
        if event is COMPLETION:
            return _COMPLETION % (number, written_id, time, number)
        if kind is SessionEnd:
            data = write_json(_end_data(event))  # type: ignore[arg-type]
        elif kind is SessionStart and _is_usual(event, stamp):  # type: ignore[arg-type]
            data = _SESSION_START % (text_json(event.session_id), written_id)  # type: ignore[union-attr,arg-type]
        elif kind is Content:
            data = _COMPLETED if _is_completion(event) else write_json(_content_data(event))  # type: ignore[arg-type]
        else:
            data = write_json(wire_data(event))
        meta = event.meta
        end = b"}}" if not meta else self._end if meta is self._meta else self._end_of(event, meta)
        return _BLOCK % (number, _STARTS[kind], data, written_id, time, number, end)

    def text_template(self, event: Content | Thinking, stamp: Stamp) -> StampedTemplate | None:
        """Return the template of a text. The last one of a text without other data is remembered."""
        if self.options:
            return None
        is_plain = type(event) is Content and event.format is None and event.channel is None
        is_same_id = stamp.request_id is self._request_id
        if is_plain and self._template is not None and is_same_id and event.meta is self._text_meta:
            return self._template
        written_id = self._id_text if is_same_id else self._written_id(stamp)
        end = self._end_of(event, event.meta) + b"\n\n" if event.meta else b"}}\n\n"
        if is_plain:
            before_time = _BEFORE_TIME % (b"", written_id)
            self._template = StampedTemplate(_PLAIN_BEGIN, before_time, _BEFORE_SEQUENCE, end)
            self._text_meta = event.meta
            return self._template
        fields = write_json(wire_data(event.with_text("")))[len(_EMPTY_TEXT) : -1]
        begin = _TEXT_BEGIN % _STARTS[type(event)]
        return StampedTemplate(begin, _BEFORE_TIME % (fields, written_id), _BEFORE_SEQUENCE, end)

    def thought_template(self, event: Thinking, stamp: Stamp) -> StampedThoughts | None:
        """Return the template of a thought: that of a text, with the id in the metadata of the upstream."""
        meta = event.meta
        if self.options or not meta or not _OWN_PLACES.isdisjoint(meta):
            return None
        written_id = self._written_id(stamp)
        if self._thought is event and self._thought_id is written_id:
            return self._thoughts
        metadata = write_json({**meta, "message_id": _MARK})[1:]
        if metadata.count(_WRITTEN_MARK) != 1:
            return None
        before_id, _, end = metadata.partition(_WRITTEN_MARK)
        fields = write_json(wire_data(event.with_text("")))[len(_EMPTY_TEXT) : -1]
        before_time = _BEFORE_TIME % (fields, written_id)
        self._thoughts = StampedThoughts(
            _TEXT_BEGIN % _STARTS[Thinking], before_time, _BEFORE_SEQUENCE, b"," + before_id, end + b"}\n\n"
        )
        self._thought, self._thought_id = event, written_id
        return self._thoughts

    def _begin_read(self, stamp: Stamp) -> None:
        """Encode the fields that are equal in all events of one read."""
        self._timestamp = stamp.timestamp
        self._metadata = b',"metadata":{"request_id":%b,"timestamp":%d,"sequence":' % (
            self._written_id(stamp),
            stamp.timestamp,
        )
        self._is_first_version = bool(self.options) and self.option("version") == "1.0"

    def _written_id(self, stamp: Stamp) -> bytes:
        """Return the JSON of the request id of a stamp."""
        if stamp.request_id is not self._request_id:
            self._request_id, self._id_text = stamp.request_id, text_json(stamp.request_id)
        return self._id_text

    def _end_of(self, event: Event, meta: Meta) -> bytes:
        """Return the last part of an event's JSON, with its metadata. The last small one is remembered,
        because most events of a stream have the same metadata.
        """
        if meta is self._meta:
            return self._end
        is_equal_for_all = True
        if len(meta) == 1 and "message_id" in meta:  # nearly all
            end = b',"message_id":%b}}' % text_json(meta["message_id"])
        else:
            metadata = meta if _OWN_PLACES.isdisjoint(meta) else wire_metadata(event)
            end = b",%b}" % write_json(metadata)[1:] if metadata else b"}}"
            is_equal_for_all = metadata is meta or "duration_ms" not in meta  # its place depends on the event
        if is_equal_for_all and len(end) <= _REMEMBERED:
            self._meta, self._end = meta, end
        return end

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the sequence, which increases, and the timestamp of the read."""
        del event, texts
        return {"sequence": (stamp.sequence, 1), "timestamp": (stamp.timestamp, 0)}


def _is_usual(event: SessionStart, stamp: Stamp) -> bool:
    """Return whether a start has the ids of the stream and the present version."""
    has_ids = event.session_id is not None and event.request_id is stamp.request_id
    return has_ids and event.protocol is PROTOCOL_VERSION


def _is_completion(event: Content) -> bool:
    """Return whether an event is `COMPLETION`, apart from its metadata."""
    is_plain = event.format is None and event.op is None and event.channel is None and event.opaque is None
    return event.is_complete is True and not event.content and is_plain


def _content_data(event: Content) -> dict[str, Any]:
    """Return `wire_data(event)`; faster, because most fields of nearly all texts are absent."""
    data: dict[str, Any] = {"content": event.content}
    if event.format is not None:
        data["format"] = event.format
    if event.is_complete is not None:
        data["is_complete"] = event.is_complete
    if event.op is not None:
        data["op"] = event.op
    if event.channel is not None:
        data["channel"] = event.channel
    if event.opaque is not None:
        data["opaque"] = event.opaque
    return data


def _end_data(event: SessionEnd) -> dict[str, Any]:
    """Return `wire_data(event)`; faster for the usual last event of streams."""
    if event.reason is not None and event.summary is not None:
        return {"status": event.status, "reason": event.reason, "summary": event.summary}
    return wire_data(event)
