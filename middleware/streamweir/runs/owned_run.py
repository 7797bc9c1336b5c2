"""A run that this process makes: what is read goes to the store first, and then to those who read along here.

Source: the contract of resumable streams, sections 2 (store, then send) and 5 (when things break).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Literal, TypeAlias

from streamweir.runs.event_log import Batch
from streamweir.runs.store import RunLost, RunStore, Signals, StoreUnavailable

__all__ = ["Detached", "Follower", "OwnedRun"]

Detached: TypeAlias = Literal["limit", "store", "fenced", "unclaimed"]
"""Why a run is not stored any longer: it is too long, its store is out of reach, another one took it over; or
that it never was.
"""

_AHEAD_BYTES: Final = 256 << 10
"""So much may wait for a reader of this process; who is further behind reads the store."""


class OwnedRun:
    """A run that this process owns.

    Attributes:
        name: of the run in the store.
        detached: why it is not stored any longer; None while it is.
        events: how many are stored.
        ended: the last event has been given to those who follow.
        readers: how many read it here.

    Args:
        store: where it is kept.
        name: of the run in the store, claimed with `token`.
        token: that appends need.
        ttl: seconds for which it is kept after its end.
        max_bytes: of the JSON of its events.
        detached: `unclaimed` for one that the store does not know; its first client gets it all the same.
    """

    def __init__(
        self,
        store: RunStore,
        name: str,
        token: str,
        *,
        ttl: float,
        max_bytes: int,
        detached: Literal["unclaimed"] | None = None,
    ) -> None:
        self.name: Final = name
        self.detached: Detached | None = detached
        self.events = 0
        self.ended = False
        self.readers = 0
        self._store: Final = store
        self._token: Final = token
        self._ttl: Final = ttl
        self._room = max_bytes
        self._followers: list[Follower] = []

    @property
    def lease(self) -> float:
        """Seconds for which it is owned since the last append or renewal."""
        return self._store.lease

    def follow(self, *, is_first: bool = False) -> Follower:
        """Return what gets each batch from the next one on; the first client's never falls behind."""
        follower = Follower(is_first=is_first)
        self._followers.append(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        """Give `follower` nothing any longer."""
        if follower in self._followers:
            self._followers.remove(follower)

    async def append(self, batch: Batch, *, ends: bool = False) -> None:
        """Store a batch, then give it to those who follow. Once detached, only the first client gets it.

        Args:
            batch: it.
            ends: it is the last one.
        """
        if self.detached is None:
            await self._store_batch(batch, ends=ends)
        if self.detached is None:
            self.events = batch.end
            for follower in tuple(self._followers):
                follower.put(batch)
        elif self.detached != "fenced":
            await self._give_to_first(batch)
        if ends:
            self.finish()

    def finish(self) -> None:
        """Nothing more comes."""
        self.ended = True
        for follower in self._followers:
            follower.wake()

    async def renew(self) -> Signals | None:
        """Keep the lease; return what the owner has to know, None where the run is not stored any longer.

        Raises:
            StoreUnavailable: nothing is known for now.
        """
        if self.detached is not None or self.ended:
            return None
        try:
            return await self._store.renew(self.name, self._token, ttl=self._ttl)
        except RunLost:
            if not self.ended:
                await self._lose()
            return None

    async def forget(self) -> None:
        """Leave no trace of the run."""
        try:
            await self._store.forget(self.name)
        except StoreUnavailable:
            return

    async def _store_batch(self, batch: Batch, *, ends: bool) -> None:
        self._room -= batch.size
        if self._room < 0:
            self._detach("limit")
            await self._discard()
            return
        try:
            await self._store.append(self.name, self._token, batch.at, batch.stored, ttl=self._ttl, ends=ends)
        except StoreUnavailable:
            self._detach("store")
        except RunLost:
            await self._lose()

    async def _lose(self) -> None:
        """Find out whether somebody else has the run, or the store has lost it."""
        try:
            state = await self._store.look(self.name)
        except StoreUnavailable:
            state = None
        is_taken = state is not None and state.state == "ended"
        self._detach("fenced" if is_taken else "store")

    async def _discard(self) -> None:
        try:
            await self._store.discard(self.name, self._token, ttl=self._ttl)
        except (RunLost, StoreUnavailable):
            return

    def _detach(self, cause: Detached) -> None:
        if self.detached is None:
            self.detached = cause
            for follower in self._followers:
                follower.wake()

    async def _give_to_first(self, batch: Batch) -> None:
        for follower in tuple(self._followers):
            if follower.is_first:
                follower.put(batch)
                await follower.has_room()


class Follower:
    """What waits for one reader of this process.

    Attributes:
        is_first: it is the client that the run was started for, which gets all whatever becomes of the store.
    """

    def __init__(self, *, is_first: bool) -> None:
        self.is_first: Final = is_first
        self._batches: deque[Batch] = deque()
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._taken = asyncio.Event()

    def put(self, batch: Batch) -> None:
        """Add a batch; who is too far behind loses all that waits, and reads it in the store."""
        size = batch.size
        if self._bytes + size > _AHEAD_BYTES and self._batches:
            if self.is_first:
                batch = batch._replace(items=None)  # as it is stored it takes less
            else:
                self._let_go()
                self._changed.set()
                return
        self._batches.append(batch)
        self._sizes.append(size)
        self._bytes += size
        self._changed.set()

    def take(self, at: int) -> Batch | None:
        """Return what waits from position `at` on; None where that is not here."""
        while self._batches and self._batches[0].end <= at:
            self._drop()
        if not self._batches or self._batches[0].at > at:
            return None
        batch = self._drop()
        if batch.at < at:
            batch = Batch(at, batch.stored[at - batch.at :], None)
        return batch

    async def wait(self, seconds: float) -> None:
        """Wait until something may have changed."""
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            return

    async def has_room(self) -> None:
        """Wait until the reader has taken most of what waits for it."""
        while self._bytes > _AHEAD_BYTES:
            self._taken.clear()
            await self._taken.wait()

    def wake(self) -> None:
        """Something else has changed."""
        self._changed.set()

    def close(self) -> None:
        """The reader is gone: nobody waits for it."""
        self._let_go()
        self._taken.set()

    def _let_go(self) -> None:
        self._batches.clear()
        self._sizes.clear()
        self._bytes = 0

    def _drop(self) -> Batch:
        batch = self._batches.popleft()
        self._bytes -= self._sizes.popleft()
        self._taken.set()
        return batch
