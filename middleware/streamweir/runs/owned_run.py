"""The events of a run that this process makes: stored first, and only then given to its readers here.

    events     where they are
    ────────   ──────────────────────────────────────────────────────────────────────────────────────────
    storing    `_storing`: one append on its way to the store, or a task that finds out why the append failed
    waiting    `_waiting`: pushed meanwhile; they become the next append
    given      with their followers; `events` counts those that are stored

A run that is detached appends nothing: a batch goes to the first client at once; once the run is fenced, it
goes to no client.

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
from streamweir.runs.follower import MAX_BUFFERED_BYTES, Follower
from streamweir.runs.found_run import About
from streamweir.runs.store import RunLost, RunStore, Signals, StoreUnavailable

__all__ = ["Detached", "OwnedRun"]

logger = logging.getLogger("streamweir")

Detached: TypeAlias = Literal["limit", "store", "fenced", "unclaimed"]
"""Why a run is not stored: `limit`: it is longer than allowed; `store`: the store failed; `fenced`: another
process ended it; `unclaimed`: the store failed when the run was claimed.
"""


class OwnedRun:
    """Stores the events of one run and gives them to its readers in this process.

    Attributes:
        name: the name of the run in the store.
        detached: why the run is not stored; None while it is stored. Once set it never changes.
        events: the number of stored events.
        ended: the readers have the last event. No batch is pushed afterwards.
        readers: the number of readers in this process.

    Args:
        store: keeps the run.
        name: the name of the run in the store.
        token: proves the ownership to the store.
        ttl: seconds for which it is kept after its end.
        max_bytes: the most bytes of JSON that its events may take.
    """

    def __init__(self, store: RunStore, name: str, token: str, *, ttl: float, max_bytes: int) -> None:
        self.name: Final = name
        self.detached: Detached | None = None
        self.events = 0
        self.ended = False
        self.readers = 0
        self._store: Final = store
        self._token: Final = token
        self._ttl: Final = ttl
        self._bytes_left = max_bytes
        self._append_soon: Final = append_soon_of(store)
        self._followers: list[Follower] = []
        self._waiting: list[Batch] = []
        self._storing: Batch | None = None
        self._bytes = 0  # storing and waiting
        self._ends = False
        self._resolving: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def lease(self) -> float:
        """Seconds for which the run is owned after an append or a renewal."""
        return self._store.lease

    async def claim(self, about: About) -> bool:
        """Begin the run in the store; return False if a run with this name exists.

        Raises:
            StoreUnavailable: the run is not stored; its first client still gets it.
        """
        try:
            return await self._store.claim(self.name, self._token, msgspec.json.encode(about), ttl=self._ttl)
        except StoreUnavailable:
            self.detached = "unclaimed"
            raise

    def follow(self, *, is_first: bool = False) -> Follower:
        """Return the buffer of a new reader, which gets every batch from now on."""
        follower = Follower(is_first=is_first)
        self._followers.append(follower)
        return follower

    def leave(self, follower: Follower) -> None:
        """Stop giving batches to `follower`."""
        if follower in self._followers:
            self._followers.remove(follower)

    def push(self, batch: Batch, *, ends: bool = False) -> bool:
        """Store a batch, then give it to the readers. If the run is detached, only the first client gets it.

        Args:
            batch: follows the one before it.
            ends: it is the last batch.

        Returns:
            False if too many bytes wait to be stored; `until_can_take_more` waits until they are fewer.
        """
        self._bytes += batch.size
        self._ends = ends
        if self._storing is None:
            self._store_batch(batch)
        else:
            self._waiting.append(batch)  # all of these become one append
        return self._bytes <= MAX_BUFFERED_BYTES and (self.detached is None or self.can_take_more)

    @property
    def can_take_more(self) -> bool:
        """Whether few enough bytes wait for the store, and, once detached, for the first client."""
        if self._bytes > MAX_BUFFERED_BYTES:
            return False
        return self.detached is None or all(follower.can_take_more for follower in self._first_followers())

    async def until_can_take_more(self) -> None:
        """Wait until few enough bytes wait; see `can_take_more`."""
        while self._bytes > MAX_BUFFERED_BYTES:
            await self._progress()
        if self.detached is not None:
            for follower in self._first_followers():
                await follower.until_can_take_more()

    async def until_stored(self) -> None:
        """Wait until all batches are stored and given to the readers."""
        while self._storing is not None:
            await self._progress()

    def finish(self) -> None:
        """Note that no batch follows, and wake the readers."""
        self.ended = True
        for follower in self._followers:
            follower.wake()

    async def renew(self) -> Signals | None:
        """Renew the lease.

        Returns:
            The signals for the owner; None if the run has ended or is detached.

        Raises:
            StoreUnavailable: the store does not answer.
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
        """Delete the run from the store, if the store answers."""
        try:
            await self._store.forget(self.name)
        except StoreUnavailable:
            return

    def _store_batch(self, batch: Batch) -> None:
        if self.detached is not None or batch.end == batch.at:
            self._give(batch)
            return
        self._storing = batch
        self._bytes_left -= batch.size
        if self._bytes_left < 0:
            self._detach("limit")
            self._resolve(self._discard())
            return
        self._append_soon(
            self.name, self._token, batch.at, batch.stored, ttl=self._ttl, ends=self._ends, stored=self._go_on
        )

    def _go_on(self, error: StreamweirError | None = None) -> None:
        """Give the stored batch to the readers, and begin to store the next batch.

        Args:
            error: why the append failed; None if it did not.
        """
        if error is not None:
            if isinstance(error, RunLost):
                self._resolve(self._lose())
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

    def _resolve(self, what: Coroutine[Any, Any, None]) -> None:
        """Await `what` in a task, then continue with the batch that is being stored."""

        async def resolve() -> None:
            try:
                await what
            except Exception:
                logger.exception("the store of a run failed")
                self._detach("store")
            self._go_on()

        self._resolving = asyncio.create_task(resolve())

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
        """Find out whether another process has ended the run or the store has lost it."""
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
