"""From the bytes of an upstream to events: detection, framing, decoder, templates."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from streamweir.codec.base import MAX_EVENTS_OF_A_FRAME, NO_OPTIONS, Decoder, Options
from streamweir.codec.detector import Detector
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.codec.error_only_body import (
    ErrorOnlyBody,
    error_event_of,
    error_only_body,
    first_message,
)
from streamweir.codec.message_template import MessageTemplates
from streamweir.codec.process_token import TOKEN_PREFIX
from streamweir.codec.registry import process_dialects
from streamweir.errors import (
    ConfigurationError,
    ErrorInfo,
    LimitExceeded,
    NotTheDialect,
    error_info,
)
from streamweir.events import Content, Data, Error, Event, SessionEnd, ToolCallEnd, Warning
from streamweir.framing import Frame, SniffingParser
from streamweir.options.limits import Limits
from streamweir.translation.answer_headers import AnswerHeaders, found_in
from streamweir.translation.expected_texts import ExpectedTexts
from streamweir.translation.items import SafeEvent, StreamItem, TextRun
from streamweir.translation.marked_event import event_in, whole_event
from streamweir.translation.provenance import Provenance
from streamweir.translation.report import (
    invalid_text_warning,
)
from streamweir.translation.surroundings import Surroundings
from streamweir.translation.understanding import Understanding
from streamweir.translation.unreadable import Unreadable

__all__ = ["EndOfBody", "StreamReader"]

logger = logging.getLogger("streamweir")

EndOfBody: TypeAlias = Literal["truncated", "complete"]
"""What it means that a body ends cleanly without the end of its dialect."""
_ENDS_OF_BODY: Final = get_args(EndOfBody)

_OF_FAILURES: Final = frozenset({Error, Warning, ToolCallEnd})
"""The events that may hold an upstream's text about a failure."""


