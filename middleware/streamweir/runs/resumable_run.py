"""A resumable run in the process that makes it: its claim, its lease, its readers and its end.

    state      entered when                             stored?            read by
    ────────   ──────────────────────────────────────   ────────────────   ──────────────────────────
    new        the object is made                       no                 no reader
    stored     `claim` returned True                    yes                clients of every process
    detached   `limit`: longer than `max_bytes`         no longer          its first client alone;
               `store`: the store failed, or lost it    no longer          other readers are cut short
               `unclaimed`: the store failed at once    never
    fenced     the lease was lost, and another          by the other one   clients of other processes;
               process has ended the run                                   nothing more is sent here
    ended      the readers have the last event, or      as before          as before
               the source was abandoned

A run never returns to an earlier state. `owned.detached` tells detached and fenced runs from others, and
`owned.ended` those that have ended.

In each state `stop` asks the source for an end, once: `cancelled` on request, `client_gone` after the run has
been unread for too long. The source writes that end like any other event. If there are two ends, the one that
is stored first counts.

`look_after` runs beside the source. At least once a second it renews the lease, looks for a cancel from
another process, and measures for how long the run has had no reader.

Source: the contract of resumable streams, sections 1, 2 and 5.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias, cast

from streamweir.runs.copying_log import CopyingLog
from streamweir.runs.event_log import Batch, EventLog
from streamweir.runs.found_run import About
from streamweir.runs.handles import run_name
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.run_index import RunIndex
from streamweir.runs.run_reader import TOUCH_SECONDS, RunReader
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir.runs.stored_event import Source
from streamweir.translation.open_writer import Writer
from streamweir.translation.sink import EventSink
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter

__all__ = ["ResumableRun", "Retention", "RunSource", "StopReason", "UnreadLimits"]

logger = logging.getLogger("streamweir")

_LOOK_SECONDS: Final = 1.0
"""The longest time between two checks for a cancel from another process."""

_UNREAD_SECONDS: Final = 1.5
"""The shortest time after which a run counts as unread: readers in other processes report once a second."""

StopReason: TypeAlias = Literal["cancelled", "client_gone"]


class Retention(Protocol):
    """The options of how runs are kept: a `streamweir.runs.Resume`, or the key `resume` of an endpoint."""

    @property
    def ttl(self) -> float:
        """The seconds for which a run is kept after its end."""

    @property
    def max_bytes(self) -> int:
        """The most bytes of JSON that the events of one run may take."""

    @property
    def find(self) -> bool:
        """Whether runs can be found by their ids."""


class UnreadLimits(NamedTuple):
    """The seconds for which a run without a reader continues; None: until its end.

    Attributes:
        stored: the limit while the run can be resumed.
        detached: the limit once it cannot be resumed. In the gateway this is `on_disconnect`, as for an
            endpoint without `resume`; in the middleware it is 0, so that an application learns at once that
            its client has left.
    """

    stored: float | None
    detached: float | None


class RunSource(Protocol):
    """The upstream or application that makes the events of a run; the run can end it."""

    async def end(self, reason: StopReason) -> None:
        """End the stream on request, which is not a failure."""

    def abandon(self) -> None:
        """Drop the stream: the run is fenced, and no later event of the source is delivered."""


class ResumableRun:
    """One run that this process makes.

    Attributes:
        handle: the name of the run for clients.
        name: the name of the run in the store.
        owned: stores the run's events and gives them to readers in this process.
        stop_reason: the argument of the first `stop`; None before.

    Args:
        store: keeps the run.
        handle: the name of the run for clients.
        owner: the owner of the run; None: every client that has the handle.
        retention: how the run is kept.
        unread: for how long the run continues without a reader.
    """

    def __init__(
        self, store: RunStore, handle: str, *, owner: str | None, retention: Retention, unread: UnreadLimits
    ) -> None:
        self.handle: Final = handle
        self.name: Final = run_name(owner, handle)
        self.owned: Final = OwnedRun(
            store, self.name, secrets.token_hex(16), ttl=retention.ttl, max_bytes=retention.max_bytes
        )
        self._store: Final = store
        self._unread: Final = unread
        self._index = RunIndex(store, self.name, owner, ttl=retention.ttl) if retention.find else None
        self._log: EventLog
        self._unsent: Batch | None = None
        """A batch that `send_at_once` has left to `send`, because the ids in it have to be indexed first."""
        self.stop_reason: StopReason | None = None
        self._stopped: Final = asyncio.Event()
        self._read_at = time.monotonic()

    # Beginning

    async def claim(self, about: About) -> bool:
        """Begin the run in the store.

        Returns:
            False if a run with this handle exists.

        Raises:
            StoreUnavailable: the run is not claimed.
        """
        return await self.owned.claim(about)

    async def note_request(self, request_id: str, names: Mapping[str, str]) -> None:
        """Make the run findable by the ids of its request and its conversation, if runs can be found.

        Args:
            request_id: the id of the request.
            names: the ids that the client uses for the conversation, by their kind.
        """
        if self._index is not None and self.owned.detached is None:
            await self._index.note_request(request_id, names)

    def open_log(self, source: Callable[[], Source], writer: Writer | None = None) -> EventLog:
        """Return a sink for the events of the run; the sink of a second call replaces the first.

        Args:
            source: returns the source of the events; called when the stream begins.
            writer: the writer of the first client. Frames of the upstream that it copies are stored too.
        """
        if isinstance(writer, VerbatimWriter):
            self._log = CopyingLog(source, writer)
        else:
            self._log = EventLog(source)
        return self._log

    def choose_log(self, sink: EventSink) -> None:
        """Make `sink`, one of the logs that were opened, the log of the run."""
        self._log = cast("EventLog", sink)

    def first_reader(self, about: About) -> RunReader:
        """Return the reader of the client that the run is started for."""
        handle = self.handle if self.owned.detached is None else None
        return RunReader(self._store, handle, self.name, about, owned=self.owned, is_first=True)

    # Storing

    def send_at_once(self, now: float) -> bool:
        """Store the written part of the log without waiting; return False if `send` has to store the rest.

        Args:
            now: `time.monotonic()`; not used, see `Audience`.
        """
        del now
        batch = self._log.take() if self._index is None else self._take()
        if batch is None:
            return True
        if self._index is not None and self._has_ids(batch):
            self._unsent = batch
            return False
        return self.owned.push(batch)

    @property
    def has_unsent(self) -> bool:
        """Whether `send` has bytes to store, or has to wait."""
        return self._unsent is not None or not self.owned.can_take_more

    async def send(self) -> None:
        """Store the written part of the log, and wait until there is room for more."""
        batch = self._take()
        if batch is not None:
            await self._index_ids(batch)
            self.owned.push(batch)
        await self.owned.until_can_take_more()

    async def finish(self) -> None:
        """Store the last events, and wait until they are stored; this ends the run."""
        batch = self._take()
        if batch is not None:
            await self._index_ids(batch)
            self.owned.push(batch, ends=True)
        await self.owned.until_stored()
        if batch is None:
            self.owned.finish()
        if self._index is not None:
            await self._index.end()

    async def _index_ids(self, batch: Batch) -> None:
        if self._index is not None and self._has_ids(batch):
            await self._index.note(batch)

    def _has_ids(self, batch: Batch) -> bool:
        """Return whether a batch may hold ids by which the run is to be found."""
        return self._index is not None and self.owned.detached is None and self._index.looks_at(batch)

    def _take(self) -> Batch | None:
        before, self._unsent = self._unsent, None
        batch = self._log.take()
        if before is None:
            return batch
        return before if batch is None else Batch.joined([before, batch])

    # Ending

    def stop(self, reason: StopReason) -> None:
        """Ask the source to end the run. Later calls are ignored."""
        if self.stop_reason is None:
            self.stop_reason = reason
            self._stopped.set()

    async def look_after(self, source: RunSource) -> None:
        """Renew the lease until the run has ended; end it if it is stopped, unread for too long or fenced."""
        seconds = min(_LOOK_SECONDS, self.owned.lease / 3)
        is_stopped = False
        while not self.owned.ended and self.owned.detached != "fenced":
            if is_stopped:
                await asyncio.sleep(seconds)
            else:
                with suppress(TimeoutError):
                    async with asyncio.timeout(seconds):
                        await self._stopped.wait()
            if self.stop_reason is not None and not is_stopped:
                is_stopped = True
                await source.end(self.stop_reason)
            else:
                await self._look()
        if self.owned.detached == "fenced":
            source.abandon()

    async def _look(self) -> None:
        try:
            await self._renew()
        except StoreUnavailable:
            return
        except Exception:
            logger.exception("looking after a run failed")

    async def _renew(self) -> None:
        """Renew the lease; stop the run if it was cancelled, or has had no reader for too long."""
        now, owned = time.monotonic(), self.owned
        if owned.readers:
            self._read_at = now
        signals = await owned.renew()
        if signals is not None and self._index is not None:
            await self._index.renew()
        if owned.ended or owned.detached in ("fenced", "unclaimed"):
            return  # the source of an unclaimed run learns from the server that its client has left
        unread, allowed = now - self._read_at, self._unread.detached
        if signals is not None:
            if signals.cancelled:
                self.stop("cancelled")
                return
            unread, allowed = min(unread, signals.unread_for), self._unread.stored
        if allowed is not None and not owned.readers and _is_unread(unread, allowed):
            self.stop("client_gone")


def _is_unread(unread: float, allowed: float) -> bool:
    """Return whether a run has been unread for longer than allowed; never too early.

    Args:
        unread: seconds since a reader was last seen; the reader may have left up to a second later.
        allowed: seconds for which the run may continue without a reader.
    """
    return unread >= max(allowed + TOUCH_SECONDS if allowed else 0.0, _UNREAD_SECONDS)
