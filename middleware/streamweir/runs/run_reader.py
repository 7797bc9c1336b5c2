"""Reads one run from a position on: what is stored, then what comes, to the end.

Source: the contract of resumable streams, sections 3 and 5.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from streamweir.runs.closing import lost_end
from streamweir.runs.event_log import Batch
from streamweir.runs.follower import Follower, Taker
from streamweir.runs.owned_run import OwnedRun
from streamweir.runs.store import RunState, RunStore, StoreFull, StoreUnavailable
from streamweir.runs.stored_event import UnreadableRun

__all__ = ["About", "CutShort", "RunReader", "all_lines", "is_unread"]

_UNREAD_SECONDS: Final = 1.5
"""After so long nobody reads a run any longer: readers elsewhere say once a second that they are there."""

_TOUCH_SECONDS: Final = 1.0
_ORPHAN_SECONDS: Final = 1.0
"""So long after its lease is over a run counts as lost: its owner may only be slow."""

CutShort: TypeAlias = Literal["STORE_UNAVAILABLE", "RUN_LOST"]


def is_unread(alone: float, allowed: float) -> bool:
    """Return whether nobody has read a run for longer than it may go on alone, never too early.

    Args:
        alone: seconds since a reader was seen, which is when it left or up to a second before.
        allowed: seconds for which the run may go on.
    """
    return alone >= max(allowed + _TOUCH_SECONDS if allowed else 0.0, _UNREAD_SECONDS)


class About(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run is claimed with: what anybody has to know who reads it without its owner.

    Attributes:
        endpoint: the template of its path.
        path: as the client called it.
        body: a digest of the request.
        protocol: that the first client asked for.
        framing: likewise.
        request_id: of the run.
        started_at: Unix milliseconds.
        ttl: seconds for which it is kept after its end.
        handle: only where runs can be found.
    """

    endpoint: str
    path: str = ""
    body: str = ""
    protocol: str = "standard"
    framing: str = "sse"
    request_id: str
    started_at: int
    ttl: float = 300.0
    handle: str | None = None


class RunReader:
    """One reader of a run, wherever its owner is.

    Attributes:
        at: the position of the next event.
        cut_short: why it could not be read to its end; None if it could.
        has_seized: this reader ended the run, which nobody owned any longer.

    Args:
        store: where the run is kept.
        name: of the run in the store.
        about: the run.
        owned: the run, where this process owns it.
        is_first: it was started for this reader.
        at: the first position to read.
    """

    def __init__(
        self,
        store: RunStore,
        name: str,
        about: About,
        *,
        owned: OwnedRun | None = None,
        is_first: bool = False,
        at: int = 0,
    ) -> None:
        self.at = at
        self.cut_short: CutShort | None = None
        self.has_seized = False
        self._store: Final = store
        self._name: Final = name
        self._about: Final = about
        self._owned = owned
        self._is_first: Final = is_first
        self._follower: Follower | None = None if owned is None else owned.follow(is_first=is_first)
        self._touched_at = time.monotonic()
        self._unowned_since: float | None = None
        self._failing_since: float | None = None
        if owned is not None:
            owned.readers += 1

    def close(self) -> None:
        """Read no more."""
        if self._owned is not None and self._follower is not None:
            self._owned.readers -= 1
            self._owned.leave(self._follower)
            self._follower.close()
            self._follower = None

    @property
    def has_last(self) -> bool:
        """The last event of a run of this process has been read: it leaves with the end of the body."""
        owned = self._owned
        return owned is not None and owned.ended and self.at >= owned.events

    async def next(self, taker: Taker | None = None) -> Batch | None:
        """Return what is stored next, as soon as it is; None at the end, or where `cut_short` says why.

        Args:
            taker: is given what comes while this waits; what it leaves over ends that, with an empty batch.
        """
        batch = await self._next(taker)
        if batch is not None:
            self.at = batch.end
        return batch

    async def _next(self, taker: Taker | None) -> Batch | None:
        while self.cut_short is None:
            if (batch := self._live()) is not None:
                return batch
            if self._is_over_here():
                return None
            if self._is_fed_here():
                if await self._follow(taker):
                    return Batch.of(self.at, (), ())
                continue
            try:
                if lines := await self._store.read(self._name, self.at):
                    self._failing_since = None
                    return Batch.of(self.at, lines)
                if await self._is_over_there():
                    return None
            except StoreUnavailable:
                await self._note_failure()
            except UnreadableRun:
                self.cut_short = "RUN_LOST"
        return None

    def _live(self) -> Batch | None:
        return None if self._follower is None else self._follower.take(self.at)

    def _is_over_here(self) -> bool:
        """Everything has been read of a run that this process owns."""
        owned = self._owned
        if owned is None or not owned.ended or owned.detached == "fenced":
            return False
        if owned.detached is None:
            return self.at >= owned.events
        return self._is_first

    def _is_fed_here(self) -> bool:
        """What comes next comes from this process."""
        owned = self._owned
        if owned is None or owned.detached == "fenced":
            return False
        if owned.detached is not None:
            if not self._is_first:
                self.cut_short = "RUN_LOST" if owned.detached == "limit" else "STORE_UNAVAILABLE"
            return True
        return self.at >= owned.events

    async def _follow(self, taker: Taker | None) -> bool:
        """Wait for what this process stores next; return whether `taker` has left something over.

        The one who makes the run sees that it is read: the store need not be told.
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

    async def _is_over_there(self) -> bool:
        """Nothing more is stored for now: wait for it, unless the run is over or lost."""
        state = await self._store.look(self._name)
        self._failing_since = None
        if state is None or state.state == "gone":
            self.cut_short = "RUN_LOST"
            return True
        if state.events > self.at:
            return False
        if state.state == "ended":
            return True
        await self._look_after(state)
        if self.cut_short is not None:
            return True
        await self._touch()
        await self._store.wait(self._name, self.at, _TOUCH_SECONDS)
        return False

    async def _look_after(self, state: RunState) -> None:
        """End the run if nobody owns it any longer."""
        now = time.monotonic()
        if state.owned:
            self._unowned_since = None
        elif self._unowned_since is None:
            self._unowned_since = now
        elif now - self._unowned_since >= _ORPHAN_SECONDS:
            lines = await all_lines(self._store, self._name)
            closing = lost_end(lines, request_id=self._about.request_id)
            try:
                seized = await self._store.seize(self._name, len(lines), closing, ttl=self._about.ttl)
            except StoreFull:  # which nobody can write an end to
                self.cut_short = "RUN_LOST"
            else:
                self.has_seized = self.has_seized or seized

    async def _touch(self) -> None:
        now = time.monotonic()
        if now - self._touched_at >= _TOUCH_SECONDS and (self._owned is None or self._owned.detached is None):
            self._touched_at = now
            try:
                await self._store.touch(self._name)
            except StoreUnavailable:
                return

    async def _note_failure(self) -> None:
        """The store is out of reach: for longer than the lease nobody knows what becomes of the run."""
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        elif now - self._failing_since > self._store.lease:
            self.cut_short = "STORE_UNAVAILABLE"
            return
        await asyncio.sleep(0.2)


async def all_lines(store: RunStore, name: str) -> Sequence[bytes]:
    """Return all that is stored of a run.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    lines: list[bytes] = []
    while page := await store.read(name, len(lines)):
        lines += page
    return lines