class StreamReader:
    """Reads one stream: `feed` it what arrives, `close` it where the body ends, and take what each gives.

    Nothing is known here of who reads the events, and nothing is repaired: that is the pipeline's part.

    Args:
        speaks: the dialect of the upstream; `auto` finds it out from the first events.
        dialects: in which its name is looked up, or it is found; those of the process if not given.
        options: by dialect, what it lets one choose when reading it; checked.
        limits: bounds of an event and of the number of malformed ones are kept here.
        raw: add `metadata.source` to the events.
        eof: what a clean end of the body means that the dialect does not take for one.

    Attributes:
        dialect: what is read; None while that is to be found out.
        started: an event has come.
        limits: bounds of the stream.
        takes_marked: know the events that this process puts into the stream as text (`marked_event`).
        errors_for_users: the texts of failures are written for users, where an event does not say it itself.
        has_ended: final evidence of the end was given, and the rest of the body is not read here.
        around: a read that has this around its text says that text and nothing else, and need not be read
            here; None while that is not known.

    Raises:
        UnknownDialectError: nobody reads `speaks`.
        ConfigurationError: `eof` is none of these.
    """

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
        self.dialect: Dialect | None = None
        self.started = False
        self.has_ended = False
        self.takes_marked = False
        self._dialects = process_dialects() if dialects is None else dialects
        self._options = options
        self.limits = limits or Limits()
        self._unreadable = Unreadable(self.limits.malformed_events)
        self._raw = raw
        self._headers: AnswerHeaders = ()
        self._eof = eof
        self.errors_for_users = False
        self._has_reported_text = False
        self._understanding = Understanding()
        self._provenance: Provenance | None = None
        self._has_messages = False
        self._text_frame: Frame | None = None
        """That of the text which was read last by itself."""
        self.around: Surroundings | None = None
        self._expected = ExpectedTexts()
        self._lone: ErrorOnlyBody | None = None
        self._decoder: Decoder | None = None
        """The decoder's, if it looks into texts."""
        self._detector: Detector | None = None
        if speaks == "auto":
            self._detector = Detector(self.limits.event_bytes, self._dialects)
            self._parser = SniffingParser(self.limits.event_bytes)
            self._templates = MessageTemplates(None)
        else:
            self._read_as(self._dialects.to_read(speaks))

    # What has come

    @property
    def complete(self) -> bool:
        """There is soft evidence of a proper end: silence from here on is no failure."""
        return self.has_ended or (self._decoder is not None and self._decoder.complete)

    @property
    def cut_off(self) -> bool:
        """The body ended within an event, or a line of one."""
        return self._unreadable.half_a_frame is not None or self._parser.cut_off

    @property
    def has_understood(self) -> bool:
        """A rule of the dialect has known a message other than the end."""
        return self._understanding.has_any

    @property
    def unknown(self) -> int:
        """How many events no rule of the dialect knew."""
        return self._understanding.unknown

    @property
    def shown_form(self) -> Options:
        """The options by which an encoder of the dialect writes what the stream looks like so far."""
        return NO_OPTIONS if self._decoder is None else self._decoder.shown_form

    @property
    def malformed(self) -> int:
        """How many events could not be read."""
        return self._unreadable.malformed

    @property
    def faults(self) -> int:
        """How often the decoder has raised what it should not have."""
        return self._unreadable.faults

    @property
    def held_back(self) -> int:
        """So many events wait to be seen as a failure, or as the beginning of a stream."""
        return 0 if self._lone is None else max(1, len(self._lone.events))

    @property
    def is_document(self) -> bool:
        """The body is one JSON document, read where it ends."""
        return self._parser.is_document

    @property
    def speaks_standard(self) -> bool:
        """What is read is the standard protocol."""
        return self.dialect is not None and self.dialect.name == "standard"

    @property
    def has_text(self) -> bool:
        """Anything but blanks and marked events has come."""
        return (
            self._has_messages
            or not self._parser.blank
            or bool(self._detector and self._detector.head.strip())
        )

    @property
    def missing(self) -> ErrorInfo:
        """Why a body without terminal evidence is no answer: it broke off, or it is something else."""
        half = self._unreadable.half_a_frame
        nothing_came = self._parser.blank and (self._detector is None or self._detector.blank)
        is_foreign = self._unreadable.malformed or not self._parser.recognised or not _may_be_json(half)
        if not self.started and not nothing_came and is_foreign:
            return error_info("UPSTREAM_INVALID_RESPONSE")
        return error_info("UPSTREAM_TRUNCATED")

    # What comes

    def hand_over(self, given: Mapping[str, str]) -> None:
        """Give the decoder what the request knows that its answer does not say; before the first byte.

        A request that was written for a dialect is answered in it, so there is a decoder by now.
        """
        if self._decoder is not None:
            self._decoder.given = given

    def note_headers(self, headers: AnswerHeaders) -> None:
        """Take from the headers of the answer what the decoder looks for in them; before the first byte."""
        self._headers = headers
        if self._decoder is not None and self._decoder.given_in:
            found = found_in(headers, self._decoder.given_in)
            self._decoder.given = {**self._decoder.given, **found}

    def feed(self, data: bytes) -> Iterator[StreamItem]:
        """Yield what `data` completes; to be taken before the next call.

        Raises:
            LimitExceeded: an event is larger than allowed; all before it have been given.
            NotTheDialect: this is nobody's stream, or not that of the dialect.
        """
        if self.takes_marked and TOKEN_PREFIX in data and (event := whole_event(data)) is not None:
            yield from self.release()
            yield SafeEvent(event)
            return
        self.around = None
        if self._detector is not None:
            data = self._detect(self._detector, data)
        if self._decoder is None:
            return
        decoder, templates = self._decoder, self._templates
        template = templates.form
        accepts_text = decoder.accepts_text if decoder.judges_texts else None
        texts: list[str] = []
        try:
            for frame in (self._parser.chosen or self._parser).feed(data):
                text = None if template is None else template.text_of(frame)
                if text is not None and (accepts_text is None or accepts_text(text)):
                    texts.append(text)
                    continue
                if texts and template is not None:
                    yield TextRun(template.event, texts)
                    texts = []
                for item in self._read(frame):  # noqa: UP028 (faster than to delegate)
                    yield item
                template = templates.form
                accepts_text = decoder.accepts_text if decoder.judges_texts else None
        except Exception:  # what came before it is given all the same
            if texts and template is not None:
                yield TextRun(template.event, texts)
            raise
        if texts and template is not None:
            yield TextRun(template.event, texts)
            if len(texts) == 1 and accepts_text is None and self._expected.may_follow(template):
                self.around = self._expected.after(template, data, self._parser)

    def whole_marked(self, data: bytes) -> list[StreamItem] | None:
        """Return the marked event that `data` is, and what was held back before it; None if it is none."""
        event = whole_event(data)
        return None if event is None else [*self.release(), SafeEvent(event)]

    def detect(self, data: bytes) -> bytes:
        """Return what there is to read of `data` and all before it: nothing until the dialect is known.

        Raises:
            NotTheDialect: this is nobody's stream.
        """
        return data if self._detector is None else self._detect(self._detector, data)

    def decide_framing(self, head: bytes) -> str | None:
        """Return what the body that begins with `head` is framed as; None: that is open."""
        return self._parser.decide(head)

    def read_block(self, data: bytes) -> TextRun | list[StreamItem]:
        """Return what a piece of the body says that holds the end of one frame at most.

        A run is one text of the form that is in force. Raises what `feed` does.
        """
        assert self._decoder is not None
        frames = [*(self._parser.chosen or self._parser).feed(data)]
        template = self._templates.form
        if template is not None and len(frames) == 1:
            text = template.text_of(frames[0])
            if text is not None and self._decoder.accepts_text(text):
                self._text_frame = frames[0]
                return TextRun(template.event, [text])
        return [item for frame in frames for item in self._read(frame)]

    def surroundings_in(self, block: bytes) -> Surroundings | None:
        """Return what stands around the text that was read last, whose block this is, for `read_texts`."""
        form, frame = self._templates.form, self._text_frame
        return None if form is None or frame is None else Surroundings.of(form, frame, block)

    def read_texts(self, data: bytes, around: Surroundings) -> list[str] | None:
        """Return what `data` says, if it is nothing but such blocks, and their form is the one in force.

        None for anything else, of which no note was taken.
        """
        decoder, form = self._decoder, self._templates.form
        if decoder is None or around.form is not form or len(data) > self.limits.event_bytes:
            return None
        texts = around.texts_in(data)
        if texts is None or (decoder.judges_texts and not all(map(decoder.accepts_text, texts))):
            return None
        return texts

    def read_message(self, data: bytes) -> Iterator[StreamItem]:
        """Yield what one whole message says, which came in another way than as a piece of a body.

        Raises what `feed` does.
        """
        if self._detector is not None:
            yield from self.feed(b"data: %b\n\n" % data)
            return
        if len(data) > self.limits.event_bytes:
            raise LimitExceeded("an event is larger than allowed")
        self._has_messages = True
        self.around = None
        yield from self._read(Frame(data))

    def close(self) -> Iterator[StreamItem]:
        """Yield what the end of the body completes. Raises what `feed` does."""
        if self._detector is not None and not self._detector.blank:
            name = self._detector.finish()
            if name is None and (failure := error_only_body(bytes(self._detector.head))):
                yield error_event_of(failure)
                return
            yield from self.feed(self._settle(name))
        for frame in self._parser.finish():
            yield from self._read(frame)
        if self._lone is not None:
            yield error_event_of(self._lone.failure)

    def conclude(self) -> Iterator[Event]:
        """Yield what the dialect says behind the last event: an end, if it may end here."""
        has_ended = False
        for event in self._decoder.close() if self._decoder is not None else ():
            if isinstance(event, SessionEnd):
                has_ended = True
                yield from self._understanding.unconfirmed(event)
            yield self._attributed(event)
        if self._eof == "complete" and self.started and not has_ended:
            end = SessionEnd()
            yield from self._understanding.unconfirmed(end)
            yield end

    def release(self) -> Iterator[Event]:
        """Yield what was held back of a body that may have been nothing but a failure: something follows."""
        lone, self._lone = self._lone, None
        if lone is None:
            return
        self._understanding.note(lone.events)
        for event in lone.events:
            self.started = True
            yield event if self._provenance is None else self._provenance.with_source(event, lone.frame)

    def reject(self) -> Iterator[Event]:
        """Yield what becomes of something that came in another way than as bytes, and is no event."""
        return self._unreadable.note(Frame(b""))

    def closing_warnings(self) -> Sequence[Warning]:
        """Return what is to be reported when the stream ends."""
        return self._unreadable.closing_warnings()

    # The dialect

    def _read_as(self, dialect: Dialect) -> None:
        """Settle the dialect, and with it what depends on it."""
        self.dialect = dialect
        self._decoder = decoder = dialect.make_decoder(self._options.get(dialect.name, NO_OPTIONS))
        decoder.room = self.limits.event_bytes
        if self._headers:
            self.note_headers(self._headers)
        self.errors_for_users = decoder.errors_for_users
        if self._raw:
            self._provenance = Provenance(dialect.name)
        self._parser = SniffingParser(self.limits.event_bytes, decoder.framing, in_a_row=decoder.in_a_row)
        self._templates = MessageTemplates(None if self._raw else decoder.text_fields)

    def _detect(self, detector: Detector, data: bytes) -> bytes:
        """Return what there is to read: nothing until the dialect is known."""
        name = detector.feed(data)
        if name is None and not detector.exhausted:
            return b""
        return self._settle(name or detector.finish())

    def _settle(self, name: str | None) -> bytes:
        """The dialect is known: return what was held back to find it out."""
        assert self._detector is not None
        if name is None:
            raise NotTheDialect("no dialect claims this body")
        head = bytes(self._detector.head)
        self._detector = None
        self._read_as(self._dialects.to_read(name))
        return head

    # Frames

    def _read(self, frame: Frame) -> list[StreamItem]:
        """Return what a frame means: a list, for a generator within another costs as much as an event."""
        if self.takes_marked and (marked := event_in(frame.data)) is not None:
            before = self._unreadable.note(frame) if marked.before else ()
            return [*before, *self.release(), SafeEvent(marked.event)]
        assert self._decoder is not None
        events: list[Event] = []
        is_whole = True
        try:
            decoded = self._decoder.decode(frame)
            for event in decoded if self.started else self._first(frame, decoded):
                if len(events) >= MAX_EVENTS_OF_A_FRAME:
                    _refuse_more_events()
                events.append(event)
        except (LimitExceeded, NotTheDialect):
            raise
        except Exception as error:
            self._unreadable.log_fault(error, self.dialect)
            is_whole = False
        first = type(events[0]) if len(events) == 1 else None
        is_plain = self.started and not self._raw and (first is Content or not self._regards_events)
        items: list[StreamItem] = [*events] if is_plain else self._given(events, frame)
        if not is_whole:
            items += self._unreadable.note(frame)
            events = []
        understanding = self._understanding
        if events and (type(events[0]) is Data or not understanding.has_any):
            understanding.note(events)
        self._templates.note(frame, events[0] if len(events) == 1 else None)
        if frame.invalid_text and not self._has_reported_text:
            self._has_reported_text = True
            items.append(invalid_text_warning())
        frame.forget_value()
        return items

    @property
    def _regards_events(self) -> bool:
        """Failures are for users, or an end may be worth nothing: other events than texts are looked at."""
        return self.errors_for_users or self._understanding.unknown > 0

    def _given(self, events: Sequence[Event], frame: Frame) -> list[StreamItem]:
        """Return the events of a frame with what belongs to them, and what was held back before them."""
        items: list[StreamItem] = []
        if events and not self.started:
            self.started = True
            if self._lone is not None:
                items += self.release()
        shown = self._provenance
        if shown is not None and not shown.may_show(events):
            shown = None
        for event in events:
            if type(event) is SessionEnd:
                items += self._understanding.unconfirmed(event)
            given = self._attributed(event) if self.errors_for_users else event
            items.append(given if shown is None else shown.with_source(given, frame))
        return items

    def _attributed(self, event: Event) -> Event:
        """Say whom the texts of a failure were written for, where the event itself does not."""
        if type(event) not in _OF_FAILURES or not self.errors_for_users:
            return event
        assert isinstance(event, Error | Warning | ToolCallEnd)
        if event.for_users is None:
            return msgspec.structs.replace(event, for_users=True)
        return event

    # A body that may be nothing but a failure

    def _first(self, frame: Frame, decoded: Iterable[Event]) -> Iterable[Event]:
        """Return what may leave of the first message; a failure that is no event waits for the next one."""
        if self._lone:
            return decoded
        first = first_message(frame, decoded, room=self.limits.event_bytes)
        if not isinstance(first, ErrorOnlyBody):
            return first
        self._lone = first
        return ()


def _refuse_more_events() -> None:
    raise LimitExceeded("one message is more events than allowed")


def _may_be_json(half: bytes | None) -> bool:
    """Is this half of a frame one that only broke off?"""
    return not half or half.startswith((b"{", b"["))
