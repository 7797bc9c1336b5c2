"""The clocks of one run, and what ends it from outside.

The clocks are plain times that the task which runs it sets. One timer looks at them when the next one may
have run out, so that an event costs no timer and a run no task; what has to end is interrupted in the task
that waits for it.

Source: the configuration contract (`timeouts`, `on_disconnect`); the standard protocol 1.1, sections 3.8
and 6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

from streamweir.errors import ErrorInfo, Reason, error_info
from streamweir.translation.reader import StreamReader
from streamweir_gateway.config import Timeouts
from streamweir_gateway.runs.interruptible_wait import InterruptibleWait
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["RunSupervisor", "Stop"]

SETTLE_SECONDS: Final = 5.0
"""So much silence after soft evidence of the end, and the stream is over."""

AGAIN_SECONDS: Final = 0.1
"""Who swallows an interruption gets another one so much later."""

Stop: TypeAlias = ErrorInfo | Literal["settled"]
"""Why the upstream is not waited for any longer: a failure, or the end that was only waited for."""


class RunSupervisor:
    """Watches over one run. It is made in the task that runs it.

    Attributes:
        stop: set once the upstream is to be left.
        is_over: nothing is to be done any longer, for nobody; False while a run goes on without its client.
        waiting: the block in which the task waits, for the upstream or for the client.
        is_delivering: the task is handing on what it read, so that the upstream cannot be idle.
        response: of the upstream, while it is read.
        reading_since: when the read under way began; None before the first.
        sent_at: when the request went out to the upstream.
        on_stop: called when `total` has run out or the gateway stops, whatever is still to be delivered.

    Args:
        on_disconnect: seconds for which the run goes on without its client; None: to its end.
    """

    __slots__ = (
        "_began",
        "_loop",
        "_on_disconnect",
        "_reader",
        "_runs_until",
        "_timeouts",
        "_timer",
        "is_delivering",
        "is_over",
        "on_stop",
        "reading_since",
        "response",
        "sent_at",
        "stop",
        "waiting",
    )

    def __init__(self, on_disconnect: float | None) -> None:
        self.stop: Stop | None = None
        self.is_over = False
        self.waiting = InterruptibleWait()
        self.is_delivering = False
        self.response: UpstreamResponse | None = None
        self.reading_since: float | None = None
        self.sent_at: float | None = None
        self.on_stop: Callable[[], None] = _nothing
        self._on_disconnect = on_disconnect
        self._loop = asyncio.get_running_loop()
        self._began = time.monotonic()
        self._runs_until: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._reader: StreamReader
        self._timeouts: Timeouts

    # What the task reports

    def begin(self, reader: StreamReader, timeouts: Timeouts) -> None:
        """Another attempt, with clocks of its own but for `total`."""
        self._reader = reader
        self._timeouts = timeouts
        self.stop = self.sent_at = self.reading_since = None
        self._set_timer()

    def sent(self) -> None:
        """The connection stands and the request goes out: the clock of the first event starts."""
        self.sent_at = time.monotonic()

    def refused(self) -> None:
        """The upstream has answered with an error status: what is read of it has a clock of its own."""
        self.sent_at = None

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
        if not self.is_delivering:
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

    # The timer

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.is_over and not self.waiting.is_pending:
            return
        seconds = self._next_look() - time.monotonic()
        self._timer = self._loop.call_later(max(0.001, seconds), self._look)

    def _next_look(self) -> float:
        """Return when a clock can have run out at the earliest, those that may start meanwhile included."""
        now = time.monotonic()
        if self.waiting.is_pending:
            return now + AGAIN_SECONDS
        limits = self._timeouts
        soonest = min(filter(None, (SETTLE_SECONDS, limits.first_event, limits.idle)))
        times = [now + soonest, *(when for when, _ in self._deadlines())]
        return min(times if self._runs_until is None else (*times, self._runs_until))

    def _look(self) -> None:
        self._timer = None
        now = time.monotonic()
        if self.waiting.is_pending:
            self.waiting.interrupt()
        elif not self.is_over:
            self._look_at_clocks(now)
        self._set_timer()

    def _look_at_clocks(self, now: float) -> None:
        if self._runs_until is not None and now >= self._runs_until:
            self.abandon()
        elif (stop := self._ran_out(now)) is not None:
            self.leave_upstream(stop)

    def _ran_out(self, now: float) -> Stop | None:
        """Return what the clock that ran out first has to say."""
        over = [deadline for deadline in self._deadlines() if now >= deadline[0]]
        return min(over, key=lambda deadline: deadline[0])[1] if over else None

    def _deadlines(self) -> Iterator[tuple[float, Stop]]:
        if self.stop is not None:
            return
        limits, reader, reading = self._timeouts, self._reader, self.reading_since
        if limits.total is not None:
            yield self._began + limits.total, _TIMEOUTS["total_timeout"]
        if not reader.started and self.sent_at is not None and limits.first_event is not None:
            yield self.sent_at + limits.first_event, _TIMEOUTS["first_event_timeout"]
        if reading is None or self.is_delivering:
            return
        if reader.complete:
            yield reading + SETTLE_SECONDS, "settled"
        if reader.started and limits.idle is not None:
            yield reading + limits.idle, _TIMEOUTS["idle_timeout"]


def _nothing() -> None:
    pass


_FROM_OUTSIDE: Final[frozenset[Reason | None]] = frozenset({"draining", "total_timeout"})
_CLOCKS: Final[tuple[Reason, ...]] = ("first_event_timeout", "idle_timeout", "total_timeout")
_TIMEOUTS: Final = {reason: error_info("UPSTREAM_TIMEOUT", reason=reason) for reason in _CLOCKS}
