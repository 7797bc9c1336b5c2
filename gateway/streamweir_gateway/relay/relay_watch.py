"""What ends a relayed exchange from outside: a clock, the client's leaving, the end of the gateway.

Source: the configuration contract (`relay`, `timeouts`).
"""

from __future__ import annotations

import asyncio
import math
from typing import Final, Literal, TypeAlias

from starlette.types import Receive

from streamweir.errors import ErrorInfo, Reason
from streamweir.translation.clock import timeout_error
from streamweir_gateway.config import Timeouts
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.runs.interruptible_wait import InterruptibleWait
from streamweir_gateway.runs.run_supervisor import Stop

__all__ = ["RelayWatch"]

_Clock: TypeAlias = Literal["first_event_timeout", "idle_timeout"]

_LOOK_SECONDS: Final = 1.0
"""How often it is looked whether a client still takes what waits for it, once it has stopped doing so."""


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
        "_connection",
        "_due",
        "_due_reason",
        "_loop",
        "_timer",
        "_total_due",
        "_unsent",
        "_watcher",
        "_write_due",
        "info",
        "reason",
        "timeouts",
        "waiting",
    )

    def __init__(self, connection: ClientConnection, timeouts: Timeouts, seconds: float = 0.0) -> None:
        self.waiting = InterruptibleWait()
        self.reason: Reason | None = None
        self.info: ErrorInfo | None = None
        self.timeouts = timeouts
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self._due = math.inf
        self._due_reason: _Clock = "first_event_timeout"
        self._total_due = math.inf if timeouts.total is None else self._loop.time() + timeouts.total - seconds
        self._write_due = math.inf
        self._unsent: int | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._watcher: asyncio.Task[None] | None = None

    # What the task reports

    def watch(self) -> bool:
        """Look out for the client's leaving; False where somebody has to wait for it in `receive`."""
        self._set_timer()
        return self._connection.watch(self.lose_client)

    def watch_in_task(self, receive: Receive) -> None:
        """Wait for it in a task of its own; the request has been read whole."""
        self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def request_sent(self, seconds: float = 0.0) -> None:
        """The request goes out, or another piece of it: from here on its answer is waited for.

        Args:
            seconds: how long ago that was.
        """
        due = self.timeouts.first_event
        self._expect(None if due is None else due - seconds, "first_event_timeout")

    def body_read(self) -> None:
        """The headers have come, or a piece of the body."""
        self._expect(self.timeouts.idle, "idle_timeout")

    def begin_writing(self) -> None:
        """The client is to take something, and the upstream may wait meanwhile."""
        self._due = math.inf
        if self.timeouts.write is not None:
            self._unsent = None
            self._write_due = self._loop.time() + self.timeouts.write
            self._set_timer()

    def end_writing(self) -> None:
        """It has taken it."""
        self._write_due = math.inf

    def close(self) -> None:
        """The exchange is over."""
        self._connection.watch(None)
        if self._timer is not None:
            self._timer.cancel()
        if self._watcher is not None:
            self._watcher.cancel()

    # What ends it

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

    def _expect(self, seconds: float | None, reason: _Clock) -> None:
        self._due = math.inf if seconds is None else self._loop.time() + seconds
        self._due_reason = reason
        if self._timer is None or self._timer.when() > self._due:
            self._set_timer()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = min(self._due, self._total_due, self._write_due)
        if due < math.inf:
            if self._write_due < math.inf:
                due = min(due, self._loop.time() + _LOOK_SECONDS)
            self._timer = self._loop.call_at(due, self._look)

    def _look(self) -> None:
        self._timer = None
        now = self._loop.time()
        if now >= self._total_due:
            self._stop("total_timeout", timeout_error("total_timeout"))
        elif now >= self._due:
            self._stop(self._due_reason, timeout_error(self._due_reason))
        elif self._write_due < math.inf:
            self._look_at_client(now)
        self._set_timer()

    def _look_at_client(self, now: float) -> None:
        """A client that takes something, however little, is not gone."""
        unsent = self._connection.unsent()
        if unsent != self._unsent and self.timeouts.write is not None:
            self._unsent, self._write_due = unsent, now + self.timeouts.write
        elif now >= self._write_due:
            self._stop("slow_client", None)
