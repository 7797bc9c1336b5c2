"""Writes a stream for a client of the upstream's own dialect: copies of its frames.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.events import Content, Error, Event, SessionEnd, SessionStart, Stamp, Thinking, Warning
from streamweir.framing import MEDIA_TYPES, Frame, LineFraming, LineStyle
from streamweir.framing.line_style import USUAL_STYLE
from streamweir.jsontext import valid_utf8
from streamweir.translation.items import DONE, StreamItem, TextRun
from streamweir.translation.reader import StreamReader
from streamweir.translation.report import warns_of_more_than_repair
from streamweir.translation.sink import FrameSink
from streamweir.translation.verbatim.copied_ends import ends_of
from streamweir.translation.verbatim.passage import Passage
from streamweir.translation.verbatim.safe_frame import FrameSanitizer
from streamweir.translation.writer import StreamWriter

__all__ = ["VerbatimWriter"]

_Origin: TypeAlias = Literal["gateway", "upstream", "closing"]
_WRITTEN: Final = frozenset({Error, Warning})
"""Events that may be written beside a copied frame, or in the closing."""

_LONGEST_SIGN: Final = 256
"""The most bytes of a frame that counts as a sign of life."""


class VerbatimWriter(StreamWriter, FrameSink):
    """Copies the frames of the upstream, and writes the events that do not come from a frame.

    It is a plain `StreamWriter` until the dialect and the framing of the upstream are known, and for good if
    they are not those of the client. Once frames are copied, the origin of an event decides if it is written:

    ======== ======================================== ===================================================
    origin   from ... to                              written
    ======== ======================================== ===================================================
    gateway  the beginning, and between the frames    all but good ends, reports of repairs, and a start
                                                      after the first frame
    upstream `begin_frame` to `frame`                 the announced warnings; a terminal error, which the
                                                      gateway has made: the frame is dropped then
    closing  `begin_closing` to `end_closing`         warnings, unless the upstream has said its end
    ======== ======================================== ===================================================

    In a home-made dialect with `write` rules the events of a plain-text failure that is not safe replace its
    frame, and its terminal error is written in the closing.

    Events that are not written are given to the encoder all the same, and its frames dropped: the encoder has
    to know which messages and calls are open if the gateway has to end the stream.

    Args:
        dialect: the dialect of the client.
        encoder: the encoder of this stream.
        framing: `sse`, `ndjson` or `lines`.
        source: the reader of the stream; it keeps the bytes of frames.
        requested: the framing that the client asked for, also if the encoder cannot write it.
        follows: the client takes the framing of the upstream.

    Attributes:
        follows: the argument; False once something has been sent.
        has_copied: bytes of the upstream have been written.
        has_own_end: the gateway has written an error or an end that is not an event of the upstream.
        is_json: the content type of the body is that of JSON. If it is then one document that the dialect
            does not know, no end is written after it, which would make it invalid.
        takes_document: the body is one JSON document, which is copied for a client of any framing.
    """

    _source: StreamReader
    has_copied = False
    has_own_end = False
    is_json = False
    takes_document = False
    _copied_frames = 0
    _copies: bool | None = None
    """None while the framing of the upstream is unknown."""
    _has_copied_data = False
    """A frame with data has been copied, so the stream has begun: no `session_start` is written."""
    _origin: _Origin = "gateway"
    _passage: Passage | None = None
    """The frame whose events are being written; None between frames, and for texts."""
    _owes_error = False
    """Set if the events of a frame are written instead of its bytes and a terminal error follows in the
    closing; cleared when that error is written.
    """
    _shown: Content | Thinking | None = None
    _behind_error: int | None = None
    """The number of unsent pieces up to the gateway's error; None before that error is written."""
    _mark = b""
    """The byte order mark of the upstream; empty once something has been written."""
    _missing_end = b""
    """The line end that is missing after the last copied frame."""
    _drops_lf = False
    """A frame that ended with CR was not written, so an LF that follows is not written either."""
    _style = USUAL_STYLE
    _last_copied = b""
    """The last copied bytes, shortened; empty once the encoder has read them."""
    _is_fresh = True
    """The encoder has not been given any event yet."""
    _gap = b""
    """The comments and blank lines since the last frame."""
    _sign_of_life = b""
    """The last frame without an event and without a mark of the end; kept if the dialect has no heartbeat."""
    _sanitizer: FrameSanitizer | None = None
    """Set by the first frame that is not a run of texts."""

    def __init__(
        self,
        dialect: Dialect,
        encoder: Encoder,
        framing: LineFraming,
        source: StreamReader,
        requested: str,
        follows: bool = False,
    ) -> None:
        super().__init__(dialect, encoder, framing, source)
        self.follows = follows
        self._requested = requested
        self._notes_copies = type(encoder).continue_behind is not Encoder.continue_behind

    @property
    def may_copy(self) -> bool:
        """Whether the client gets the frames of the upstream, or would get them if any came."""
        return self.copies or (not self._source.started and self._source.dialect in (None, self._dialect))

    @property
    def has_begun(self) -> bool:
        """Whether an event of the upstream has been read, or bytes of the upstream have been written."""
        return self.has_copied or self._source.started

    @property
    def takes_lines(self) -> bool:
        """Whether lines of JSON are copied; a JSON document is then copied too."""
        return self.follows or "ndjson" in (self._requested, self.framing)

    @property
    def copies(self) -> bool:
        """Whether the client gets the frames of the upstream; False while unknown."""
        if self._copies is None and self._source.body.parser.keeps_raw:
            self._copies = self._begin_copies()
        return bool(self._copies)

    def _begin_copies(self) -> bool:
        """Adopt the framing of the upstream; return False if the client cannot read its frames."""
        framing: Any = self._source.body.parser.framing
        fits = framing in (self._requested, self.framing) or self.follows or self.takes_document
        if self._source.dialect is not self._dialect or not fits:
            return False
        if framing != self.framing:
            self.framing = framing
            self.media_type = self._encoder.media_type or MEDIA_TYPES[framing]
            self._set_framing(framing)
        self.unsupported = Counter.__new__(Counter)  # its `__init__` takes longer than all the rest
        return True

    def share_no_frames(self) -> None:
        """Take each frame by itself, but for texts; to be called before the first byte."""
        self._source.frames.shares_frames = False

    def begin_frame(self, frame: Frame, items: Sequence[StreamItem], announced: Sequence[Warning]) -> bool:
        """Note that the next events, up to `frame`, come from a frame; make the frame safe."""
        if not (self._copies or self.copies) or frame.raw is None:
            return False
        self._origin, is_texts = "upstream", bool(items) and type(items[0]) is TextRun
        if not self._has_copied_data and (is_texts or frame.data.strip()) and not frame.is_unreadable:
            self._write_like(frame.raw)
        if is_texts and not (announced or self._gap or self._mark):
            return False
        self._passage = passage = Passage(frame, announced)
        if frame.is_unreadable:
            return False
        self._sanitizer = sanitizer = self._sanitizer or FrameSanitizer()
        passage.safe = safe = sanitizer.process(frame, items, self.framing)
        if items and not frame.is_gap:
            self._gap = b""
        elif self._encoder.is_old:
            self._note_sign_of_life(frame, safe, is_empty=not items and frame.data.strip() != DONE)
        if safe != frame.raw and self._must_replace(frame, items):
            passage.safe, passage.is_replaced = None, True
            self._owes_error = any(isinstance(item, Error) and item.terminal for item in items)
        if items and type(items[0]) is SessionStart:  # no warning is written before it
            self._copy(passage)
        return sanitizer.found_safe

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """Write the frame of `begin_frame`, unless it is written already or the stream ended in it."""
        del items
        passage, origin, self._origin = self._passage, self._origin, "gateway"
        if passage is not None:
            self._passage = None
            if origin == "upstream":
                self._copy(passage)
        elif origin == "upstream":  # texts, which need not be searched
            self._out.append(raw if raw.isascii() else valid_utf8(raw))
            if self._notes_copies:
                self._last_copied = ends_of(raw)
            self._may_fail_whole, self.has_copied = False, True

    def run_frames(self, raw: bytes, event: Content | Thinking, texts: list[str]) -> None:
        """Write the frames of a read that consists of texts."""
        del event, texts
        if self._copies:
            self._out.append(raw)
            if self._notes_copies:
                self._last_copied = ends_of(raw)

    def copy_run(self, raw: bytes, event: Content | Thinking) -> bool:
        """See `FrameSink`."""
        if event is not self._shown or self._notes_texts or self._notes_copies:
            return False
        self._out.append(raw if raw.isascii() else valid_utf8(raw))
        return True

    def _note_sign_of_life(self, frame: Frame, safe: bytes, *, is_empty: bool) -> None:
        """Keep a frame without events, or the comments and blank lines between two frames."""
        self._gap = (self._gap + safe)[: _LONGEST_SIGN + 1] if frame.is_gap else b""
        if is_empty and not frame.unterminated:
            shown = self._gap or safe
            self._sign_of_life = shown if len(shown) <= _LONGEST_SIGN else b""

    def begin_closing(self) -> None:
        """Note that the next events end the stream in the way that its frames reported."""
        self._origin = "closing"

    def end_closing(self) -> None:
        """Note that the next events are made by the gateway."""
        self._origin = "gateway"

    def _write_like(self, raw: bytes) -> None:
        """Write own frames in the line style of the upstream's first frame."""
        self._has_copied_data = self._encoder.is_shown = self._encoder.writes_extra = True
        self._writes_blocks = False
        style = LineStyle.of(raw)
        if style != USUAL_STYLE or self._encoder.sse_prefix != b"data: ":
            self._bytes_of, self._style = style.writer(self._bytes_of), style

    def _copy(self, passage: Passage) -> None:
        """Write the bytes of a frame, once."""
        frame, safe, passage.safe = passage.frame, passage.safe, b""
        if safe == b"":
            return
        is_other_half = self._drops_lf and frame.raw == b"\n"
        self._drops_lf = False
        if safe is None or is_other_half or (self._encoder.names.hides_usage and self._encoder.hides(frame)):
            self._drops_lf = frame.raw is not None and frame.raw[-1:] == b"\r"
            return
        has_line_end = safe[-1:] in (b"\n", b"\r")
        if frame.is_gap and not has_line_end:
            self._mark += safe
            return
        if self._mark:
            self._out.append(self._mark)
            self._mark = b""
        self._out.append(safe)
        if self._notes_copies and not frame.is_gap:
            self._last_copied = ends_of(safe)
        self._may_fail_whole = False
        self.has_copied = True
        if self.is_json:
            self._copied_frames += not frame.is_gap
        is_whole = has_line_end and not frame.unterminated
        self._missing_end = b"" if is_whole else self._style.end_behind(safe, self.framing)

    def write(self, event: Event, stamp: Stamp) -> None:
        """Write `event`, or only pass it to the encoder; the table of the class says which."""
        if self._passage is None and self._origin == "upstream" and type(event) not in _WRITTEN:
            self._show(event, stamp)  # nearly all
            return
        may_write = type(event) in _WRITTEN or self._origin == "gateway" or self._is_replaced
        if not (self._copies or self.copies):
            super().write(event, stamp)
            self.follows = self._is_fresh = False
        elif may_write and self._is_written(event):
            is_own = not self._is_replaced and not self._pays_error(event)
            self._end_line()
            self._take_form()
            self._continue_numbers()
            super().write(event, stamp)
            self.has_own_end = self.has_own_end or (is_own and isinstance(event, Error | SessionEnd))
            if is_own and isinstance(event, Error) and event.terminal:
                self._behind_error = len(self._out)
        else:
            self._show(event, stamp)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Pass to the encoder texts whose frames are copied."""
        if not self._copies:
            super().write_run(event, texts, stamp)
            return
        if event is not self._shown:
            first = texts[0]
            self._show(event if event.content is first else event.with_text(first), stamp)
            self._shown, texts = event, texts[1:] if self._notes_texts else ()
        if self._notes_texts and texts:
            self._encoder.texts_written(event, texts)

    def heartbeat(self) -> bytes:
        """Return the last frame without events, else that of `StreamWriter`; the framing is then fixed."""
        if self._sign_of_life:
            return self._sign_of_life
        self._continue_numbers()
        beat = super().heartbeat()
        self.follows = self.follows and not beat
        return self._style.applied_to(beat) if b"\r" not in beat else beat

    def default_heartbeat(self) -> bytes:
        """Return the last sign of life of the upstream, else that of `StreamWriter`."""
        return self._sign_of_life or super().default_heartbeat()

    def finish(self) -> None:
        """Write the frames after the last event, if the gateway has written the end."""
        if not self._copies or self.has_own_end:
            super().finish()

    def end_with_error(self) -> None:
        """Drop the frames after the gateway's error, which clients may take for a good end."""
        if self._behind_error is not None:
            del self._out[self._behind_error :]

    def _is_written(self, event: Event) -> bool:
        if self.takes_document:
            return False
        if self._is_replaced or (self._owes_error and isinstance(event, Error)):
            return True
        if self._origin == "upstream":
            if isinstance(event, Error) and event.terminal:
                self._origin = "gateway"
                return True
            announced = () if self._passage is None else self._passage.announced
            return isinstance(event, Warning) and any(event is warning for warning in announced)
        if self._origin == "closing":
            return not self._source.complete and warns_of_more_than_repair(event)
        if self.is_json and self._copied_frames == 1 and not self._source.has_understood:
            return False  # the copied bytes are one JSON document, no part of which the dialect knows
        if isinstance(event, SessionStart):
            return not self._has_copied_data
        if isinstance(event, SessionEnd):
            return event.status not in ("completed", "suspended")
        return not isinstance(event, Warning) or warns_of_more_than_repair(event)

    def _must_replace(self, frame: Frame, items: Sequence[StreamItem]) -> bool:
        """Return whether a plain-text failure is written by the rules of its home-made dialect.

        The sanitizer may remove the words that mark the text as a failure: clients would read an answer.
        """
        reports = [item for item in items if isinstance(item, Error | Warning)]
        return bool(reports) and all(map(self._encoder.has_rules_for, reports)) and not frame.is_json

    def _pays_error(self, event: Event) -> bool:
        """Return whether `event` is the error that has to follow a replaced frame; it is due once."""
        owed = self._owes_error and isinstance(event, Error)
        self._owes_error = self._owes_error and not owed
        return owed

    @property
    def _is_replaced(self) -> bool:
        """Whether the events of the current frame are written instead of its bytes."""
        return self._passage is not None and self._passage.is_replaced

    def _show(self, event: Event, stamp: Stamp) -> None:
        """Pass to the encoder an event whose frame is copied; exceptions are ignored."""
        self._shown = None
        if self._is_fresh:
            self._take_form()
        try:
            self._encoder.note_event(event, stamp)
        except Exception:  # its frame is sent all the same
            self._shown = None

    def _continue_numbers(self) -> None:
        copied, self._last_copied = self._last_copied, b""
        if copied:
            self._encoder.continue_behind(copied)

    def _take_form(self) -> None:
        """Set the encoder's options so that its frames look like those that were read."""
        is_fresh, self._is_fresh = self._is_fresh, False
        if not (form := self._source.shown_form):
            return
        options = {**self._encoder.options, **form}
        if is_fresh:  # some encoders read their options before the first event
            shown = self._encoder
            self._encoder = self._dialect.make_encoder(options, room=shown.room)
            self._encoder.is_shown, self._encoder.writes_extra = shown.is_shown, shown.writes_extra
            self._encoder.names = shown.names
        else:
            self._encoder.options = options

    def _end_line(self) -> None:
        if self._mark or self._missing_end:
            self._out.append(self._mark + self._missing_end)
            self._mark = self._missing_end = b""
