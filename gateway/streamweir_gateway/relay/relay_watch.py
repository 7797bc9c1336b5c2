"""Ends a relayed exchange from outside: a clock, the client's leaving, the end of the gateway.

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
    """The state of a relayed answer, as the clock of a stream asks for it."""

    complete: ClassVar = False
    waits: ClassVar = False
    started: bool = False
    """The headers of the answer have come."""


class RelayWatch(Watched):
    """Watches over one exchange. It is made in the task that runs it.

    Attributes:
        waiting: the block in which the task waits.
        reason: why it was interrupted.
        info: the failure that this is to the client, where there is one.

    Args:
        connection: the client's.
        timeouts: the timeouts of the upstream.
        seconds: how long the request has been on its way.
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
        """When a task that has been interrupted, and has not noticed, is interrupted again."""
        self._answer = _Answer()
        self._clock = StreamClock(
            self._answer, now=time.monotonic() - seconds, timeouts=timeouts, write=timeouts.write
        )
        self._watcher: asyncio.Task[None] | None = None

    # What the task reports

    def watch(self) -> bool:
        """Watch for the client's leaving; return False if a task has to wait for it in `receive`."""
        self._sweep.look_soon(self)
        return self._connection.watch(self.lose_client)

    def watch_in_task(self, receive: Receive) -> None:
        """Wait for it in a task of its own; the request has been read whole."""
        self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def begin(self, timeouts: Timeouts) -> None:
        """Another upstream is asked, with clocks of its own but for `total`."""
        clock = self._clock
        if timeouts is not clock.timeouts:
            clock.timeouts, clock.write = timeouts, timeouts.write
            self._sweep.look_soon(self)

    def request_sent(self, seconds: float = 0.0) -> None:
        """The request goes out, or another piece of it: from here on its answer is waited for.

        Args:
            seconds: how long ago that was.
        """
        clock = self._clock
        clock.asked = clock.last_read = time.monotonic() - seconds
        if seconds:
            self._sweep.look_soon(self)

    def headers_read(self) -> None:
        """The upstream has answered; its body is waited for."""
        self._answer.started = True
        self._clock.last_read = time.monotonic()

    def body_read(self) -> None:
        """Bytes of the upstream's body have come."""
        self._clock.last_read = time.monotonic()

    def begin_writing(self) -> None:
        """Note that bytes are sent to the client: the upstream is not waited for meanwhile."""
        clock = self._clock
        clock.is_busy = True
        clock.writing_since = time.monotonic()

    def end_writing(self) -> None:
        """Note that the client has taken the bytes: the upstream is waited for again."""
        clock = self._clock
        clock.is_busy = False
        clock.writing_since = None
        clock.last_read = time.monotonic()

    def close(self) -> None:
        """The exchange is over."""
        self._connection.watch(None)
        self._sweep.forget(self)
        if self._watcher is not None:
            self._watcher.cancel()

    # Its ends

    def lose_client(self) -> None:
        """The client has left."""
        self._stop("client_gone", None)

    def leave_upstream(self, stop: Stop) -> None:
        """The gateway stops."""
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
        """Interrupt the task if one of its times is over; return when to look again."""
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
