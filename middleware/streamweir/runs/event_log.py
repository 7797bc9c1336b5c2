"""A sink that keeps what the stages give, for the store and for those who read along in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from streamweir.events import Content, Event, SessionStart, Stamp, Thinking
from streamweir.runs.stored_event import EventWriter, Source
from streamweir.translation.items import TextRun

__all__ = ["Batch", "EventLog", "LogItem"]


LogItem: TypeAlias = tuple[Stamp, Event | TextRun]
"""An event, or pieces of text, with the stamp of the first."""


class Batch(NamedTuple):
    """What came of one read.

    Attributes:
        at: the position of the first event.
        end: the position behind the last one.
        stored: each event as it is kept.
        items: the same as they were given; None where they are to be read from `stored`.
        size: the bytes of what is stored.
    """

    at: int
    end: int
    stored: Sequence[bytes]
    items: Sequence[LogItem] | None
    size: int

    @classmethod
    def of(cls, at: int, stored: Sequence[bytes], items: Sequence[LogItem] | None = None) -> Batch:
        """Return what is stored from position `at` on."""
        return cls(at, at + len(stored), stored, items, sum(map(len, stored)))

    def rest(self, at: int) -> Batch:
        """Return what is stored from position `at` on."""
        return Batch.of(at, self.stored[at - self.at :])

    @staticmethod
    def joined(batches: Sequence[Batch]) -> Batch:
        """Return batches that follow each other as one."""
        if len(batches) == 1:
            return batches[0]
        items: list[LogItem] | None = []
        for batch in batches:
            items = None if items is None or batch.items is None else [*items, *batch.items]
        stored = [line for batch in batches for line in batch.stored]
        size = sum(batch.size for batch in batches)
        return Batch(batches[0].at, batches[-1].end, stored, items, size)


class EventLog:
    """Takes the events of a stream until they are taken from it.

    Args:
        source: what the stream is read with, asked when it begins.
    """

    def __init__(self, source: Callable[[], Source]) -> None:
        self._source = source
        self._writer = EventWriter()
        self._at = 0
        self._stored: list[bytes] = []
        self._items: list[LogItem] = []

    def take(self) -> Batch | None:
        """Return what has been written since the last time; None if nothing was."""
        if not self._stored:
            return None
        batch = Batch(
            self._at, self._at + len(self._stored), self._stored, self._items, sum(map(len, self._stored))
        )
        self._at = batch.end
        self._stored, self._items = [], []
        return batch

    def write(self, event: Event, stamp: Stamp) -> None:
        """Take the next event."""
        source = self._source() if isinstance(event, SessionStart) else None
        self._stored.append(self._writer.event(event, stamp.timestamp, source))
        self._items.append((stamp, event))

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Take the next pieces of text."""
        texts = [*texts]
        self._stored += self._writer.run(event, texts, stamp.timestamp)
        self._items.append((stamp, TextRun(event, texts)))

    def finish(self) -> None:
        """The last event has been taken."""

    def heartbeat(self) -> bytes:
        """Return nothing: silence is not stored."""
        return b""
