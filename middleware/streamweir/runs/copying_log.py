"""The log of a run whose first client gets the frames of the upstream: it keeps the frames together with the
events.

Source: the contract of resumable streams, section 2 (store, then send); the standard protocol 1.1, section 8.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from streamweir.events import Content, Event, Stamp, Thinking, Warning
from streamweir.framing import Frame
from streamweir.runs.event_log import Batch, EventLog
from streamweir.runs.joined_lines import JoinedLines
from streamweir.runs.stored_event import Source, with_copied
from streamweir.translation.items import StreamItem, TextRun
from streamweir.translation.sink import FrameSink
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["CopyingLog"]


class CopyingLog(EventLog, FrameSink):
    """Collects the events of a stream and the bytes that its first client gets; `take` empties it.

    If frames turn out not to be copied, because the upstream speaks another dialect or framing, this is an
    `EventLog`.

    The bytes of a batch are stored with its last event. Bytes that arrive without an event (comments, frames
    that say nothing) are given to readers at once, in a batch of their own, and stored with the next event.
    Bytes before the first event wait for that event: until then no reader has a writer.

    Args:
        source: see `EventLog`.
        writer: the writer of the first client; its bytes are taken by this log and not sent by it.
    """

    def __init__(self, source: Callable[[], Source], writer: VerbatimWriter) -> None:
        super().__init__(lambda: self._with_copies(source()))
        self._copier = writer
        writer.share_no_frames()
        self._place = 0
        """The number of bytes of frames that have been stored."""
        self._unstored = b""
        self._given = 0
        """The number of bytes of `_unstored` that readers have received."""
        self._frame_ends: list[int] = []
        """For each frame of the next batch, the position after its last event."""
        self._is_gap = False
        self._change: Callable[[bytes], bytes] | None = None
        """Changes the frames of the next batch. Set by `change_copied`, cleared by `take`."""

    @property
    def copies(self) -> bool:
        """See `FrameSink`."""
        return self._copier.copies

    def take(self) -> Batch | None:
        """Return the events and the frames since the last call; None if there are none of them."""
        copied, batch = self._copier.take(), super().take()
        if self._change is not None:
            copied, self._change = self._change(copied), None
        if not self.copies:
            self._frame_ends.clear()
            return batch
        self._unstored += copied
        place, new = self._place + self._given, self._unstored[self._given :]
        if batch is None:
            if not copied or not self._at:
                return None
            self._given = len(self._unstored)
            return Batch(self._at, self._at, (), (), len(new), new, place, self._taken_ends())
        *others, last = batch.stored
        lines = [with_copied(line, b"", 0) for line in others]
        lines.append(with_copied(last, self._unstored, self._place))
        self._place += len(self._unstored)
        self._unstored, self._given = b"", 0
        return msgspec.structs.replace(
            batch,
            stored=JoinedLines(b"\n".join(lines), len(lines)),
            size=sum(map(len, lines)),
            copied=new,
            place=place,
            frame_ends=self._taken_ends(),
        )

    def _taken_ends(self) -> Sequence[int]:
        ends, self._frame_ends = self._frame_ends, []
        return ends

    def _with_copies(self, source: Source) -> Source:
        return msgspec.structs.replace(source, copies=self._copier.framing) if self.copies else source

    def write(self, event: Event, stamp: Stamp) -> None:
        """See `EventSink`."""
        super().write(event, stamp)
        self._copier.write(event, stamp)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """See `EventSink`."""
        super().write_run(event, texts, stamp)
        self._copier.write_run(event, texts, stamp)

    def change_copied(self, change: Callable[[bytes], bytes]) -> None:
        """Set the function that changes the copied bytes of the next batch."""
        self._change = change

    def finish(self) -> None:
        """See `EventSink`."""
        self._copier.finish()

    def begin_frame(self, frame: Frame, items: Sequence[StreamItem], announced: Sequence[Warning]) -> bool:
        """See `FrameSink`."""
        self._is_gap = frame.is_gap
        return self._copier.begin_frame(frame, items, announced)

    def frame(self, raw: bytes, items: Sequence[StreamItem]) -> None:
        """See `FrameSink`."""
        self._copier.frame(raw, items)
        is_gap, self._is_gap = self._is_gap, False
        first = items[0] if items else None
        if isinstance(first, TextRun):
            self._note_ends(len(first.texts))
        elif not is_gap:
            self._note_ends(1)

    def run_frames(self, raw: bytes, event: Content | Thinking, texts: list[str]) -> None:
        """See `FrameSink`."""
        self._copier.run_frames(raw, event, texts)
        self._note_ends(len(texts))

    def _note_ends(self, frames: int) -> None:
        """Note the positions after the last event of each of the latest frames, which have an event each."""
        self._frame_ends += range(self._end - frames + 1, self._end + 1)

    def begin_closing(self) -> None:
        """See `FrameSink`."""
        self._copier.begin_closing()

    def end_closing(self) -> None:
        """See `FrameSink`."""
        self._copier.end_closing()
