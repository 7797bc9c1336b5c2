"""What waits for one reader of a run in the process that makes it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from streamweir.runs.event_log import Batch

__all__ = ["AHEAD_BYTES", "Follower", "Taker"]

AHEAD_BYTES: Final = 256 << 10
"""So much may wait for a reader of this process; who is further behind reads the store."""

Taker: TypeAlias = Callable[[Batch], bool]
"""Takes a batch at once; False where something is left of it that has to be waited for."""


class Follower:
    """What waits for one reader; one that waits itself is given what comes in the same call.

    Attributes:
        is_first: it is the client that the run was started for, which gets all whatever becomes of the store.
        relayed_to: the position up to which the taker of `relay` has had everything.
    """

    def __init__(self, *, is_first: bool) -> None:
        self.is_first: Final = is_first
        self._batches: deque[Batch] = deque()
        self._bytes = 0
        self._taker: Taker | None = None
        self.relayed_to = 0
        self._has_left_over = False
        self._failure: Exception | None = None
        self._waiting: asyncio.Future[None] | None = None
        self._waiting_for_room: asyncio.Future[None] | None = None

    @property
    def has_room(self) -> bool:
        """The reader has taken most of what was put here."""
        return self._bytes <= AHEAD_BYTES

    def put(self, batch: Batch, *, ends: bool = False) -> None:
        """Add a batch; who is too far behind loses all that waits, and reads it in the store.

        Args:
            batch: it.
            ends: it is the last one, which leaves with the end of the body.
        """
        if self._taker is not None and batch.at == self.relayed_to and not ends:
            self.relayed_to = batch.end
            try:
                is_done = self._taker(batch)
            except Exception as error:  # the reader's own, which is no harm to the run
                self._failure = error
                is_done = False
            if not is_done:
                self._taker, self._has_left_over = None, True
                _wake(self._waiting)
            return
        if self._bytes + batch.size > AHEAD_BYTES and self._batches:
            if self.is_first:
                batch = batch._replace(items=None)  # as it is stored it takes less
            else:
                self._let_go()
                _wake(self._waiting)
                return
        self._batches.append(batch)
        self._bytes += batch.size
        _wake(self._waiting)

    def take(self, at: int) -> Batch | None:
        """Return what waits from position `at` on; None where that is not here."""
        while self._batches and self._batches[0].end <= at:
            self._drop()
        if not self._batches or self._batches[0].at > at:
            return None
        batch = self._drop()
        return batch if batch.at == at else batch.rest(at)

    async def wait(self) -> None:
        """Wait until something may have changed."""
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    async def relay(self, at: int, taker: Taker) -> bool:
        """Let `taker` have each batch that comes from position `at` on, without waking the task.

        Returns:
            Whether it has left something over; else something else may have changed.
        """
        self._taker, self.relayed_to = taker, at
        try:
            if not self._has_left_over:
                await self.wait()
        finally:
            self._taker = None
        if self._failure is not None:
            raise self._failure
        has_left_over, self._has_left_over = self._has_left_over, False
        return has_left_over

    async def until_room(self) -> None:
        """Wait until the reader has taken most of what waits for it."""
        while not self.has_room:
            self._waiting_for_room = asyncio.get_running_loop().create_future()
            await self._waiting_for_room

    def wake(self) -> None:
        """Something else has changed."""
        _wake(self._waiting)

    def close(self) -> None:
        """The reader is gone: nobody waits for it."""
        self._let_go()
        _wake(self._waiting_for_room)

    def _let_go(self) -> None:
        self._batches.clear()
        self._bytes = 0

    def _drop(self) -> Batch:
        batch = self._batches.popleft()
        self._bytes -= batch.size
        _wake(self._waiting_for_room)
        return batch


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
