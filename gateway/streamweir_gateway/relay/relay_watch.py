"""Ends a relayed exchange from outside: a clock, the client's leaving, the end of the gateway.

Source: the configuration contract (`relay`, `timeouts`).
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass
from typing import ClassVar

from starlette.types import Receive

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


class RelayWatch:
    """Watches over one exchange. It is made in the task that runs it.

    Attributes:
        waiting: the block in which the task waits.
        reason: why it was interrupted.
        info: the failure that this is to the client, where there is one.

    Args:
        connection: the client's.
        timeouts: of the upstream.
        seconds: how long the request has been on its way.
    """

    __slots__ = (
        "_answer",
        "_clock",
        "_connection",
        "_loop",
        "_timer",
        "_watcher",
        "info",
        "reason",
        "waiting",
    )

    def __init__(self, connection: ClientConnection, timeouts: Timeouts, seconds: float = 0.0) -> None:
        self.waiting = InterruptibleWait()
        self.reason: Reason | None = None
        self.info: ErrorInfo | None = None
        self._connection = connection
        self._loop = loop = asyncio.get_running_loop()
        self._answer = _Answer()
        self._clock = StreamClock(
            self._answer, now=loop.time() - seconds, timeouts=timeouts, write=timeouts.write
        )
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None

    # What the task reports

    def watch(self) -> bool:
        """Watch for the client's leaving; return False if a task has to wait for it in `receive`."""
        self._set_timer()
        return self._connection.watch(self.lose_client)

    def watch_in_task(self, receive: Receive) -> None:
        """Wait for it in a task of its own; the request has been read whole."""
        self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def begin(self, timeouts: Timeouts) -> None:
        """Another upstream is asked, with clocks of its own but for `total`."""
        clock = self._clock
        if timeouts is not clock.timeouts:
            clock.timeouts, clock.write = timeouts, timeouts.write
            self._set_timer()

    def request_sent(self, seconds: float = 0.0) -> None:
        """The request goes out, or another piece of it: from here on its answer is waited for.

        Args:
            seconds: how long ago that was.
        """
        clock = self._clock
        clock.asked = clock.last_read = self._loop.time() - seconds
        if seconds:
            self._set_timer()

    def headers_read(self) -> None:
        """The upstream has answered; its body is waited for."""
        self._answer.started = True
        self._clock.last_read = self._loop.time()

    def body_read(self) -> None:
        """Bytes of the upstream's body have come."""
        self._clock.last_read = self._loop.time()

    def begin_writing(self) -> None:
        """Note that bytes are sent to the client: the upstream is not waited for meanwhile."""
        clock = self._clock
        clock.is_busy = True
        clock.writing_since = self._loop.time()

    def end_writing(self) -> None:
        """Note that the client has taken the bytes: the upstream is waited for again."""
        clock = self._clock
        clock.is_busy = False
        clock.writing_since = None
        clock.last_read = self._loop.time()

    def close(self) -> None:
        """The exchange is over."""
        self._connection.watch(None)
        if self._timer is not None:
            self._timer.cancel()
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
        self.waiting.interrupt()

    # The timer

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        look = self._clock.next_look(now) if self.reason is None else now + AGAIN_SECONDS
        if look < math.inf:
            self._timer = self._loop.call_at(look, self._look)

    def _look(self) -> None:
        self._timer = None
        if self.reason is not None:
            self.waiting.interrupt()
        else:
            self._look_at_clock(self._loop.time())
        self._set_timer()

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
