"""Writes a stored stream for one client: the id of each frame names the client's position.

Source: the contract of resumable streams, section 2 (SSE ids).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from streamweir.codec.base import Encoder
from streamweir.codec.dialect import Dialect
from streamweir.events import Event, SessionEnd, Stamp, Warning
from streamweir.framing import Frame
from streamweir.translation.reader import StreamReader
from streamweir.translation.writer import StreamWriter

__all__ = ["RunWriter"]


class RunWriter(StreamWriter):
    """Writes a stream whose events are stored: position n is in the id of the last frame of event n.

    Frames after the last event belong to that event. The sequence number of an event is its position.

    Args:
        dialect: the protocol.
        encoder: the encoder of this stream.
        framing: `sse` or `ndjson`.
        source: the reader of the dialect.
        run: the handle that ids begin with.

    Attributes:
        run: the handle; None once events are no longer stored and get no ids.
        skips: the number of frames of the next event that the client has already.
    """

    def __init__(
        self,
        dialect: Dialect,
        encoder: Encoder,
        framing: Literal["sse", "ndjson", "lines"],
        *,
        source: StreamReader | None = None,
        run: str,
    ) -> None:
        super().__init__(dialect, encoder, framing, source=source)
        self.run = run
        self._writes_blocks = False
        self.skips = 0
        self._held: list[Frame] | None = None

    def write(self, event: Event, stamp: Stamp) -> None:
        """Write `event`, with the events that the writer adds to it."""
        if self._held is not None:  # an event that the writer adds
            super().write(event, stamp)
            return
        position = stamp.sequence
        held: list[Frame] = []
        self._held = held
        try:
            super().write(event, stamp)
            if isinstance(event, SessionEnd) and not self.is_failure:
                held += self._encoder.close()
        finally:
            self._held = None
        self._out += self._with_ids(held, position)

    write_run = StreamWriter._begin_run

    def insert(self, warning: Warning, stamp: Stamp) -> None:
        """Write a warning that is not stored, for this client only, before the event of `stamp`."""
        run, self.run = self.run, None
        self.write(warning, stamp)
        self.added += 1
        self.run = run

    def finish(self) -> None:
        """Do nothing: the frames after the last event were written with that event."""

    def _encoded(self, event: Event, stamp: Stamp) -> list[bytes]:
        frames = self._encoder.encode(event, stamp)
        if self._held is None:
            return self._with_ids([*frames], stamp.sequence - self.added)
        self._held += frames
        return []

    def _with_ids(self, frames: Sequence[Frame], position: int) -> list[bytes]:
        skipped, self.skips = self.skips, 0
        written = []
        for place, frame in enumerate(frames[skipped:], skipped + 1):
            frame_id = None
            if self.run is not None:
                frame_id = (
                    f"{self.run}.{position}" if place == len(frames) else f"{self.run}.{position}-{place}"
                )
            # A frame of its own: an encoder may give the same one to every stream, as it does with an end.
            written.append(self._bytes_of(Frame(frame.data, frame.event, frame_id)))
        return written
