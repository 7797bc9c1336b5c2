"""A stream for a client of the very dialect that its upstream speaks: frames as they came.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Literal, TypeAlias

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.errors import WARNINGS
from streamweir.events import Content, Error, Event, SessionEnd, SessionStart, Stamp, Thinking, Warning
from streamweir.framing import MEDIA_TYPES, Frame, LineFraming, LineStyle
from streamweir.translation.items import StreamItem
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import FrameSink
from streamweir.translation.verbatim.safe_frame import FrameSanitizer
from streamweir.translation.writer import StreamWriter

__all__ = ["VerbatimWriter"]

_Origin: TypeAlias = Literal["gateway", "upstream", "closing"]

_REPORTS: Final = frozenset(code for code, row in WARNINGS.items() if row.reports_repair)
"""Warnings about what is repaired in other protocols, and not in this one."""


_LONGEST_SIGN: Final = 256
"""Bytes of a frame that is taken for a sign of life."""


class VerbatimWriter(StreamWriter, FrameSink):
    """Copies the frames of the upstream, and writes events only where no frame says them.

    Until the dialect and the framing of the upstream are known, and if they are not those of the client, this
    is a `StreamWriter`. Once frames are copied, an event is written or not by its origin:

    ======== ======================================== ===================================================
    origin   from ... to                              written
    ======== ======================================== ===================================================
    gateway  the beginning, and between the frames    all but good ends, reports of repairs, and a start
                                                      behind the first frame
    upstream `begin_frame` to `frame`                 the announced warnings; a terminal error, which the
                                                      gateway has made: the frame is dropped then
    closing  `begin_closing` to `end_closing`         warnings, unless the upstream has said its end
    ======== ======================================== ===================================================

    The encoder is shown the events that are not written, so that it knows what is open when it has to write
    an end.

    Args:
        dialect: of the client.
        encoder: of this stream.
        framing: `sse`, `ndjson` or `lines`.
        source: what the stream is read with; it keeps the bytes of frames.
        requested: the framing that the client asks for, also where the protocol is not usually so framed.
        follows: the client takes the framing of the upstream.

    Attributes:
        follows: as given, until something has been sent.
    """

    def __init__(
        self,
        dialect: Dialect,
        encoder: Encoder,
        framing: LineFraming,
        *,
        source: StreamReader,
        requested: str,
        follows: bool = False,
    ) -> None:
        super().__init__(dialect, encoder, framing, source=source)
        self.follows = follows
        self._reader = source
        self._requested = requested
        self._copies: bool | None = None
        """None while the framing of the upstream is unknown."""
        self._has_copied_data = False
        """A frame of the upstream that is no gap has gone out, so that an event of ours begins nothing."""
        self._origin: _Origin = "gateway"
        self._announced: Sequence[Warning] = ()
        self._frame: Frame | None = None
        """The frame whose events are being written."""
        self._safe: bytes | None = None
        """The bytes of that frame as they may leave, until they have gone out."""
        self._sanitizer = FrameSanitizer()
        self._shown: Content | Thinking | None = None
        self._has_own_end = False
        self._mark = b""
        """The byte order mark of the upstream, until anything else is written."""
        self._missing_end = b""
        """The line end that the last copied frame does not have."""
        self._style = LineStyle(b"\n", b": ")
        self._is_fresh = True
        """The encoder has been given nothing yet."""
        self._gap = b""
        """The comments and blank lines since the last frame."""
        self._sign_of_life = b""
        """The last frame of the upstream that said nothing, where its dialect has no heartbeat of its own."""

    @property
    def copies(self) -> bool:
        """The client gets the frames of the upstream; False while that is unknown."""
        if self._copies is None and self._reader.body.parser.keeps_raw:
            self._copies = self._begin_copies()
        return bool(self._copies)

    def _begin_copies(self) -> bool:
        """Take on the framing of the upstream, if it writes what the client reads."""
        framing: Any = self._reader.body.parser.framing
        fits = framing in (self._requested, self.framing) or self.follows
        if self._reader.dialect is not self._dialect or not fits:
            return False
        if framing != self.framing:
            self.framing = framing
            self.media_type = self._encoder.media_type or MEDIA_TYPES[framing]
            self._set_framing(framing)
        self.unsupported = Counter()
        return True

    # Frames

    def begin_frame(self, frame: Frame, items: Sequence[StreamItem], announced: Sequence[Warning]) -> None:
        """Take note that the events up to `frame` are said by a frame, which is made safe."""
        if not self.copies or frame.raw is None:
            return
        self._origin, self._frame, self._announced = "upstream", frame, announced
        if frame.is_unreadable:
            self._safe = None
            return
        if not self._has_copied_data and frame.data.strip():
            self._write_like(frame.raw)
        framing: Any = self.framing
        self._safe = self._sanitizer.process(frame, items, framing)
        if self._encoder.is_old:
            self._note_sign_of_life(frame, self._safe, is_empty=not items)
        if items and isinstance(items[0], SessionStart):  # no warning leaves before it
            self._copy(frame)

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """Write the frame that began, unless it has gone out or the stream broke off in it."""
        del items
        frame, self._frame = self._frame, None
        if frame is not None:
            if self._origin == "upstream":
                self._copy(frame)
            self._origin = "gateway"
        elif self._copies:  # a read of nothing but texts
            self._out.append(raw)

    def _note_sign_of_life(self, frame: Frame, safe: bytes, *, is_empty: bool) -> None:
        """Keep a frame that says nothing, or the comments and blank lines between two frames together."""
        self._gap = (self._gap + safe)[: _LONGEST_SIGN + 1] if frame.is_gap else b""
        shown = self._gap or safe
        if is_empty and not frame.unterminated:
            self._sign_of_life = shown if len(shown) <= _LONGEST_SIGN else b""

    def begin_closing(self) -> None:
        """Take note that the frames have said how the stream ends."""
        self._origin = "closing"

    def end_closing(self) -> None:
        """Take note that the next events are made by the gateway."""
        self._origin = "gateway"

    def _write_like(self, raw: bytes) -> None:
        """Write own frames in the style of the upstream, of which `raw` is the first frame."""
        self._has_copied_data = self._encoder.is_shown = self._encoder.writes_extra = True
        style, write = LineStyle.of(raw), self._bytes_of

        def write_alike(frame: Frame) -> bytes:
            return style.applied_to(write(frame))

        self._style, self._bytes_of = style, write_alike

    def _copy(self, frame: Frame) -> None:
        """Write the bytes of a frame, once."""
        safe, self._safe = self._safe, None
        if safe is None or (self._encoder.names.hides_usage and self._encoder.hides(frame)):
            return
        has_line_end = safe.endswith((b"\n", b"\r"))
        if frame.is_gap and not has_line_end:
            self._mark += safe
            return
        self._out.append(self._mark + safe)
        self._mark = b""
        self._may_fail_whole = False
        self._missing_end = b"" if has_line_end and not frame.unterminated else self._end_of(safe)

    # Events

    def write(self, event: Event, stamp: Stamp) -> None:
        """Write `event` unless a copied frame has said it."""
        if not self.copies:
            super().write(event, stamp)
            self.follows = self._is_fresh = False
        elif self._is_written(event):
            self._end_line()
            self._take_form()
            super().write(event, stamp)
            self._has_own_end = self._has_own_end or isinstance(event, Error | SessionEnd)
        else:
            self._show(event, stamp)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Show the encoder pieces of text whose frames are copied."""
        if not self._copies:
            super().write_run(event, texts, stamp)
            return
        if event is not self._shown:
            self._show(event.with_text(texts[0]), stamp)
            self._shown, texts = event, texts[1:]
        if texts:
            self._encoder.texts_written(event, texts)

    def heartbeat(self) -> bytes:
        """Return the last sign of life that the upstream has shown, else what `StreamWriter` does.

        From then on the framing is settled.
        """
        if self._sign_of_life:
            return self._sign_of_life
        beat = super().heartbeat()
        self.follows = self.follows and not beat
        return self._style.applied_to(beat) if b"\r" not in beat else beat

    def default_heartbeat(self) -> bytes:
        """Return the last sign of life that the upstream has shown, else what `StreamWriter` does."""
        return self._sign_of_life or super().default_heartbeat()

    def finish(self) -> None:
        """Write what follows the last event, where the end is not the upstream's own."""
        if not self._copies or self._has_own_end:
            super().finish()

    def _is_written(self, event: Event) -> bool:
        if self._origin == "upstream":
            if isinstance(event, Error) and event.terminal:
                self._origin = "gateway"
                return True
            return isinstance(event, Warning) and any(event is warning for warning in self._announced)
        if self._origin == "closing":
            return _is_of_use(event) and not self._reader.complete
        if isinstance(event, SessionStart):
            return not self._has_copied_data
        if isinstance(event, SessionEnd):
            return event.status not in ("completed", "suspended")
        return not isinstance(event, Warning) or _is_of_use(event)

    def _show(self, event: Event, stamp: Stamp) -> None:
        """Let the encoder know of `event`. What it cannot say of it, or not at all, was said already."""
        self._shown = None
        if self._is_fresh:
            self._take_form()
        with suppress(Exception):
            for _ in self._encoder.encode(event, stamp):
                pass

    def _take_form(self) -> None:
        """Let the encoder write as the stream looks, of which a frame at least has come."""
        is_fresh, self._is_fresh = self._is_fresh, False
        if not (form := self._reader.shown_form):
            return
        options = {**self._encoder.options, **form}
        if is_fresh:  # some settle what they write with before their first event
            shown = self._encoder
            self._encoder = self._dialect.make_encoder(options, room=shown.room)
            self._encoder.is_shown, self._encoder.writes_extra = shown.is_shown, shown.writes_extra
            self._encoder.names = shown.names
        else:
            self._encoder.options = options

    def _end_of(self, raw: bytes) -> bytes:
        """Return what is missing of a frame that is whole but for the end of its lines."""
        end = b"\n" if raw.endswith(b"\r") else self._style.end
        if self.framing != "sse":
            return b"" if raw.endswith(b"\n") else end
        return self._style.end if raw.endswith(b"\n") else end + self._style.end

    def _end_line(self) -> None:
        if self._mark or self._missing_end:
            self._out.append(self._mark + self._missing_end)
            self._mark = self._missing_end = b""


def _is_of_use(event: Event) -> bool:
    """Is it a warning that also a client of the upstream would get?"""
    return isinstance(event, Warning) and event.message_code not in _REPORTS
