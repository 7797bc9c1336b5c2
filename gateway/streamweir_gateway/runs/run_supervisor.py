"""The clock of one run, and what ends it from outside.

One timer looks at the clock when something can be due, so that an event costs no timer and a run no task;
what has to end is interrupted in the task that waits for it.

Source: the configuration contract (`timeouts`, `on_disconnect`); the standard protocol 1.1, sections 3.8
and 6.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from streamweir.errors import ErrorInfo, Reason
from streamweir.translation.clock import Due, Evidence, StreamClock, timeout_error
from streamweir_gateway.config import Timeouts
from streamweir_gateway.runs.interruptible_wait import InterruptibleWait
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["AGAIN_SECONDS", "RunSupervisor", "Stop"]

AGAIN_SECONDS: Final = 0.1
"""Who swallows an interruption gets another one so much later."""

Stop: TypeAlias = ErrorInfo | Literal["settled", "cancelled", "client_gone"]
"""Why the upstream is not waited for any longer: a failure, the end that was only waited for, or that the run
was stopped on request or is read by nobody."""


class RunSupervisor:
    """Watches over one run. It is made in the task that runs it.

    Attributes:
        stop: set once the upstream is to be left.
        is_over: nothing is to be done any longer, for nobody; False while a run goes on without its client.
        waiting: the block in which the task waits, for the upstream or for the client.
        clock: of the upstream's side; the task notes in it what happens.
        response: of the upstream, while it is read.
        on_stop: called when `total` has run out or the gateway stops, whatever is still to be delivered.

    Args:
        on_disconnect: seconds for which the run goes on without its client; None: to its end.
    """

    __slots__ = (
        "_loop",
        "_on_disconnect",
        "_runs_until",
        "_timer",
        "clock",
        "is_over",
        "on_stop",
        "response",
        "stop",
        "waiting",
    )

    def __init__(self, on_disconnect: float | None) -> None:
        self.stop: Stop | None = None
        self.is_over = False
        self.waiting = InterruptibleWait()
        self.clock = StreamClock(now=time.monotonic())
        self.response: UpstreamResponse | None = None
        self.on_stop: Callable[[], None] = _nothing
        self._on_disconnect = on_disconnect
        self._loop = asyncio.get_running_loop()
        self._runs_until: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    # What the task reports

    def begin(self, source: Evidence, timeouts: Timeouts) -> None:
        """Another attempt, with clocks of its own but for `total`."""
        clock = self.clock
        clock.source, clock.timeouts = source, timeouts
        self.stop = clock.asked = clock.last_read = None
        self._set_timer()

    def sent(self) -> None:
        """The connection stands and the request goes out: the clock of the first event starts."""
        self.clock.asked = time.monotonic()

    def refused(self) -> None:
        """The upstream has answered with an error status: what is read of it has a clock of its own."""
        self.clock.asked = None

    def close(self) -> None:
        """The run is over: look at nothing any longer."""
        self.is_over = True
        self.on_stop = _nothing
        if self._timer is not None:
            self._timer.cancel()

    def is_stopping(self) -> bool:
        """The upstream is to be left."""
        return self.stop is not None

    @property
    def may_go_on(self) -> bool:
        """Another attempt may follow: what has run out, if anything, is a clock of this one."""
        stop = self.stop
        return stop is None or (isinstance(stop, ErrorInfo) and stop.reason == "first_event_timeout")

    # What ends it

    def leave_upstream(self, stop: Stop) -> None:
        """End reading from the upstream. The first reason stays.

        While the task waits for the client, which may take long, the upstream's connection is closed here.
        """
        if self.stop is not None and not self.may_go_on:
            return
        self.stop = stop
        if not self.clock.is_busy:
            self.waiting.interrupt()
            self._set_timer()
        elif self.response is not None:
            self.response.abort()
        if isinstance(stop, ErrorInfo) and stop.reason in _FROM_OUTSIDE:
            self.on_stop()

    def lose_client(self) -> None:
        """There is nobody to deliver to: let the run go on alone, for as long as it may."""
        if self._on_disconnect == 0:
            self.abandon()
        elif self._on_disconnect is not None:
            self._runs_until = time.monotonic() + self._on_disconnect
            self._set_timer()

    def abandon(self) -> None:
        """End everything: it is for nobody."""
        self.is_over = True
        self.waiting.interrupt()
        self._set_timer()

    def run_out(self, due: Due) -> None:
        """Leave the upstream: a clock of its side has run out."""
        self.leave_upstream(_stop_of(due))

    # The timer

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.is_over and not self.waiting.is_pending:
            return
        now = time.monotonic()
        seconds = self._next_look(now) - now
        if seconds < math.inf:
            self._timer = self._loop.call_later(max(0.001, seconds), self._look)

    def _next_look(self, now: float) -> float:
        if self.waiting.is_pending:
            return now + AGAIN_SECONDS
        looks = [] if self.is_stopping() else [self.clock.next_look(now)]
        if self._runs_until is not None:
            looks.append(self._runs_until)
        return min(looks, default=math.inf)

    def _look(self) -> None:
        self._timer = None
        now = time.monotonic()
        if self.waiting.is_pending:
            self.waiting.interrupt()
        elif self._runs_until is not None and now >= self._runs_until:
            self.abandon()
        elif not self.is_stopping() and (due := self.clock.due(now)) is not None:
            self.run_out(due)
        self._set_timer()


def _stop_of(due: Due) -> Stop:
    match due:
        case "settled":
            return "settled"
        case "total_timeout" | "first_event_timeout" | "idle_timeout":
            return timeout_error(due)
    raise AssertionError(f"the upstream's side has no {due}")


def _nothing() -> None:
    pass


_FROM_OUTSIDE: Final[frozenset[Reason | None]] = frozenset({"draining", "total_timeout"})
