"""A run that this process makes: what is read goes to the store first, and then to those who read along here.

Source: the contract of resumable streams, sections 2 (store, then send) and 5 (when things break).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Final, Literal, TypeAlias

import msgspec

from streamweir.errors import StreamweirError
from streamweir.runs.eager_append import append_soon_of
from streamweir.runs.event_log import Batch
from streamweir.runs.follower import AHEAD_BYTES, Follower
from streamweir.runs.found_run import About
from streamweir.runs.store import RunLost, RunStore, Signals, StoreUnavailable

__all__ = ["Detached", "OwnedRun"]

logger = logging.getLogger("streamweir")

Detached: TypeAlias = Literal["limit", "store", "fenced", "unclaimed"]
"""Why a run is not stored any longer: it is too long, its store is out of reach, another one took it over; or
that it never was.
"""


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
        name: of the run in the store.
        token: proves the ownership to the store.
        ttl: seconds for which it is kept after its end.
        max_bytes: of the JSON of its events.
    """

    def __init__(
        self,
        store: RunStore,
        name: str,
        token: str,
        *,
        ttl: float,
        max_bytes: int,
    ) -> None:
        self.name: Final = name
        self.detached: Detached | None = None
        self.events = 0
        self.ended = False
        self.readers = 0
        self._store: Final = store
        self._token: Final = token
        self._ttl: Final = ttl
        self._room = max_bytes
        self._append_soon: Final = append_soon_of(store)
        self._followers: list[Follower] = []
        self._waiting: list[Batch] = []
        self._storing: Batch | None = None
        self._bytes = 0  # of both
        self._ends = False
        self._seeing: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def lease(self) -> float:
        """Seconds for which it is owned since the last append or renewal."""
        return self._store.lease

    async def claim(self, about: About) -> bool:
        """Begin the run in the store; False if a run with this name exists.

        Raises:
            StoreUnavailable: the run is not stored; its first client gets it all the same.
        """
        try:
            return await self._store.claim(self.name, self._token, msgspec.json.encode(about), ttl=self._ttl)
        except StoreUnavailable:
            self.detached = "unclaimed"
            raise

    def follow(self, *, is_first: bool = False) -> Follower:
        """Return what gets each batch from the next one on; the first client's never falls behind."""
        follower = Follower(is_first=is_first)
        self._followers.append(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        """Give `follower` nothing any longer."""
        if follower in self._followers:
            self._followers.remove(follower)

    def push(self, batch: Batch, *, ends: bool = False) -> bool:
        """Store a batch, then give it to those who follow. Once detached, only the first client gets it.

        Args:
            batch: it.
            ends: it is the last one.

        Returns:
            False where too much waits already; `until_room` waits for it.
        """
        self._bytes += batch.size
        self._ends = ends
        if self._storing is None:
            self._store_batch(batch)
        else:
            self._waiting.append(batch)  # what comes meanwhile goes as one
        return self._bytes <= AHEAD_BYTES and (self.detached is None or self.has_room)

    @property
    def has_room(self) -> bool:
        """What waits, for the store or for the first client, may become more."""
        if self._bytes > AHEAD_BYTES:
            return False
        return self.detached is None or all(follower.has_room for follower in self._first_followers())

    async def until_room(self) -> None:
        """Wait until most of what was pushed is stored, and given on."""
        while self._bytes > AHEAD_BYTES:
            await self._progress()
        if self.detached is not None:
            for follower in self._first_followers():
                await follower.until_room()

    async def until_stored(self) -> None:
        """Wait until nothing waits for the store."""
        while self._storing is not None:
            await self._progress()

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

    def _store_batch(self, batch: Batch) -> None:
        if self.detached is not None:
            self._give(batch)
            return
        self._storing = batch
        self._room -= batch.size
        if self._room < 0:
            self._detach("limit")
            self._see_to(self._discard())
            return
        self._append_soon(
            self.name,
            self._token,
            batch.at,
            batch.stored,
            ttl=self._ttl,
            ends=self._ends,
            stored=self._settle,
        )

    def _settle(self, error: StreamweirError | None = None) -> None:
        """Give on what was on its way, whatever became of it."""
        if error is not None:
            if isinstance(error, RunLost):
                self._see_to(self._lose())
                return
            self._detach("store")
        batch, self._storing = self._storing, None
        assert batch is not None
        self._give(batch)
        if self._waiting:
            batches, self._waiting = self._waiting, []
            self._store_batch(Batch.joined(batches))
        if self._waiters:
            self._wake_waiters()

    def _see_to(self, what: Coroutine[Any, Any, None]) -> None:
        """Do what has to be waited for, before anything goes on."""

        async def see() -> None:
            try:
                await what
            except Exception:
                logger.exception("the store of a run failed")
                self._detach("store")
            self._settle()

        self._seeing = asyncio.create_task(see())

    def _give(self, batch: Batch) -> None:
        ends = self._ends and not self._waiting
        self._bytes -= batch.size
        if self.detached is None:
            self.events = batch.end
            for follower in tuple(self._followers):
                follower.put(batch, ends=ends)
        elif self.detached != "fenced":
            for follower in self._first_followers():
                follower.put(batch, ends=ends)
        if ends:
            self.finish()

    def _first_followers(self) -> list[Follower]:
        return [follower for follower in self._followers if follower.is_first]

    def _wake_waiters(self) -> None:
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()

    async def _progress(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        await waiter

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
