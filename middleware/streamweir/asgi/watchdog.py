"""The one side task of a stream: heartbeats in silence, and timeouts.

What is due when is known by the stream's clock; this task sleeps until the next can be, so that an event
costs no timer.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress

import anyio

from streamweir.asgi.normalized_stream import NormalizedStream
from streamweir.errors import ErrorInfo
from streamweir.translation.clock import Due, StreamClock, timeout_error

__all__ = ["Watchdog"]


class Watchdog:
    """Watches over one request, and over its stream once there is one.

    Args:
        clock: of the request.
    """

    def __init__(self, clock: StreamClock) -> None:
        self._clock = clock
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

    async def run(self) -> ErrorInfo | None:
        """Watch until the stream is over, and return None, or until a time has run out, and return which."""
        while self._is_needed and not (self._stream and self._stream.over.is_set()):
            change = self._begun if self._stream is None else self._stream.over
            with anyio.move_on_after(self._until_next_look()):
                await change.wait()
            if self._is_needed and not self._has_nobody:
                due = self._clock.due(time.monotonic())
                if due in ("total_timeout", "first_event_timeout", "idle_timeout"):
                    return timeout_error(due)
                with suppress(OSError):  # the application learns of it with what it sends next, as without us
                    await self._act(due)
        return None

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
