"""The one side task of a stream: heartbeats in silence, and the clocks.

The clocks are plain times that the stream notes; this task looks at them when the next can have run out, so
that an event costs no timer. Source: the configuration contract (`timeouts`, `heartbeat`); the standard
protocol 1.1, section 3.8.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from typing import Final, Literal, TypeAlias

import anyio

from streamweir.asgi.stream import NormalizedStream
from streamweir.errors import ErrorInfo, Reason, error_info
from streamweir.options.timeouts import Timeouts

__all__ = ["SETTLE_SECONDS", "Watchdog"]

SETTLE_SECONDS: Final = 5.0
"""So much silence after soft evidence of the end, and the stream is over."""

Stop: TypeAlias = ErrorInfo | Literal["settled"]


class Watchdog:
    """Watches over one request, and over its stream once there is one.

    Args:
        heartbeat: how long a stream may be silent; None for ever.
        timeouts: the clocks; all run from the request on, or from the stream's last bytes.
        on_timeout: ends what there is, or begins a stream that ends.
    """

    def __init__(
        self,
        *,
        heartbeat: float | None,
        timeouts: Timeouts,
        on_timeout: Callable[[ErrorInfo], Awaitable[None]],
    ) -> None:
        self._stream: NormalizedStream | None = None
        self._begun = anyio.Event()
        self._is_needed = True
        self._heartbeat = heartbeat
        self._timeouts = timeouts
        self._on_timeout = on_timeout
        self._began = time.monotonic()
        clocks = (heartbeat, timeouts.first_event, timeouts.idle, SETTLE_SECONDS)
        self._period = min(clock for clock in clocks if clock is not None)
        """No clock that is yet to start can run out sooner."""

    def begin(self, stream: NormalizedStream) -> None:
        """There is a stream."""
        self._stream = stream
        self._begun.set()

    def stop(self) -> None:
        """There will be no stream."""
        self._is_needed = False
        self._begun.set()

    async def run(self) -> None:
        """Watch until the stream is over, or until cancelled."""
        while self._is_needed and not (self._stream and self._stream.over.is_set()):
            change = self._begun if self._stream is None else self._stream.over
            with anyio.move_on_after(self._next_look() - time.monotonic()):
                await change.wait()
            if self._is_needed:
                await self._look()

    def _next_look(self) -> float:
        times = [time.monotonic() + self._period, *(when for when, _ in self._deadlines())]
        if (due := self._heartbeat_due()) is not None:
            times.append(due)
        return min(times)

    async def _look(self) -> None:
        now = time.monotonic()
        due = min(self._deadlines(), key=lambda deadline: deadline[0], default=None)
        with suppress(OSError):  # the application learns of it with what it sends next, as without us
            if due is not None and now >= due[0]:
                await self._stop(due[1])
            elif (beat := self._heartbeat_due()) is not None and now >= beat and self._stream is not None:
                await self._stream.beat()

    async def _stop(self, stop: Stop) -> None:
        if stop == "settled":
            assert self._stream is not None
            await self._stream.end(lambda events: events.close())
        else:
            await self._on_timeout(stop)

    def _deadlines(self) -> Iterator[tuple[float, Stop]]:
        timeouts, stream = self._timeouts, self._stream
        if stream is not None and (stream.over.is_set() or stream.gone):
            return
        started = stream is not None and stream.translator.started
        if timeouts.total is not None:
            yield self._began + timeouts.total, _timeout("total_timeout")
        if not started and timeouts.first_event is not None:
            yield self._began + timeouts.first_event, _timeout("first_event_timeout")
        if stream is None or stream.is_busy or stream.last_input is None:
            return
        if stream.translator.complete:
            yield stream.last_input + SETTLE_SECONDS, "settled"
        if started and timeouts.idle is not None:
            yield stream.last_input + timeouts.idle, _timeout("idle_timeout")

    def _heartbeat_due(self) -> float | None:
        stream = self._stream
        if self._heartbeat is None or stream is None or stream.is_busy or stream.gone:
            return None
        return (self._began if stream.last_write is None else stream.last_write) + self._heartbeat


def _timeout(reason: Reason) -> ErrorInfo:
    return error_info("UPSTREAM_TIMEOUT", reason=reason)
