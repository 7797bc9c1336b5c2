"""The batches of a run that wait for one reader in the process that makes the run.

    state      entered by                        a new batch
    ────────   ───────────────────────────────   ──────────────────────────────────────────────────────
    buffered   construction, end of `relay`      is buffered; beyond `MAX_BUFFERED_BYTES` the buffer is
                                                 discarded, and the reader reads the store
    relaying   `relay`                           is given to the taker in the call that stores it
    closed     `close`                           is not put here any more

The buffer of the first client is never discarded: the store may have lost the events of its run.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec.structs import replace

from streamweir.runs.event_log import Batch

__all__ = ["MAX_BUFFERED_BYTES", "Follower", "Taker"]

MAX_BUFFERED_BYTES: Final = 256 << 10
"""The most bytes that are buffered for a reader; a reader that is further behind reads the store."""

Taker: TypeAlias = Callable[[Batch], bool]
"""Sends a batch at once; returns False if it could not send all of it."""


class Follower:
    """The buffer of one reader.

    Attributes:
        is_first: the run was started for this reader, which gets every event even if the store fails.
        relayed_to: the position after the last event that the taker of `relay` was given.
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
        self._draining: asyncio.Future[None] | None = None

    @property
    def can_take_more(self) -> bool:
        """Whether the buffer is below its limit."""
        return self._bytes <= MAX_BUFFERED_BYTES

    def put(self, batch: Batch, *, ends: bool = False) -> None:
        """Buffer or relay a batch. A buffer that becomes too large is discarded, except the first client's.

        Args:
            batch: follows the one before it.
            ends: it is the last batch, which is sent with the end of the body and therefore never relayed.
        """
        if self._taker is not None and batch.at == self.relayed_to and not ends:
            self.relayed_to = batch.end
            try:
                is_done = self._taker(batch)
            except Exception as error:  # a fault of the reader, raised in its own task
                self._failure = error
                is_done = False
            if not is_done:
                self._taker, self._has_left_over = None, True
                _wake(self._waiting)
            return
        if self._bytes + batch.size > MAX_BUFFERED_BYTES and self._batches:
            if self.is_first:
                batch = replace(batch, items=None)  # the stored form takes less memory
            else:
                self._discard()
                _wake(self._waiting)
                return
        self._batches.append(batch)
        self._bytes += batch.size
        _wake(self._waiting)

    def take(self, at: int) -> Batch | None:
        """Return the buffered events from position `at` on; None if they are not buffered."""
        while self._batches and self._batches[0].end <= at and self._batches[0].at < at:
            self._drop()
        if not self._batches or self._batches[0].at > at:
            return None
        batch = self._drop()
        return batch if batch.at == at else batch.rest(at)

    async def wait(self) -> None:
        """Wait for a batch, or for a call of `wake`."""
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting

    async def relay(self, at: int, taker: Taker) -> bool:
        """Give each batch from position `at` on to `taker`, without waking the task that waits here.

        Returns:
            True if `taker` could not send all of a batch; False after `wake`.
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

    async def until_can_take_more(self) -> None:
        """Wait until the buffer is below its limit."""
        while not self.can_take_more:
            self._draining = asyncio.get_running_loop().create_future()
            await self._draining

    def wake(self) -> None:
        """End `wait` and `relay`: the run has ended or is no longer stored."""
        _wake(self._waiting)

    def close(self) -> None:
        """Discard the buffer: the reader is gone."""
        self._discard()
        _wake(self._draining)

    def _discard(self) -> None:
        self._batches.clear()
        self._bytes = 0

    def _drop(self) -> Batch:
        batch = self._batches.popleft()
        self._bytes -= batch.size
        _wake(self._draining)
        return batch


def _wake(waiting: asyncio.Future[None] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)
