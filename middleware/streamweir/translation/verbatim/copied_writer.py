"""Writes a stored stream for a client of the upstream's own dialect, from the stored frames.

Source: the standard protocol 1.1, section 8; the contract of resumable streams, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.events import Event, Stamp
from streamweir.framing import LineFraming
from streamweir.framing.event_ids import EventIds
from streamweir.translation.items import TextRun
from streamweir.translation.reader import StreamReader
from streamweir.translation.verbatim.copied_ends import ends_of
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["CopiedWriter"]


class CopiedWriter(VerbatimWriter):
    """Writes stored frames unchanged, and those events that have no stored frames.

    Events without stored frames are the gateway's own: they end a body if the run is lost, the store does not
    answer, or the gateway stops.

    For an EventSource, which sends the id of the last event back, each SSE event gets an id that names a
    position in the run: the position of the last event in its frame, if known. Otherwise the last frame gets
    the position of the last event, and the other frames the position before all of them: a client that leaves
    in between may get events twice, but misses none.

    Attributes:
        frames_of: the handle that ids of frames begin with; None: frames get no ids.

    Args:
        dialect: the dialect of the client and of the upstream.
        encoder: the encoder of this stream.
        framing: the framing of the stored frames.
        source: a reader of the dialect; no bytes are read with it.
    """

    frames_of: str | None = None

    def __init__(
        self, dialect: Dialect, encoder: Encoder, framing: LineFraming, *, source: StreamReader
    ) -> None:
        super().__init__(dialect, encoder, framing, source=source, requested=framing)
        self._copies = encoder.writes_extra = True
        self._written = 0
        """The number of bytes of stored frames that have been written."""

    def copy(self, data: bytes, place: int, positions: range, ends: Sequence[int] = ()) -> None:
        """Write the part of stored frames that has not been written yet.

        Args:
            data: their bytes.
            place: the number of bytes before them.
            positions: the positions of the events of these frames.
            ends: for each frame the position after its last event; empty if unknown.
        """
        new = data[max(0, self._written - place) :]
        if not new:
            return
        self._written = place + len(data)
        self._last_copied = ends_of(self._last_copied + new)
        if not self._has_copied_data and new.strip():
            self._write_like(new)
        self._out.append(self._with_positions(new, positions, ends))
        self.has_copied = True
        self.begin_body()

    def write(self, event: Event, stamp: Stamp) -> None:
        """Write an event without stored frames."""
        if self.frames_of is None:
            super().write(event, stamp)
            return
        before = len(self._out)
        super().write(event, stamp)
        written = b"".join(self._out[before:])
        self._out[before:] = [self._with_positions(written, range(stamp.sequence, stamp.sequence + 1))]

    def finish(self) -> None:
        """See `VerbatimWriter`."""
        self.frames_of = None
        super().finish()

    def _with_positions(self, data: bytes, positions: range, ends: Sequence[int] = ()) -> bytes:
        """Return whole frames, each with the id of its position unless it has an id or gets none."""
        if self.frames_of is None or self.framing != "sse" or not data:
            return data
        counted = EventIds()
        counted.add(data)
        counted.finish()
        if len(ends) != counted.number:
            ends = [*[positions.start] * (counted.number - 1), positions.stop]
        handle = self.frames_of
        ids = EventIds(lambda number: f"{handle}.{max(0, ends[number] - 1)}")
        return ids.add(data) + ids.finish()

    def show(self, item: Event | TextRun, stamp: Stamp) -> None:
        """Pass to the encoder an event, or a text run, whose frames are stored."""
        if isinstance(item, TextRun):
            self.write_run(item.event, item.texts, stamp)
        else:
            self._show(item, stamp)
