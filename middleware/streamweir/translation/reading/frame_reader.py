"""Reads one frame: its events, the warnings about them, and a frame that was held back before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, cast

import msgspec

from streamweir.classification import FailureInBody
from streamweir.codec.base import Decoder
from streamweir.codec.block_forms import BlockForms
from streamweir.codec.current_template import ENDS, NO_FRAME, TEXTS, MessageTemplates
from streamweir.codec.decoded_events import checked_events, decoded_event
from streamweir.codec.dialect import Dialect
from streamweir.codec.error_only_body import ErrorOnlyBody, error_event_of, first_message
from streamweir.codec.frame_growth import GROWTH, append_bounded, largest_frame_of, uncounted_events
from streamweir.codec.message_template import MessageTemplate
from streamweir.codec.turn_collector import TurnCollector
from streamweir.errors import LimitExceeded, NotTheDialect
from streamweir.events import Content, Data, Error, Event, ToolCallEnd, Warning
from streamweir.framing import Frame
from streamweir.options.limits import Limits
from streamweir.translation.items import FrameItems, SafeEvent, StreamItem, TextRun
from streamweir.translation.reading.decode_stats import DecodeStats
from streamweir.translation.reading.empty_frames import EMPTY_BYTES, MIN_EMPTY
from streamweir.translation.reading.first_output import NO_ERROR, FirstOutput, find_output
from streamweir.translation.reading.marked_event import event_in
from streamweir.translation.reading.provenance import Provenance
from streamweir.translation.reading.unreadable import Unreadable
from streamweir.translation.report import invalid_text_warning

__all__ = ["FrameReader"]

_FEW: Final = 4
"""The events of a small frame are taken without counting if there are at most this many."""

_OF_FAILURES: Final = frozenset({Error, Warning, ToolCallEnd})
"""The events that may contain an upstream's text about a failure."""


