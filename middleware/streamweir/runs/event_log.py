"""A sink that keeps events until they are stored and given to the readers in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from streamweir.events import Content, Event, SessionStart, Stamp, Thinking
from streamweir.runs.joined_lines import JoinedLines
from streamweir.runs.stored_event import EventWriter, Source
from streamweir.translation.items import TextRun

__all__ = ["Batch", "EventLog", "LogItem"]


LogItem: TypeAlias = tuple[Stamp, Event | TextRun]
"""An event, or a text run, with the stamp of its first event."""


class Batch(msgspec.Struct, frozen=True):
    """Events that follow each other, such as those of one upstream read.

    Attributes:
        at: the position of the first event.
        end: the position after the last event.
        stored: each event in the form of the store.
        items: the same events as objects; None if only `stored` is in memory.
        size: the bytes of `stored`, or of `copied` if there are no events.
        copied: the frames of the upstream that are sent with the batch, if the run has them and the batch was
            not read from the store. A batch without events consists of them.
        place: the number of bytes before `copied` in the body that all frames form.
        frame_ends: for each frame of `copied` the position after its last event; empty if unknown.
    """

    at: int
    end: int
    stored: Sequence[bytes]
    items: Sequence[LogItem] | None
    size: int
    copied: bytes | None = None
    place: int = 0
    frame_ends: Sequence[int] = ()

    @classmethod
    def of(cls, at: int, stored: Sequence[bytes], items: Sequence[LogItem] | None = None) -> Batch:
        """Return a batch of stored events from position `at` on."""
        return cls(at, at + len(stored), stored, items, sum(map(len, stored)))

    def rest(self, at: int) -> Batch:
        """Return the part of the batch from position `at` on."""
        return Batch.of(at, self.stored[at - self.at :])

    @staticmethod
    def joined(batches: Sequence[Batch]) -> Batch:
        """Return consecutive batches as one."""
        if len(batches) == 1:
            return batches[0]
        items: list[LogItem] | None = []
        for batch in batches:
            items = None if items is None or batch.items is None else [*items, *batch.items]
        stored = [line for batch in batches for line in batch.stored]
        size = sum(batch.size for batch in batches)
        parts = [batch.copied for batch in batches if batch.copied is not None]
        if 0 < len(parts) < len(batches):  # the stored events say which of them have frames
            items, parts = None, []
        copied = b"".join(parts) if parts else None
        is_known = all(batch.frame_ends for batch in batches if batch.copied)
        ends = [end for batch in batches for end in batch.frame_ends] if is_known else ()
        return Batch(batches[0].at, batches[-1].end, stored, items, size, copied, batches[0].place, ends)


class EventLog:
    """Collects the events of a stream; `take` empties it.

    Args:
        source: returns the source of the stream; called for its first event.
    """

    def __init__(self, source: Callable[[], Source]) -> None:
        self._source = source
        self._writer = EventWriter()
        self._at = self._end = 0
        self._stored: list[bytes] = []
        """The events since `take`; several texts are joined by `\\n`."""
        self._items: list[LogItem] = []

    def take(self) -> Batch | None:
        """Return the events since the last call; None if there are no events."""
        if not self._stored:
            return None
        stored, total = b"\n".join(self._stored), self._end - self._at
        size = len(stored) - total + 1
        batch = Batch(self._at, self._end, JoinedLines(stored, total), self._items, size)
        self._at = self._end
        self._stored, self._items = [], []
        return batch

    def write(self, event: Event, stamp: Stamp) -> None:
        """See `EventSink`."""
        source = self._source() if isinstance(event, SessionStart) else None
        self._stored.append(self._writer.event(event, stamp.timestamp, source))
        self._end += 1
        self._items.append((stamp, event))

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """See `EventSink`."""
        texts = [*texts]
        self._stored.append(self._writer.run(event, texts, stamp.timestamp))
        self._end += len(texts)
        self._items.append((stamp, TextRun(event, texts)))

    def change_copied(self, change: Callable[[bytes], bytes]) -> None:
        """Change the copied frames of the next batch; a log without copied frames ignores the call."""

    def finish(self) -> None:
        """See `EventSink`."""

    def heartbeat(self) -> bytes:
        """Return nothing: heartbeats are not stored."""
        return b""
