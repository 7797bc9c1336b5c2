"""Reads one run to its end: stored events first, then events as they are stored.

    the next event is ...                      and is read from
    ────────────────────────────────────────   ─────────────────────────────────────────────────────────
    made here, the reader is close behind      the follower of `OwnedRun`, without the store
    made here, the reader is far behind        the store, page by page
    made in another process                    the store; `wait` tells when there is more
    missing: the owner has lost the run        this reader seizes the run and writes its end; so does
                                               any other reader, and the store lets one win
    missing: the store does not answer         after `lease` seconds the body is cut short

Source: the contract of resumable streams, sections 3 and 5.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from streamweir.runs.closing import lost_end
from streamweir.runs.event_log import Batch
from streamweir.runs.follower import Follower, Taker
from streamweir.runs.found_run import About
from streamweir.runs.handles import Position
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.store import RunState, RunStore, StoreFull, StoreUnavailable
from streamweir.runs.stored_event import UnreadableRun

__all__ = ["TOUCH_SECONDS", "CutShort", "RunReader", "all_lines"]

TOUCH_SECONDS: Final = 1.0
"""The seconds between two notes in the store that a reader still reads the run."""

_ORPHAN_SECONDS: Final = 1.0
"""The seconds after the expiry of its lease when a run is lost; before, its owner may only be slow."""

CutShort: TypeAlias = Literal["STORE_UNAVAILABLE", "RUN_LOST"]


class RunReader:
    """One reader of a run, in the process that makes the run or in another one. `close` ends it.

    Attributes:
        store: keeps the run.
        handle: the handle of the run; None if it was never stored: its events have no ids.
        name: the name of the run in the store.
        about: the facts that the run was claimed with.
        position: the position up to which the client has read; None: it wants the whole run.
        first_of: the run, if the run was started for this reader; else None.
        at: the position of the next event. Starts at 0 for every client, because encoders need all events.
        cut_short: why the run could not be read to its end; None if it could.
        has_seized: this reader ended the run, because its owner had lost the lease.
        session_id: the session of the run; None before its first event has been written.
        thread_id: the conversation of the run, as far as the written events tell it.

    Args:
        owned: the run, if this process makes it; else None.
        is_first: the run was started for this reader.
    """

    def __init__(
        self,
        store: RunStore,
        handle: str | None,
        name: str,
        about: About,
        *,
        owned: OwnedRun | None = None,
        is_first: bool = False,
        position: Position | None = None,
    ) -> None:
        self.store: Final = store
        self.handle: Final = handle
        self.name: Final = name
        self.about: Final = about
        self.position: Final = position
        self.first_of: Final = owned if is_first else None
        self.at = 0
        self.cut_short: CutShort | None = None
        self.has_seized = False
        self.session_id: str | None = None
        self.thread_id: str | None = None
        self._owned = owned
        self._is_first: Final = is_first
        self._follower: Follower | None = None if owned is None else owned.follow(is_first=is_first)
        self._touched_at = time.monotonic()
        self._unowned_since: float | None = None
        self._failing_since: float | None = None
        if owned is not None:
            owned.readers += 1

    def close(self) -> None:
        """Stop reading."""
        if self._owned is not None and self._follower is not None:
            self._owned.readers -= 1
            self._owned.leave(self._follower)
            self._follower.close()
            self._follower = None

    @property
    def has_last(self) -> bool:
        """Whether the last event of a local run was read: that event is sent with the end of the body."""
        owned = self._owned
        return owned is not None and owned.ended and self.at >= owned.events

    async def next(self, taker: Taker | None = None) -> Batch | None:
        """Return the next batch once it is stored; None at the end of the run, or if `cut_short` is set.

        Args:
            taker: called with each batch that arrives while this call waits, so that the task need not wake
                up. If the taker cannot send all of a batch, an empty batch is returned.
        """
        batch = await self._next(taker)
        if batch is not None:
            self.at = batch.end
        return batch

    async def _next(self, taker: Taker | None) -> Batch | None:
        while self.cut_short is None:
            if (batch := self._followed()) is not None:
                return batch
            if self._has_local_end():
                return None
            if self._is_fed_locally():
                if await self._follow(taker):
                    return Batch.of(self.at, (), ())
                continue
            try:
                if lines := await self.store.read(self.name, self.at):
                    self._failing_since = None
                    return Batch.of(self.at, lines)
                if await self._has_remote_end():
                    return None
            except StoreUnavailable:
                await self._note_failure()
            except UnreadableRun:
                self.cut_short = "RUN_LOST"
        return None

    def _followed(self) -> Batch | None:
        return None if self._follower is None else self._follower.take(self.at)

    def _has_local_end(self) -> bool:
        """Return whether all events of a run that ended in this process have been read."""
        owned = self._owned
        if owned is None or not owned.ended or owned.detached == "fenced":
            return False
        if owned.detached is None:
            return self.at >= owned.events
        return self._is_first

    def _is_fed_locally(self) -> bool:
        """Return whether the next event comes from this process; set `cut_short` if no source has it."""
        owned = self._owned
        if owned is None or owned.detached == "fenced":
            return False
        if owned.detached is not None:
            if not self._is_first:
                self.cut_short = "RUN_LOST" if owned.detached == "limit" else "STORE_UNAVAILABLE"
            return True
        return self.at >= owned.events

    async def _follow(self, taker: Taker | None) -> bool:
        """Wait for the next batch of this process; return whether `taker` failed to send all of a batch.

        The run itself counts its readers in this process, so the store need not be touched.
        """
        follower = self._follower
        if self.cut_short is not None or follower is None:
            return False
        if taker is None:
            await follower.wait()
            return False
        try:
            return await follower.relay(self.at, taker)
        finally:
            self.at = follower.relayed_to

    async def _has_remote_end(self) -> bool:
        """Return whether the run has ended or is lost; if not, wait a moment for its next event."""
        state = await self.store.look(self.name)
        self._failing_since = None
        if state is None or state.state == "gone":
            self.cut_short = "RUN_LOST"
            return True
        if state.events > self.at:
            if not await self.store.read(self.name, self.at):
                self.cut_short = "RUN_LOST"  # the store has lost events that it counts
                return True
            return False
        if state.state == "ended":
            return True
        await self._check_lease(state)
        if self.cut_short is not None:
            return True
        await self._touch()
        await self.store.wait(self.name, self.at, TOUCH_SECONDS)
        return False

    async def _check_lease(self, state: RunState) -> None:
        """Seize the run if its lease expired too long ago."""
        now = time.monotonic()
        if state.owned:
            self._unowned_since = None
        elif self._unowned_since is None:
            self._unowned_since = now
        elif now - self._unowned_since >= _ORPHAN_SECONDS:
            lines = await all_lines(self.store, self.name)
            closing = lost_end(lines, request_id=self.about.request_id)
            try:
                seized = await self.store.seize(self.name, len(lines), closing, ttl=self.about.ttl)
            except StoreFull:  # no end can be stored either
                self.cut_short = "RUN_LOST"
            else:
                self.has_seized = self.has_seized or seized

    async def _touch(self) -> None:
        now = time.monotonic()
        if now - self._touched_at >= TOUCH_SECONDS and (self._owned is None or self._owned.detached is None):
            self._touched_at = now
            try:
                await self.store.touch(self.name)
            except StoreUnavailable:
                return

    async def _note_failure(self) -> None:
        """Note that the store does not answer; cut the body short if that lasts longer than the lease."""
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since > self.store.lease:
            self.cut_short = "STORE_UNAVAILABLE"
            return
        await asyncio.sleep(0.2)


async def all_lines(store: RunStore, name: str) -> Sequence[bytes]:
    """Return all stored events of a run.

    Raises:
        StoreUnavailable: the store does not answer.
    """
    lines: list[bytes] = []
    while page := await store.read(name, len(lines)):
        lines += page
        await asyncio.sleep(0)  # a store in this process reads without waiting
    return lines
