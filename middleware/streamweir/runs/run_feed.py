"""Writes a run for one client, from its position on.

The encoder is fed all events, because later frames depend on earlier ones; the bytes of events that the
client has already are dropped.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol

from msgspec.structs import replace

from streamweir.errors import ErrorInfo, Reason, error_info
from streamweir.events import Error, Event, SessionEnd, SessionStart, Stamp
from streamweir.metadata import unix_milliseconds
from streamweir.own_warnings import own_warning
from streamweir.runs.closing import lost_end
from streamweir.runs.event_log import Batch, LogItem
from streamweir.runs.handles import Position
from streamweir.runs.run_reader import RunReader, all_lines
from streamweir.runs.store import StoreUnavailable
from streamweir.runs.stored_event import EventReader, Source, UnreadableRun, copied_in
from streamweir.translation.items import TextRun
from streamweir.translation.open_writer import Writer
from streamweir.translation.run_writer import RunWriter
from streamweir.translation.verbatim.copied_writer import CopiedWriter

__all__ = ["FeedTarget", "RunFeed"]

_DETACHED: Final = {
    "limit": own_warning("RESUME_LIMIT"),
    "store": own_warning("RESUME_LOST"),
}


class FeedTarget(Protocol):
    """The response that a run is written into.

    The target is opened once the first event of the run has been read, because that event holds the `Source`.
    """

    @property
    def is_open(self) -> bool:
        """Whether `open` has been called."""

    @property
    def resumes_itself(self) -> bool:
        """Whether the client itself resumes the run after a body without an end."""

    @property
    def sink(self) -> Writer:
        """The writer of the response."""

    def open(self, source: Source) -> None:
        """Open the writer for a run with this source."""


class RunFeed:
    """Writes one run for one client.

    Attributes:
        error: the terminal error of the run, once it was written.
        reason: why the run ended, or why the body was cut short, in the protocol's words. None until the last
            event or `close_short`.
        code: the code of the error that led to `reason`; None before the end, or for an end without an error.

    Args:
        reader: the reader of the run.
        target: the response to the client.
    """

    def __init__(self, reader: RunReader, target: FeedTarget) -> None:
        position = reader.position or Position()
        self.error: ErrorInfo | None = None
        self.reason: Reason | None = None
        self.code: str | None = None
        self._reader: Final = reader
        self._about: Final = reader.about
        self._target: Final = target
        self._next: Final = position.next_event
        self._known_frames: Final = position.frames or 0
        self._first_of: Final = reader.first_of
        self._events: Final = EventReader()
        self._has_warned = False
        self._copied_to = 0
        """The position after the last event whose copied frames have been written."""
        self._is_at_position = False
        """Set once the events before the client's position are past; then positions are not compared."""

    def write(self, batch: Batch) -> None:
        """Write the next batch.

        Raises:
            UnreadableRun: the batch holds no events of a run.
        """
        if not self._target.is_open:
            self._open(batch)
        sink = self._target.sink
        if isinstance(sink, CopiedWriter):
            self._write_copied(batch, sink)
            return
        if batch.end == batch.at:
            return
        if self._is_at_position and batch.items is not None:
            if self._first_of is not None and self._first_of.detached is not None:
                self._warn_of_detachment(batch.items[0][0])
            for stamp, item in batch.items:
                if type(item) is TextRun:
                    sink.write_run(item.event, item.texts, stamp)
                else:
                    self._note_end(item)
                    sink.write(item, stamp)
            return
        for stamp, item in self._items(batch):
            self._write_item(stamp, item)
        self._is_at_position = self._target.is_open and batch.end > self._next

    async def close_short(self, code: str) -> None:
        """End a body that is cut short: in the standard protocol without an end event, so that the client
        resumes.

        Args:
            code: the error code that tells why the body ends.
        """
        at = self._reader.at
        target = self._target
        self.reason, self.code = error_info(code).reason, code
        if not target.is_open:
            target.open(self._events.source)
        if target.resumes_itself:
            return
        sink = target.sink
        if isinstance(sink, RunWriter):
            sink.run = None
        elif isinstance(sink, CopiedWriter):
            sink.frames_of = None
        for place, event in enumerate(await self._closing(code, at), at):
            sink.write(event, Stamp(self._about.request_id, place, unix_milliseconds()))
        sink.finish()
        self.error = error_info(code)

    def _note_end(self, event: Event | TextRun) -> None:
        """Note the terminal error and the end of the run."""
        if isinstance(event, Error) and event.terminal:
            self.error, self.code = _info_of(event), event.code
        elif isinstance(event, SessionEnd):
            self.reason = event.reason
            self._note_thread(event)

    def _note_thread(self, event: Event) -> None:
        """Note the conversation of the run, if the event names it."""
        self._reader.thread_id = (event.meta or {}).get("thread_id", self._reader.thread_id)

    def _open(self, batch: Batch) -> None:
        """Open the target at the first event of the run, whose stored form contains the source."""
        if batch.end > batch.at:
            for _, item in self._events.items(batch.stored[:1]):
                self._target.open(self._events.source)
                if isinstance(item, SessionStart):
                    self._reader.session_id = item.session_id
                    self._note_thread(item)

    def _items(self, batch: Batch) -> Iterator[LogItem]:
        """Yield the items of a batch."""
        if batch.items is not None:
            yield from batch.items
            return
        request_id, at = self._about.request_id, batch.at
        for timestamp, item in self._events.items(batch.stored):
            yield Stamp(request_id, at, timestamp), item
            at += len(item.texts) if isinstance(item, TextRun) else 1

    def _write_copied(self, batch: Batch, sink: CopiedWriter) -> None:
        """Write the copied frames of a batch, and the events of the batch that have no frames."""
        if batch.copied is None:
            for at, line in enumerate(batch.stored, batch.at):
                self._write_copied_event(Batch.of(at, (line,)), sink)
            return
        for stamp, item in self._items(batch):
            self._warn_of_detachment(stamp)
            self._note_end(item)
            sink.show(item, stamp)
        sink.copy(batch.copied, batch.place, range(self._copied_to, batch.end), batch.frame_ends)
        if batch.copied:
            self._copied_to = batch.end

    def _write_copied_event(self, batch: Batch, sink: CopiedWriter) -> None:
        copied = copied_in(batch.stored[0])
        if copied is not None:
            self._write_copied(replace(batch, copied=copied[0], place=copied[1]), sink)
            return
        for stamp, item in self._items(batch):
            for event in _single(item):
                self._note_end(event)
                sink.write(event, stamp)
        self._copied_to = batch.end

    def _write_item(self, stamp: Stamp, item: Event | TextRun) -> None:
        sink, first = self._target.sink, self._next
        self._warn_of_detachment(stamp)
        if not isinstance(item, TextRun):
            self._note_end(item)
            if isinstance(sink, RunWriter) and stamp.sequence == first:
                sink.skips = self._known_frames
            sink.write(item, stamp)
            self._drop_known(stamp.sequence)
            return
        known = max(0, min(len(item.texts), first - stamp.sequence))
        if known:
            sink.write_run(item.event, item.texts[:known], stamp)
            sink.take()
        if rest := item.texts[known:]:
            at = Stamp(stamp.request_id, stamp.sequence + known, stamp.timestamp)
            if isinstance(sink, RunWriter) and at.sequence == first and self._known_frames:
                sink.skips = self._known_frames
                sink.write(item.event.with_text(rest[0]), at)
                rest = rest[1:]
                at = Stamp(at.request_id, at.sequence + 1, at.timestamp)
            if rest:
                sink.write_run(item.event, rest, at)

    def _drop_known(self, sequence: int) -> None:
        """Drop the bytes of an event that the client already has."""
        if sequence < self._next:
            self._target.sink.take()

    def _warn_of_detachment(self, stamp: Stamp) -> None:
        """Warn the first client, once, before the first event that is not stored."""
        owned = self._first_of
        if owned is None or self._has_warned:
            return
        if owned.detached not in _DETACHED or stamp.sequence < owned.events:
            return
        sink, warning = self._target.sink, _DETACHED[owned.detached]
        if isinstance(sink, RunWriter):
            sink.run = None
        elif isinstance(sink, CopiedWriter):
            sink.frames_of = None
        if stamp.sequence == 0:
            return  # `session_start` comes first; the warning is written before the next event
        self._has_warned = True
        if isinstance(sink, RunWriter):
            sink.insert(warning, stamp)
        else:
            sink.write(warning, stamp)

    async def _closing(self, code: str, at: int) -> list[Event]:
        """Return the events that end a body that is cut short, for protocols that need an end."""
        lines: list[bytes] = []
        if code != "STORE_UNAVAILABLE":
            try:
                lines = [*await all_lines(self._reader.store, self._reader.name)][:at]
            except StoreUnavailable:
                lines = []
        if lines:
            try:
                ending = lost_end(lines, request_id=self._about.request_id, code=code)
                return [
                    event for _, item in EventReader(begins=False).items(ending) for event in _single(item)
                ]
            except UnreadableRun:
                lines = []
        info = error_info(code)
        error = Error(
            error_type=info.error_type,
            code=code,
            message=info.message,
            recoverable=info.recoverable,
            reason=info.reason,
        )
        return [error, SessionEnd(status="error", reason=info.reason)]


def _single(item: Event | TextRun) -> Iterator[Event]:
    if isinstance(item, TextRun):
        yield from item
    else:
        yield item


def _info_of(error: Error) -> ErrorInfo:
    """Return the classified failure of a stored error event, as far as the event contains the facts."""
    try:
        known = error_info(error.code)
    except KeyError:
        known = error_info("UPSTREAM_ERROR")
    return ErrorInfo(
        code=error.code,
        error_type=error.error_type,
        message=error.message,
        recoverable=error.recoverable,
        status=known.status,
        reason=known.reason,
        retry_after_ms=error.retry_after_ms,
    )
