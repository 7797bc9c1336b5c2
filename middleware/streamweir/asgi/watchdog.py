"""The one side task of a stream: heartbeats in silence, and timeouts.

What is due when is known by the stream's clock; this task sleeps until the next can be, so that an event
costs no timer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

import anyio

from streamweir.asgi.stream import NormalizedStream
from streamweir.errors import ErrorInfo
from streamweir.translation.clock import Due, StreamClock, timeout_error

__all__ = ["Watchdog"]


class Watchdog:
    """Watches over one request, and over its stream once there is one.

    Args:
        clock: of the request.
        on_timeout: ends what there is, or begins a stream that ends.
    """

    def __init__(self, clock: StreamClock, *, on_timeout: Callable[[ErrorInfo], Awaitable[None]]) -> None:
        self._clock = clock
        self._on_timeout = on_timeout
        self._stream: NormalizedStream | None = None
        self._begun = anyio.Event()
        self._is_needed = True

    def begin(self, stream: NormalizedStream) -> None:
        """There is a stream."""
        self._stream = stream
        self._clock.source = stream.translator
        self._clock.is_closed = False
        self._begun.set()

    def stop(self) -> None:
        """There will be no stream."""
        self._is_needed = False
        self._begun.set()

    async def run(self) -> None:
        """Watch until the stream is over, or until cancelled."""
        while self._is_needed and not (self._stream and self._stream.over.is_set()):
            change = self._begun if self._stream is None else self._stream.over
            with anyio.move_on_after(self._until_next_look()):
                await change.wait()
            if self._is_needed and not self._has_nobody:
                with suppress(OSError):  # the application learns of it with what it sends next, as without us
                    await self._act(self._clock.due(time.monotonic()))

    @property
    def _has_nobody(self) -> bool:
        """Nobody is there to be sent anything."""
        return self._stream is not None and (self._stream.over.is_set() or self._stream.gone is not None)

    def _until_next_look(self) -> float:
        now = time.monotonic()
        return math.inf if self._has_nobody else self._clock.next_look(now) - now

    async def _act(self, due: Due | None) -> None:
        match due:
            case "heartbeat" if self._stream is not None:
                await self._stream.beat()
            case "settled" if self._stream is not None:
                await self._stream.end(lambda events: events.close())
            case "total_timeout" | "first_event_timeout" | "idle_timeout":
                await self._on_timeout(timeout_error(due))