class FrameReader:
    """Reads the frames of one stream, one by one, once its dialect is known.

    state      entered by                                     a frame
    ────────   ────────────────────────────────────────────   ──────────────────────────────────────────────
    unset      construction: `decoder` is None                cannot be read
    new        `read_as`                                      is returned, also without items
    held       the first message only reports a failure:      without events is kept with the one that is
               `held` is set                                  held back; one with events releases both
    started    the first event: `started` is set for good     is returned with its items

    At the end of the body in the state held, the failure is the only event (`error_only_events`).

    Args:
        limits: the limits of the stream; those of events and of malformed events are enforced here.
        raw: add `metadata.source` to the events.

    Attributes:
        decoder: the decoder of the stream; None before the dialect is known.
        held: the first frame, held back: it reports a failure of unknown kind, and may be the only frame;
            None if no frame is held back.
        templates: the templates of its texts; set with the decoder.
        started: an event has been read.
        first_output: the first output that has been read; None before. Never cleared.
        is_under_way: set by the frame of the first output, unless `raw`; never cleared.
        forms: the forms of blocks that need not be decoded; None if frames have to be read one by one.
        found: the first block of a read, if `has_form` has found its form; cleared by `read_formed`.
        shares_frames: plain blocks directly behind texts may share the frame of these texts.
        empty_left: the bytes that may still be counted for frames that have no meaning.
        takes_marked: read the events that this process puts into the stream as text (`marked_event`).
        errors_for_users: the texts of failures are written for users, unless an event says otherwise.
        unreadable: counts frames that could not be read.
        stats: counts messages that the decoder knew.
    """

    decoder: Decoder | None = None
    held: ErrorOnlyBody | None = None
    started = False
    forms: BlockForms | None = None
    found: re.Match[bytes] | None = None
    errors_for_users = False
    first_output: FirstOutput | None = None
    is_under_way = False
    shares_frames = False
    _makes_runs = True
    """False if a collector gets each frame and, in addition, the texts of text runs, but no whole ones."""
    _is_ours = True
    _most_of_few = -1
    """The most bytes of a frame whose few events need not be counted; set with the dialect."""
    _dialect: Dialect | None = None
    _provenance: Provenance | None = None
    _has_reported_text = False
    _behind_held = b""
    """The bytes of frames without events that arrived after `held`."""

    def __init__(self, limits: Limits, raw: bool) -> None:
        self.takes_marked = False  # read for each event, which takes longer on the class
        self.templates: MessageTemplates
        self._decode: Callable[[Frame], Iterable[Event]]
        self.unreadable = Unreadable(limits.malformed_events)
        self.stats = DecodeStats()
        self._room = limits.event_bytes
        self._most = GROWTH * limits.event_bytes
        self.empty_left = limits.stream_bytes if limits.stream_bytes > MIN_EMPTY else MIN_EMPTY
        self._raw = raw

    def read_as(self, dialect: Dialect, decoder: Decoder) -> None:
        """Set the dialect and its decoder."""
        self._dialect = dialect
        self.decoder = decoder
        self._is_ours = is_ours = dialect.is_ours
        if is_ours:
            self._most_of_few = largest_frame_of(_FEW, self._most)
        self._decode = decoder.decode if is_ours else partial(checked_events, decoder.decode)
        self.errors_for_users = decoder.errors_for_users
        if self._raw:
            self.templates = MessageTemplates(None)
            self._provenance = Provenance(dialect.name)
        else:
            self.templates = MessageTemplates(decoder.text_fields)
            self.forms = decoder.block_forms

    def collect(self, collector: TurnCollector) -> None:
        """Give `collector` each frame before it is decoded; call it after `read_as`."""
        decode = self._decode

        def take_and_decode(frame: Frame) -> Iterable[Event]:
            collector.take(frame)
            return decode(frame)

        self._decode = take_and_decode
        self._makes_runs = self.templates.takes_whole = False
        self.forms = self.templates.thoughts = None

    def read(self, frame: Frame) -> list[FrameItems]:
        """Return a frame with its items, after the frame that was held back, if there is one.

        The list is empty if the frame itself is held back. The method is not a generator, because a nested
        generator costs as much as an event.

        Raises:
            LimitExceeded: the frame has more events than allowed.
            NotTheDialect: the body is not of the dialect.
        """
        read = self.read_event(frame)
        if isinstance(read, list):
            return read
        frame.forget_value()
        return [((read,), frame)]

    def read_event(self, frame: Frame) -> Event | list[FrameItems]:
        """Return the event of a frame of a started stream that is one event, but no text; else see `read`."""
        if self.takes_marked and (marked := event_in(frame.data)) is not None:
            before = [*self.unreadable.note(frame)] if marked.before else []
            return [(before, None), *self.release(), ([SafeEvent(marked.event)], None)]
        events, is_whole = self._decoded(frame)
        if is_whole and not frame.invalid_text:
            if len(events) == 1 and (self.is_under_way or (self.started and not self._raw)):
                if not self.is_under_way:
                    self.note_output(events, frame)
                    self.is_under_way = self.first_output is not None
                return self._read_one(events[0], frame)
            if self.started and not events:
                return self._read_empty(frame)
        return self._read_any(events, frame, is_whole=is_whole)

    def _read_any(self, events: Sequence[Event], frame: Frame, *, is_whole: bool) -> list[FrameItems]:
        """Return a frame with its items; see `read`."""
        frame.is_unreadable = not is_whole
        if is_whole and events:
            self.stats.messages += 1
            if not self.stats.has_any or (type(events[0]) is Data and events[0].unknown):
                self._note_stats(events, frame)
        if not events or (type(events[0]) is Data and events[0].unknown):
            self.count_empty(EMPTY_BYTES)
        only = events[0] if len(events) == 1 else None
        is_plain = not self._raw and (type(only) is Content or not self.errors_for_users)
        read: list[FrameItems] = []
        if events and not self.started:
            self.started = True
            if self.held is not None:
                read += self.release()
        items: list[StreamItem] = [*events] if is_plain else self._attributed(events, frame)
        if not is_whole:
            items += self.unreadable.note(frame)
        self.templates.note_all(frame, events if is_whole else ())
        if frame.invalid_text and not self._has_reported_text:
            self._has_reported_text = True
            items.append(invalid_text_warning())
        if self.first_output is None and events and self.held is None:
            self.first_output = find_output(events, frame, self._dialect)
        frame.forget_value()
        self.is_under_way = self.started and not self._raw and self.first_output is not None
        if only is not None and len(items) == 1 and self.templates.current is not None:
            items = [*(self._as_run(only, frame) or items)]
        if self.started or self.held is None or frame.is_unreadable:
            read.append((items, frame))
        else:
            self.hold(frame)
            if items:  # a warning about the frame, whose bytes are held back
                read.append((items, Frame(b"", raw=None if frame.raw is None else b"", is_gap=True)))
        return read

    def begin_with_texts(self, template: MessageTemplate) -> bool:
        """Note that the body begins with usual texts; return False if they have to be decoded."""
        decoder = self.decoder
        if self._raw or decoder is None or decoder.judges_texts or not decoder.begin_with_text():
            return False
        self.note_texts(template)
        return True

    def note_texts(self, template: MessageTemplate) -> None:
        """Note that a first text was not decoded; `template` is that of the texts after it."""
        self.started = self.stats.has_any = self.is_under_way = True
        self.stats.messages += 1
        if self.first_output is None:
            self.first_output = NO_ERROR
        self.templates.current = template

    def note_blocks(self, read: Sequence[FrameItems], empty: int, template: MessageTemplate | None) -> None:
        """Note blocks that were not decoded: the events `read` from them, and the number of empty messages.

        `template`: that of the texts directly behind; None without texts. There is room for empty messages.
        """
        self.empty_left -= empty * EMPTY_BYTES
        self.templates.note_other(None)
        if template is not None:
            self.note_texts(template)
        stats = self.stats
        stats.messages += len(read)
        self.started = self.started or bool(read)
        for events, _ in () if stats.has_any and self.first_output is not None else read:
            if not stats.has_any:
                self._note_stats(events, NO_FRAME)  # type: ignore[arg-type]
            self.note_output(events)  # type: ignore[arg-type]

    def _read_one(self, event: Event, frame: Frame) -> Event | list[FrameItems]:
        """Return the only event of a frame of a stream that has started, a text with its frame."""
        stats, templates, kind = self.stats, self.templates, type(event)
        stats.messages += 1
        if type(event) is Data and event.unknown:
            stats.note_unknown(frame)
            self.count_empty(EMPTY_BYTES)
        elif not stats.has_any:
            self._note_stats((event,), frame)
        if kind not in TEXTS:
            if templates.is_text or kind in ENDS or not templates.stays:
                templates.note_other(event)
            return self.attributed(event) if self.errors_for_users else event
        templates.note(frame, event)
        frame.forget_value()
        return [(self._as_run(event, frame) or (event,), frame)]

    def _read_empty(self, frame: Frame) -> list[FrameItems]:
        """Return a frame without events of a stream that has started; nothing if its bytes are not kept."""
        self.count_empty(EMPTY_BYTES)
        self.templates.note_other(None)
        frame.forget_value()
        return [] if frame.raw is None else [((), frame)]

    def _as_run(self, event: Event, frame: Frame) -> Sequence[TextRun] | None:
        """Return the only event of a frame as a text run if the template of its texts is known by now.

        The texts that follow then extend the run. None for a frame whose bytes are kept: the line style of
        each frame has to be known.
        """
        template = self.templates.current
        if template is None or template.grows or frame.raw is not None or not self._makes_runs:
            return None
        if type(event) not in TEXTS:
            return None
        return (TextRun(template.event, [cast("Content", event).content]),)

    def count_empty(self, size: int) -> None:
        """Count the bytes of input that takes time to read but has no meaning.

        Raises:
            LimitExceeded: there was too much such input.
        """
        self.empty_left -= size
        if self.empty_left < 0:
            raise LimitExceeded("more messages than allowed mean nothing")

    def hold(self, frame: Frame) -> None:
        """Keep the bytes of a frame without events together with the frame that is held back."""
        if self.held is not None and self.held.frame is not frame:
            self._behind_held += frame.raw or b""

    def last_words(self) -> Iterable[Event]:
        """Return the last events of the decoder. Raises the decoder's errors, also in the iteration."""
        if self.decoder is None:
            return ()
        words = self.decoder.close()
        if self._is_ours and self.first_output is not None and not self.errors_for_users:
            return words
        return map(self._last_word, words if self._is_ours else map(decoded_event, words))

    def _last_word(self, event: Event) -> Event:
        if self.first_output is None:
            self.note_output((event,))
        return self.attributed(event) if self.errors_for_users else event

    def note_output(self, events: Iterable[Event], frame: Frame | None = None) -> None:
        """Note the first output among the events of a frame, if there is any."""
        if self.first_output is None:
            self.first_output = find_output(events, frame, self._dialect)

    def attributed(self, event: Event) -> Event:
        """Return the event; a failure without `for_users` gets the setting of the dialect."""
        if type(event) not in _OF_FAILURES or not self.errors_for_users:
            return event
        assert isinstance(event, Error | Warning | ToolCallEnd)
        if event.for_users is None:
            return msgspec.structs.replace(event, for_users=True)
        return event

    def _decoded(self, frame: Frame) -> tuple[Sequence[Event], bool]:
        """Return the events of a frame, and whether it could be read to its end."""
        events: list[Event] = []
        try:
            decoded = self._decode(frame)
            if not self.started:
                decoded = self._first(frame, decoded)
            size = len(frame.data)
            if type(decoded) is tuple and len(decoded) <= _FEW and size <= self._most_of_few:
                return decoded, True
            few = uncounted_events(size, self._most) if self._is_ours else 0
            append_bounded(events, decoded, few, self._most)
        except (LimitExceeded, NotTheDialect):
            raise
        except Exception as error:
            self.unreadable.log_fault(error, self._dialect)
            return events, False
        return events, True

    def _note_stats(self, events: Sequence[Event], frame: Frame) -> None:
        assert self.decoder is not None
        self.stats.note(events, frame, self.decoder.complete)

    def _attributed(self, events: Sequence[Event], frame: Frame) -> list[StreamItem]:
        """Return the events of a frame, with the warnings about them."""
        items: list[StreamItem] = []
        shown = self._provenance
        if shown is not None and not shown.may_show(events):
            shown = None
        shown_in = self._most // (len(frame.data) or 1)
        for place, event in enumerate(events):
            given = self.attributed(event) if self.errors_for_users else event
            if shown is not None and place < shown_in:
                given = shown.with_source(given, frame)
            items.append(given)
        return items

    # A body that may only be a failure

    def _first(self, frame: Frame, decoded: Iterable[Event]) -> Iterable[Event]:
        """Return the events of the first message; hold back a failure that is not an event of the dialect."""
        if self.held:
            return decoded
        first = first_message(frame, decoded, room=self._room)
        if not isinstance(first, ErrorOnlyBody):
            return first
        self.held = first
        return ()

    def release(self) -> list[FrameItems]:
        """Return the frame that was held back, because another frame has followed."""
        held = self._take_held()
        if held is None:
            return []
        self.stats.messages += 1
        self._note_stats(held.events, held.frame)
        self.started = self.started or bool(held.events)
        self.note_output(held.events, held.frame)
        shown = self._provenance
        events = held.events if shown is None else [shown.with_source(e, held.frame) for e in held.events]
        return [(events, held.frame)]

    def error_only_events(self) -> Iterator[FrameItems]:
        """Yield the held-back failure with its frame, at the end of the body."""
        if (held := self._take_held()) is not None:
            yield self.failure_event(held.failure), held.frame

    def _take_held(self) -> ErrorOnlyBody | None:
        held, self.held = self.held, None
        if held is not None and held.frame.raw is not None:
            held.frame.raw += self._behind_held
            self._behind_held = b""
        return held

    def failure_event(self, failure: FailureInBody) -> list[StreamItem]:
        """Return the error event of a body that consists only of a failure."""
        event = error_event_of(failure)
        self.note_output((event,))
        return [event]
