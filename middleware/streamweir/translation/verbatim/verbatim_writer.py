"""A stream for a client of the very dialect that its upstream speaks: frames as they came.

Source: the standard protocol 1.1, section 8.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final, Literal, TypeAlias

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.errors import WARNINGS
from streamweir.events import Content, Error, Event, SessionEnd, SessionStart, Stamp, Thinking, Warning
from streamweir.framing import MEDIA_TYPES, Frame, LineFraming, LineStyle
from streamweir.translation.reader import StreamReader
from streamweir.translation.writer import StreamWriter

__all__ = ["VerbatimWriter"]

_Part: TypeAlias = Literal["ours", "theirs", "end"]

_REPORTS: Final = frozenset(code for code, row in WARNINGS.items() if row.reports_repair)
"""Warnings about what is repaired in other protocols, and not in this one."""


class VerbatimWriter(StreamWriter):
    """Writes what others have written, and its own words only where these are needed.

    The encoder is shown every event all the same, so that it knows what is open when it has to write an end.
    Until `copies` is set, and for streams where it never is, this is a `StreamWriter`.

    Args:
        dialect: of the client.
        encoder: of this stream.
        framing: `sse`, `ndjson` or `lines`.
        source: what the stream is read with.
        requested: the framing that the client asks for, also where the protocol is not usually so framed.
        follows: the client takes the framing of the upstream.

    Attributes:
        copies: the frames of the upstream go out as they came.
        follows: as given, until something has been sent.
        part: what the events that come belong to: `ours` are written; those of frames that went out
            already, `theirs`, and of an `end` without fault, are not.
        announced: the warnings that are written among `theirs`.
        follows_frames: a frame of the upstream has gone out, so that what is ours begins nothing.
    """

    def __init__(
        self,
        dialect: Dialect,
        encoder: Encoder,
        framing: LineFraming,
        *,
        source: StreamReader | None,
        requested: str,
        follows: bool = False,
    ) -> None:
        super().__init__(dialect, encoder, framing, source=source)
        self.copies = False
        self.follows = follows
        self.part: _Part = "ours"
        self.announced: Sequence[Warning] = ()
        self.follows_frames = False
        self._requested = requested
        self._shown: Content | Thinking | None = None
        self._has_own_end = False
        self._missing_end = b""
        self._style = LineStyle(b"\n", b": ")
        self._is_fresh = True
        """The encoder has been given nothing yet."""

    def begin_copies(self, dialect: Dialect | None, framing: LineFraming) -> bool:
        """Go over to the frames of the upstream, if it writes what the client reads."""
        fits = framing in (self._requested, self.framing) or self.follows
        if dialect is not self._dialect or not fits:
            return False
        if framing != self.framing:
            self.framing = framing
            self.media_type = self._encoder.media_type or MEDIA_TYPES[framing]
            self._set_framing(framing)
        self.copies = True
        self.part = "theirs"
        self.unsupported = Counter()
        return True

    def follow(self, raw: bytes) -> None:
        """Write as the upstream does, of which `raw` is the first frame."""
        self.follows_frames = self._encoder.is_shown = self._encoder.writes_extra = True
        style, write = LineStyle.of(raw), self._bytes_of

        def write_alike(frame: Frame) -> bytes:
            return style.applied_to(write(frame))

        self._style, self._bytes_of = style, write_alike

    def copy(self, raw: bytes, *, is_ended: bool = True) -> None:
        """Write what came.

        Args:
            raw: a block, or several.
            is_ended: the last one has its line end.
        """
        self._out.append(raw)
        self._may_fail_whole = False
        if not is_ended:
            self._missing_end = self._end_of(raw)

    def write(self, event: Event, stamp: Stamp) -> None:
        """Write `event` unless a frame that came has said it."""
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
        """Take note of pieces of text that went out already."""
        if not self.copies:
            super().write_run(event, texts, stamp)
            return
        if event is not self._shown:
            self._show(event.with_text(texts[0]), stamp)
            self._shown, texts = event, texts[1:]
        if texts:
            self._encoder.texts_written(event, texts)

    def heartbeat(self) -> bytes:
        """Return what `StreamWriter` does; from then on the framing is settled."""
        beat = super().heartbeat()
        self.follows = self.follows and not beat
        return self._style.applied_to(beat) if b"\r" not in beat else beat

    def finish(self) -> None:
        """Write what follows the last event, where the end is not the upstream's own."""
        if not self.copies or self._has_own_end:
            super().finish()

    def _is_written(self, event: Event) -> bool:
        if self.part == "theirs":
            return isinstance(event, Warning) and any(event is warning for warning in self.announced)
        if isinstance(event, Warning):
            return event.message_code not in _REPORTS
        if isinstance(event, SessionStart) and self.follows_frames:
            return False
        is_good_end = isinstance(event, SessionEnd) and event.status in ("completed", "suspended")
        return self.part == "ours" and not is_good_end

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
        if self._source is None or not (form := self._source.shown_form):
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
        if self._missing_end:
            self._out.append(self._missing_end)
            self._missing_end = b""
