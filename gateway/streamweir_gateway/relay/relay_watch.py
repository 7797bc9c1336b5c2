"""Ends a relayed exchange from outside: when a clock runs out, the client leaves or the gateway stops.

Source: the configuration contract (`relay`, `timeouts`).
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import ClassVar

from starlette.types import Receive

from streamweir.delivery.clock_sweep import Watched, sweep_of
from streamweir.errors import ErrorInfo, Reason
from streamweir.translation.clock import Due, StreamClock, timeout_error
from streamweir_gateway.config import Timeouts
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.runs.interruptible_wait import InterruptibleWait
from streamweir_gateway.runs.run_supervisor import AGAIN_SECONDS, Stop

__all__ = ["RelayWatch"]


@dataclass(slots=True, eq=False)
class _Answer:
    """The state of a relayed answer, in the form that the clock of a stream needs."""

    complete: ClassVar = False
    waits: ClassVar = False
    started: bool = False
    """Whether the headers of the answer have arrived."""


class RelayWatch(Watched):
    """Watches over one exchange. Construct it in the task that executes the exchange.

    Attributes:
        waiting: the block in which the task waits.
        reason: the reason for the interruption.
        info: the failure for the client; None if the reason is not a failure.

    Args:
        connection: the client's connection.
        timeouts: the timeouts of the upstream.
        seconds: the seconds since the request arrived.
    """

    __slots__ = (
        "_answer",
        "_clock",
        "_connection",
        "_interrupt_at",
        "_loop",
        "_sweep",
        "_watcher",
        "info",
        "reason",
        "waiting",
    )

    def __init__(self, connection: ClientConnection, timeouts: Timeouts, seconds: float = 0.0) -> None:
        self.tick = None
        self.waiting = InterruptibleWait()
        self.reason: Reason | None = None
        self.info: ErrorInfo | None = None
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._sweep = sweep_of(self._loop)
        self._interrupt_at = 0.0
        """The time at which a task that has not noticed its interruption is interrupted again."""
        self._answer = _Answer()
        self._clock = StreamClock(
            source=self._answer, began=time.monotonic() - seconds, timeouts=timeouts, write=timeouts.write
        )
        self._watcher: asyncio.Task[None] | None = None

    # What the task reports

    def watch(self) -> bool:
        """Watch whether the client leaves. Return False if a task has to await `receive` for that."""
        self._sweep.look_soon(self)
        return self._connection.watch(self.lose_client)

    def watch_in_task(self, receive: Receive) -> None:
        """Wait in a separate task until the client leaves. The request has been read completely."""
        self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def begin(self, timeouts: Timeouts) -> None:
        """Begin with another upstream: all clocks but `total` start anew."""
        clock = self._clock
        if timeouts is not clock.timeouts:
            clock.timeouts, clock.write = timeouts, timeouts.write
            self._sweep.look_soon(self)

    def request_sent(self, seconds: float = 0.0) -> None:
        """Note that the request or a piece of it was sent, and start waiting for the answer.

        Args:
            seconds: the seconds since it was sent.
        """
        clock = self._clock
        clock.asked = clock.last_read = time.monotonic() - seconds
        if seconds:
            self._sweep.look_soon(self)

    def headers_read(self) -> None:
        """Note that the headers of the answer have arrived, and start waiting for the body."""
        self._answer.started = True
        self._clock.last_read = time.monotonic()

    def body_read(self) -> None:
        """Note that bytes of the body have arrived."""
        self._clock.last_read = time.monotonic()

    def begin_writing(self) -> None:
        """Note that bytes are being sent to the client. The upstream is not waited for meanwhile."""
        clock = self._clock
        clock.is_busy = True
        clock.writing_since = time.monotonic()

    def end_writing(self) -> None:
        """Note that the client has taken the bytes. The upstream is waited for again."""
        clock = self._clock
        clock.is_busy = False
        clock.writing_since = None
        clock.last_read = time.monotonic()

    def close(self) -> None:
        """Stop watching, because the exchange is over."""
        self._connection.watch(None)
        self._sweep.forget(self)
        if self._watcher is not None:
            self._watcher.cancel()

    # Its ends

    def lose_client(self) -> None:
        """Interrupt the task, because the client has left."""
        self._stop("client_gone", None)

    def leave_upstream(self, stop: Stop) -> None:
        """Interrupt the task, because the gateway stops."""
        info = stop if isinstance(stop, ErrorInfo) else None
        self._stop("draining" if info is None else info.reason, info)

    async def _wait_for_client(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.lose_client()

    def _stop(self, reason: Reason | None, info: ErrorInfo | None) -> None:
        if self.reason is None:
            self.reason, self.info = reason, info
        self._interrupt()

    def _interrupt(self) -> None:
        self.waiting.interrupt()
        self._interrupt_at = time.monotonic() + AGAIN_SECONDS
        self._sweep.look_soon(self)

    # Called by the sweep

    def look(self, now: float) -> float:
        """Interrupt the task if one of its times is over. Return the time of the next look."""
        if self.reason is None:
            self._look_at_clock(now)
        elif now >= self._interrupt_at:
            self._interrupt()
        return self._clock.next_look(now) if self.reason is None else self._interrupt_at

    def _look_at_clock(self, now: float) -> None:
        clock = self._clock
        clock.note_unsent(self._connection.unsent(), now)
        if (due := clock.due(now)) is not None:
            self._run_out(due)

    def _run_out(self, due: Due) -> None:
        match due:
            case "total_timeout" | "first_event_timeout" | "idle_timeout":
                self._stop(due, timeout_error(due))
            case "slow_client":
                self._stop(due, None)
            case "settled" | "heartbeat":
                raise AssertionError(f"a relayed answer has no {due}")
