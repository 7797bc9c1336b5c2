"""Reads the bytes of an upstream as events: detection, framing, decoder, templates."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias, get_args

from streamweir.codec.base import NO_EXTRA, NO_OPTIONS, Decoder, Options
from streamweir.codec.detector import Detector
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.error_only_body import error_only_body
from streamweir.codec.message_template import CountingTemplate
from streamweir.codec.registry import process_dialects
from streamweir.errors import (
    ConfigurationError,
    ErrorInfo,
    LimitExceeded,
    MalformedEvent,
    NotTheDialect,
    error_info,
)
from streamweir.events import Event, SessionEnd, Warning
from streamweir.framing import Frame, SniffingParser
from streamweir.options.limits import Limits
from streamweir.translation.items import FrameItems, SafeEvent
from streamweir.translation.reading.answer_headers import AnswerHeaders, found_in
from streamweir.translation.reading.body_reader import BodyReader
from streamweir.translation.reading.first_output import FirstOutput
from streamweir.translation.reading.frame_reader import FrameReader
from streamweir.translation.reading.marked_event import MARKED_STARTS, whole_event
from streamweir.translation.report import silence_warning

__all__ = ["EndOfBody", "StreamReader"]

EndOfBody: TypeAlias = Literal["truncated", "complete"]
"""The meaning of a body that ends properly without the end of its dialect."""
_ENDS_OF_BODY: Final = get_args(EndOfBody)


class StreamReader:
    """Reads one stream: call `feed` for each read and `close` at the end of the body.

    The events are not repaired and not adapted to a client: the pipeline and the writers do that.

    Args:
        speaks: the dialect of the upstream; `auto` detects it from the first messages.
        dialects: the set in which `speaks` is looked up or detected; None: that of the process.
        options: the checked options for reading, by dialect.
        limits: the limits of the stream; those of events and of malformed events are enforced here.
        raw: add `metadata.source` to the events.
        eof: the meaning of a body that ends properly without the end of its dialect.

    Attributes:
        dialect: the dialect of the upstream; None before it is detected.
        limits: the limits of the stream.
        frames: reads the frames, one by one.
        body: cuts the body into frames.
        keeps_frames: the bytes of frames are kept, if dialect and framing are those of `keep_frames`.

    Raises:
        UnknownDialectError: there is no dialect `speaks`, or it has no decoder.
        ConfigurationError: `eof` is unknown.
    """

    dialect: Dialect | None = None
    keeps_frames = False
    _detector: Detector | None = None
    _has_messages = False
    _headers: AnswerHeaders = ()
    _request_id = ""
    _raw_of: Dialect | None = None
    _raw_in: Collection[str] = ()

    def __init__(
        self,
        speaks: str | Dialect = "auto",
        dialects: Dialects | None = None,
        options: Mapping[str, Options] = NO_OPTIONS,
        limits: Limits | None = None,
        raw: bool = False,
        eof: EndOfBody = "truncated",
    ) -> None:
        if eof not in _ENDS_OF_BODY:
            raise ConfigurationError(f"eof cannot be {eof!r} (one of: {', '.join(_ENDS_OF_BODY)})")
        self.limits = limits or Limits()
        self.frames = FrameReader(self.limits, raw)
        self.body = BodyReader(self.frames, self.limits.event_bytes)
        self._dialects = process_dialects() if dialects is None else dialects
        self._options = options
        self._eof = eof
        if speaks == "auto":
            self._detector = Detector(self.limits.event_bytes, self._dialects)
            self.body.parser = SniffingParser(self.limits.event_bytes)
        else:
            self._read_as(self._dialects.to_read(speaks))

    # What has come

    @property
    def started(self) -> bool:
        """Whether an event has been read."""
        return self.frames.started

    @property
    def first_output(self) -> FirstOutput | None:
        """The first output that has been read; None before. Its text runs come after it."""
        return self.frames.first_output

    @property
    def complete(self) -> bool:
        """Whether there is soft evidence of a proper end, so silence is no failure."""
        decoder = self.frames.decoder
        return self.body.has_ended or (decoder is not None and decoder.complete)

    @property
    def pauses(self) -> bool | None:
        """The decoder's `pauses`: whether a person is asked; None if the decoder does not say."""
        decoder = self.frames.decoder
        return False if decoder is None or self.body.has_ended else decoder.pauses

    @property
    def cut_off(self) -> bool:
        """Whether the body ended within an event, or a line of one."""
        return self.frames.unreadable.half_a_frame is not None or self.body.parser.cut_off

    @property
    def has_understood(self) -> bool:
        """Whether the decoder understood a message other than the end."""
        return self.frames.stats.has_any

    @property
    def unknown(self) -> int:
        """The number of messages that the decoder did not know."""
        return self.frames.stats.unknown

    @property
    def tokens(self) -> Mapping[str, Any]:
        """The decoder's `reported_tokens`: the counts that the upstream has sent. Read it after the end."""
        decoder = self.frames.decoder
        if decoder is None:
            return NO_EXTRA
        template = self.frames.templates.current
        if type(template) is CountingTemplate and template.latest:
            with suppress(MalformedEvent):
                for _ in decoder.decode(Frame(template.latest)):
                    pass  # only its counts are new
        return decoder.reported_tokens

    @property
    def shown_form(self) -> Options:
        """The encoder options with which written frames look like the frames read until now."""
        decoder = self.frames.decoder
        return NO_OPTIONS if decoder is None else decoder.shown_form

    @property
    def malformed(self) -> int:
        """The number of frames that could not be read."""
        return self.frames.unreadable.malformed

    @property
    def faults(self) -> int:
        """The number of exceptions other than `MalformedEvent` that the decoder has raised."""
        return self.frames.unreadable.faults

    @property
    def is_document(self) -> bool:
        """Whether the body is one JSON document, which is read at its end."""
        return self.body.parser.is_document

    @property
    def speaks_standard(self) -> bool:
        """Whether the upstream speaks the standard protocol."""
        return self.dialect is not None and self.dialect.name == "standard"

    @property
    def has_text(self) -> bool:
        """Whether bytes other than blank ones and marked events have arrived."""
        return (
            self._has_messages
            or not self.body.parser.blank
            or bool(self._detector and self._detector.head.strip())
        )

    @property
    def missing(self) -> ErrorInfo:
        """The error for a body without evidence of its end: it broke off, or it is in another dialect."""
        half = self.frames.unreadable.half_a_frame
        parser = self.body.parser
        nothing_came = parser.blank and (self._detector is None or self._detector.blank)
        is_foreign = self.frames.unreadable.malformed or not parser.recognised or not _may_be_json(half)
        if not self.started and not nothing_came and is_foreign:
            return error_info("UPSTREAM_INVALID_RESPONSE")
        return error_info("UPSTREAM_TRUNCATED")

    # What comes

    def hand_over(self, given: Mapping[str, str]) -> None:
        """Give the decoder facts from the request that the answer lacks; call it before the first byte.

        The decoder exists by now: a request that was written for a dialect is answered in that dialect.
        """
        if self.frames.decoder is not None:
            self.frames.decoder.given = given

    def name_stream(self, request_id: str) -> None:
        """Give the decoder the request id of the stream; call it before the first byte."""
        self._request_id = request_id
        if self.frames.decoder is not None:
            self.frames.decoder.request_id = request_id

    def note_headers(self, headers: AnswerHeaders) -> None:
        """Give the decoder the answer's headers that `given_in` names; call it before the first byte."""
        self._headers = headers
        decoder = self.frames.decoder
        if decoder is not None and decoder.given_in:
            decoder.given = {**decoder.given, **found_in(headers, decoder.given_in)}

    def keep_frames(self, framings: Collection[str], of: Dialect | None = None, shares: bool = False) -> None:
        """Keep the bytes of each frame (`Frame.raw`). To be called before the first byte.

        Args:
            framings: the framings whose frames are kept.
            of: the dialect whose frames are kept; None: any.
            shares: plain blocks directly behind texts may share the frame of these texts.
        """
        self.keeps_frames = True
        self.frames.shares_frames = shares
        self._raw_of, self._raw_in = of, framings
        if self.dialect is None or self.frames.decoder is None:
            return
        if self.body.parser.chosen is None:
            self.body.parser.raw_in = framings if of in (None, self.dialect) else ()
        else:
            self._open_parser(self.dialect, self.frames.decoder)

    def feed(self, data: bytes) -> Iterable[FrameItems]:
        """Return the frames that `data` completes, with their items. To be iterated before the next call.

        Raises:
            LimitExceeded: in the iteration: an event is larger than allowed, after all before it.
            NotTheDialect: in the iteration: the stream is of no dialect, or not of this one.
        """
        frames = self.frames
        if frames.takes_marked and data.startswith(MARKED_STARTS) and (event := whole_event(data)):
            return [*frames.release(), ([SafeEvent(event)], None)]
        if self._detector is not None:
            return self._read_detected(data)
        return self.body.read(data)

    def _read_detected(self, data: bytes) -> Iterator[FrameItems]:
        data = self.detect(data)
        if self.frames.decoder is not None:
            yield from self.body.read(data)

    def detect(self, data: bytes) -> bytes:
        """Return the bytes to read: empty until the dialect is known, then all bytes since the beginning.

        Raises:
            NotTheDialect: the stream is of no dialect.
        """
        detector = self._detector
        if detector is None:
            return data
        name = detector.feed(data)
        if name is None and not detector.exhausted:
            return b""
        return self._detected(detector, name or detector.finish())

    def read_message(self, data: bytes) -> Iterator[FrameItems]:
        """Yield the items of one whole message that did not arrive in the bytes of a body.

        Raises: see `feed`.
        """
        if self._detector is not None:
            yield from self.feed(b"data: %b\n\n" % data)
            return
        if len(data) > self.limits.event_bytes:
            raise LimitExceeded("an event is larger than allowed")
        self._has_messages = True
        self.body.around = None
        yield from self.frames.read(Frame(data))

    def close(self) -> Iterable[FrameItems]:
        """Return the frames that the end of the body completes. Raises: see `feed`."""
        body = self.body
        has_rest = self._detector is not None or body.unread or self.frames.held is not None
        if not has_rest and body.parser.is_at_boundary:
            return ()  # nearly all bodies end with a whole frame
        return self._read_rest()

    def _read_rest(self) -> Iterator[FrameItems]:
        detector = self._detector
        if detector is not None and not detector.blank:
            name = detector.finish()
            if name is None and (failure := error_only_body(bytes(detector.head))):
                yield self.frames.failure_event(failure), None
                return
            yield from self.feed(self._detected(detector, name))
        yield from self.body.finish()
        yield from self.frames.error_only_events()

    def conclude(self) -> Iterable[Event]:
        """Return the last events of the decoder, and an end if the dialect may end here. Raises the decoder's
        errors, also in the iteration.
        """
        words = self.frames.last_words()
        return words if self._eof == "truncated" else self._with_end(words)

    def _with_end(self, words: Iterable[Event]) -> Iterator[Event]:
        has_ended = False
        for event in words:
            has_ended = has_ended or type(event) is SessionEnd
            yield event
        if self.started and not has_ended:
            end = SessionEnd()
            self.frames.note_output((end,))
            yield end

    def reject(self) -> Iterator[Event]:
        """Count a malformed message that did not arrive as bytes; yield the warning or the error about it."""
        return self.frames.unreadable.note(Frame(b""))

    def closing_warnings(self) -> Sequence[Warning]:
        """Return the warnings that are sent at the end of the stream."""
        return self.frames.unreadable.closing_warnings()

    def silence_warning(self) -> Warning | None:
        """Return the warning about a stream that ends well without an answer.

        None if no bytes were read: the application pushes events, and may have had no events to push.
        """
        return silence_warning(self.unknown) if self.has_text else None

    # The dialect

    def _read_as(self, dialect: Dialect) -> None:
        """Set the dialect, its decoder and the parser of its framing."""
        self.dialect = dialect
        decoder = dialect.make_decoder(self._options.get(dialect.name, NO_OPTIONS))
        decoder.room = self.limits.event_bytes
        decoder.request_id = self._request_id
        self.frames.read_as(dialect, decoder)
        if self._headers:
            self.note_headers(self._headers)
        self._open_parser(dialect, decoder)
        fields = decoder.text_fields
        if fields is not None and fields.usual is not None:
            self.body.usual = fields

    def _open_parser(self, dialect: Dialect, decoder: Decoder) -> None:
        raw_in = self._raw_in if self._raw_of in (None, dialect) else ()
        self.body.parser = SniffingParser(self.limits.event_bytes, decoder.framing, decoder.in_a_row, raw_in)

    def _detected(self, detector: Detector, name: str | None) -> bytes:
        """Set the detected dialect; return the bytes that were held back."""
        if name is None:
            raise NotTheDialect("no dialect claims this body")
        self._detector = None
        self._read_as(self._dialects.to_read(name))
        return bytes(detector.head)


def _may_be_json(half: bytes | None) -> bool:
    """Return whether the unfinished frame may be the beginning of JSON."""
    return not half or half.startswith((b"{", b"["))
