"""The clock of one run, and the ways to end the run from outside.

    event                                 `stop`                `is_over`
    ───────────────────────────────────   ───────────────────   ─────────
    a clock of the upstream runs out      the timeout's error   —
    silence after soft evidence           `settled`             —
    a cancel; no client reads the run     its reason            —
    the gateway drains                    the drain's error     —
    the client leaves for good            —                     True

A `ClockSweep` looks at the clock when a time can be over, so that neither an event nor a run costs a task or
a timer. The clock of the run's client is looked at in the same turn: the supervisor is the scheduler of the
delivery. If the task of the run is waiting, the supervisor interrupts it.

Source: the configuration contract (`timeouts`, `on_disconnect`); the standard protocol 1.1, sections 3.8
and 6.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import Final, Literal, TypeAlias

from streamweir.delivery.clock_sweep import Watched, sweep_of
from streamweir.delivery.scheduler import start_task
from streamweir.errors import ErrorInfo, Reason
from streamweir.translation.clock import Due, Evidence, StreamClock, timeout_error
from streamweir_gateway.config import Timeouts
from streamweir_gateway.runs.interruptible_wait import InterruptibleWait
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["AGAIN_SECONDS", "RunSupervisor", "Stop"]

AGAIN_SECONDS: Final = 0.1
"""The seconds after which a task that has ignored an interruption is interrupted again."""

Stop: TypeAlias = ErrorInfo | Literal["settled", "cancelled", "client_gone"]
"""The reason why reading from the upstream ends: a failure, `settled` silence, a cancel, or no client."""


class RunSupervisor(Watched):
    """Watches over one run. Construct it in the task that executes the run.

    Attributes:
        stop: the reason why reading from the upstream ends; None while reading goes on.
        is_over: whether the run ends without sending an end to its client, or is closed.
        waiting: the block in which the task waits for the upstream or for the client.
        clock: the clock of the upstream's side; the task notes reads and waits in it.
        response: the response of the upstream while the task reads it; else None.
        on_stop: called when `total` runs out or the gateway drains, even if bytes still have to be sent to
            the client; None: no call.

    Args:
        on_disconnect: seconds for which the run goes on without its client; None: until the run ends.
    """

    __slots__ = (
        "_interrupt_at",
        "_look_at_client",
        "_on_disconnect",
        "_runs_until",
        "_sweep",
        "_tasks",
        "clock",
        "is_over",
        "on_stop",
        "response",
        "stop",
        "waiting",
    )

    def __init__(self, on_disconnect: float | None) -> None:
        self.tick = None
        self.stop: Stop | None = None
        self.is_over = False
        loop = asyncio.get_running_loop()
        self.waiting = InterruptibleWait(loop)
        self.clock = StreamClock(time.monotonic())
        self.response: UpstreamResponse | None = None
        self.on_stop: Callable[[], None] | None = None
        self._on_disconnect = on_disconnect
        self._sweep = sweep_of(loop)
        self._look_at_client: Callable[[float], float] | None = None
        self._tasks: set[asyncio.Task[None]] | None = None
        self._runs_until: float | None = None
        self._interrupt_at = 0.0
        """`time.monotonic()` at which a task that has not noticed its interruption is interrupted again."""

    # Called by the task of the run

    def begin(self, source: Evidence, timeouts: Timeouts) -> None:
        """Begin another attempt: all clocks but `total` start anew."""
        clock = self.clock
        if clock.source is None:
            within, self.stop = timeouts.shortest, None
        else:
            within = 0.0  # `total` runs already
            self.stop = clock.asked = clock.last_read = None
        clock.source, clock.timeouts = source, timeouts
        self._sweep.look_soon(self, within)

    def sent(self) -> None:
        """Start the clock of the first event, because the request has been sent on a connection."""
        self.clock.asked = time.monotonic()

    def refused(self) -> None:
        """Stop the clock of the first event, because the body of an error status has its own time limit."""
        self.clock.asked = None

    def end(self) -> None:
        """Stop watching, because the run is over."""
        self.is_over = True
        self.on_stop = None
        self._sweep.forget(self)

    def is_stopping(self) -> bool:
        """Return whether reading from the upstream has to end."""
        return self.stop is not None

    @property
    def can_retry(self) -> bool:
        """Whether another attempt may follow: nothing but a clock of this attempt has stopped the reading."""
        stop = self.stop
        return stop is None or (isinstance(stop, ErrorInfo) and stop.reason in _OF_ONE_ATTEMPT)

    # Ending the run

    def leave_upstream(self, stop: Stop) -> None:
        """End reading from the upstream for the reason `stop`.

        An earlier reason is kept if it forbids another attempt.

        If the task waits for the client, which may take long, the upstream's connection is closed here.
        """
        if self.stop is not None and not self.can_retry:
            return
        self.stop = stop
        if not self.clock.is_busy:
            self._interrupt()
        elif self.response is not None:
            self.response.abort()
        if isinstance(stop, ErrorInfo) and stop.reason in _FROM_OUTSIDE and self.on_stop is not None:
            self.on_stop()

    def lose_client(self) -> None:
        """Go on without the client for `on_disconnect` seconds."""
        if self._on_disconnect == 0:
            self.abandon()
        elif self._on_disconnect is not None:
            self._runs_until = time.monotonic() + self._on_disconnect
            self._sweep.look_soon(self)

    def abandon(self) -> None:
        """End the run at once, without sending an end to its client."""
        self.is_over = True
        self._interrupt()

    def run_out(self, due: Due) -> None:
        """End reading from the upstream because the clock `due` has run out."""
        self.leave_upstream(_stop_of(due))

    def _interrupt(self) -> None:
        self.waiting.interrupt()
        self._interrupt_at = time.monotonic() + AGAIN_SECONDS
        self._sweep.look_soon(self)

    # The scheduler of the delivery to the client

    def watch(self, look: Callable[[float], float], within: float = 0.0) -> None:
        """Look at the clock of the client's side too; see `Scheduler`."""
        self._look_at_client = look
        self._sweep.look_soon(self, within)

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """See `Scheduler`."""
        self._tasks = set() if self._tasks is None else self._tasks
        start_task(function, self._tasks)

    def close(self) -> None:
        """Stop looking at the clock of the client's side, and cancel the tasks; see `Scheduler`."""
        self._look_at_client = None
        for task in self._tasks or ():
            task.cancel()

    # Called by the sweep

    def look(self, now: float) -> float:
        """Act on the times of the client and of the run that are over. Return the time of the next look."""
        client = math.inf if self._look_at_client is None else self._look_at_client(now)
        return min(client, self._look_at_run(now))

    def _look_at_run(self, now: float) -> float:
        if self.waiting.is_pending:
            if now >= self._interrupt_at:
                self._interrupt()
        elif self.is_over:
            return math.inf
        elif self._runs_until is not None and now >= self._runs_until:
            self.abandon()
        elif not self.is_stopping():
            due, when = self.clock.look(now)
            if due is None:
                return when if self._runs_until is None else min(when, self._runs_until)
            self.run_out(due)
        return self._next_look(now)

    def _next_look(self, now: float) -> float:
        if self.waiting.is_pending:
            return self._interrupt_at
        if self.is_over:
            return math.inf
        look = math.inf if self.is_stopping() else self.clock.next_look(now)
        return look if self._runs_until is None else min(look, self._runs_until)


def _stop_of(due: Due) -> Stop:
    match due:
        case "settled":
            return "settled"
        case "total_timeout" | "first_event_timeout" | "idle_timeout":
            return timeout_error(due)
    raise AssertionError(f"the upstream's side has no {due}")


_OF_ONE_ATTEMPT: Final[frozenset[Reason | None]] = frozenset({"first_event_timeout", "idle_timeout"})
"""Reasons of clocks that start anew with each attempt."""

_FROM_OUTSIDE: Final[frozenset[Reason | None]] = frozenset({"draining", "total_timeout"})
