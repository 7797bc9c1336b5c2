"""A delivery that stores the events of a run instead of sending them."""

from __future__ import annotations

import time

from streamweir.asgi.resumption.request_run import RequestRun
from streamweir.delivery.delivery import Delivery
from streamweir.errors import ErrorInfo

__all__ = ["RunWriting"]


class RunWriting(Delivery):
    """Stores a run's log as it is written. The first client reads the run like any other reader.

    Attributes:
        request_run: the run; set by subclasses.
    """

    __slots__ = ()

    request_run: RequestRun

    async def send(self) -> None:
        """Store the events that were written, and wait until there is room for more."""
        await self._store(ends=False)

    async def finish(self, error: ErrorInfo | None = None, failure: ErrorInfo | None = None) -> None:
        """Store the last events, and end the run."""
        del error, failure
        await self._store(ends=True)

    async def beat(self) -> None:
        """Do nothing: heartbeats are not stored, and each reader gets its own."""

    async def _store(self, *, ends: bool) -> None:
        clock = self.clock
        async with self._lock:
            clock.is_busy = True
            try:
                await self.request_run.write(ends=ends)
            finally:
                clock.is_busy = False
                clock.last_read = clock.last_write = time.monotonic()
