"""The clocks of one stream, its heartbeat, and what happens once its client has left.

The clocks are plain times that the relaying task sets. One timer per stream looks at them when the next one
may have run out, so that an event costs no timer and a stream no task; what has to end is interrupted in the
task that waits for it.

Source: the configuration contract (`timeouts`, `heartbeat`, `on_disconnect`); the standard protocol 1.1,
sections 3.8 and 6.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

from starlette.types import Receive

from streamweir import Translator
from streamweir.errors import ErrorInfo, Reason, error_info
from streamweir_gateway.config import Timeouts
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.runs.interruptible_wait import InterruptibleWait
from streamweir_gateway.runs.response_writer import ClientGone, ResponseWriter

__all__ = ["Dropped", "Stop", "Streams", "Supervisor"]

SETTLE_SECONDS: Final = 5.0
"""So much silence after soft evidence of the end, and the stream is over."""

AGAIN_SECONDS: Final = 0.1
"""Who swallows an interruption gets another one so much later."""

Stop: TypeAlias = ErrorInfo | Literal["settled"]
"""Why the upstream is not waited for any longer: a failure, or the end that was only waited for."""

Dropped: TypeAlias = Literal["client_gone", "slow_client"]
"""Why nobody is answered any longer."""


class Supervisor:
    """Watches over one stream. It is made in the task that relays it.

    Attributes:
        stop: set once the upstream is to be left.
        dropped: set once nobody is answered any longer.
        is_over: nothing is to be done any longer, for nobody; False while a run goes on without its client.
        waiting: the block in which the relaying task waits, for the upstream or for the client.
        is_writing: the relaying task is handing on what it read, so that the upstream cannot be idle.
        reading_since: when the read under way began; None before the first.
        sent_at: when the request went out to the upstream.
    """

    __slots__ = (
        "_beating",
        "_began",
        "_connection",
        "_heartbeat",
        "_last_beat",
        "_loop",
        "_on_disconnect",
        "_progress",
        "_runs_until",
        "_timeouts",
        "_timer",
        "_translator",
        "_watcher",
        "_writer",
        "dropped",
        "is_over",
        "is_writing",
        "reading_since",
        "sent_at",
        "stop",
        "waiting",
    )

    def __init__(
        self,
        *,
        writer: ResponseWriter,
        connection: ClientConnection,
        heartbeat: float | None,
        on_disconnect: float | None,
    ) -> None:
        self.stop: Stop | None = None
        self.dropped: Dropped | None = None
        self.is_over = False
        self.waiting = InterruptibleWait()
        self.is_writing = False
        self.reading_since: float | None = None
        self.sent_at: float | None = None
        self._writer = writer
        self._connection = connection
        self._heartbeat = heartbeat
        self._on_disconnect = on_disconnect
        self._loop = asyncio.get_running_loop()
        self._began = self._last_beat = time.monotonic()
        self._runs_until: float | None = None
        self._progress: _Progress | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._translator: Translator
        self._timeouts: Timeouts

    # What the relaying task says

    def watch(self, receive: Receive) -> None:
        """Look out for the client's leaving: let the server tell, or wait for it in a task."""
        if not self._connection.watch(self._client_left):
            self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def begin(self, translator: Translator, timeouts: Timeouts) -> None:
        """Another attempt, with clocks of its own but for `total`."""
        self._translator = translator
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
        """The stream is over: look at nothing any longer."""
        self.is_over = True
        self._connection.watch(None)
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._beating, self._watcher):
            if task is not None:
                task.cancel()

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
        """End reading from the upstream; a write under way is let through first. The first reason stays."""
        if self.stop is None or self.may_go_on:
            self.stop = stop
            if not self.is_writing:
                self.waiting.interrupt()
                self._set_timer()

    def drop(self, why: Dropped) -> None:
        """There is nobody to write to: end everything, or let the run go on alone as long as it may.

        A client that does not read is cut off on purpose, which ends its run too.
        """
        if self.dropped == why:
            return
        goes_on = self.dropped is None and why == "client_gone" and self._on_disconnect != 0
        self.dropped = self.dropped or why
        self._writer.discards = True
        if not goes_on:
            self._give_up()
        elif self._on_disconnect is not None:
            self._runs_until = time.monotonic() + self._on_disconnect
            self._set_timer()

    def _give_up(self) -> None:
        self.is_over = True
        if self._beating is not None:
            self._beating.cancel()
        self.waiting.interrupt()
        self._set_timer()

    def _client_left(self) -> None:
        if not self._writer.is_complete:
            self.drop("client_gone")

    async def _wait_for_client(self, receive: Receive) -> None:
        """Wait until the client has left; what it still sends is of no interest."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._client_left()  # a server may also report that nothing more is to come

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
        soonest = now + SETTLE_SECONDS
        for seconds in (limits.first_event, limits.idle, limits.write and limits.write / 4):
            if seconds:  # a quarter is often enough to see that a client reads
                soonest = min(soonest, now + seconds)
        times = [when for when, _ in self._deadlines()]
        others = (self._heartbeat_due(), self._write_due(), self._runs_until)
        return min((soonest, *times, *(due for due in others if due is not None)))

    def _look(self) -> None:
        self._timer = None
        if self.waiting.is_pending:
            self.waiting.interrupt()
        elif not self.is_over:
            self._look_at_clocks(time.monotonic())
        self._set_timer()

    def _look_at_clocks(self, now: float) -> None:
        self._note_progress(now)
        if (due := self._write_due()) is not None and now >= due:
            self.drop("slow_client")
        elif self._runs_until is not None and now >= self._runs_until:
            self._give_up()
        elif (stop := self._ran_out(now)) is not None:
            self.leave_upstream(stop)
        elif (due := self._heartbeat_due()) is not None and now >= due:
            self._beat(now)

    def _ran_out(self, now: float) -> Stop | None:
        """Return what the clock that ran out first has to say."""
        over = [deadline for deadline in self._deadlines() if now >= deadline[0]]
        return min(over, key=lambda deadline: deadline[0])[1] if over else None

    def _deadlines(self) -> Iterator[tuple[float, Stop]]:
        if self.stop is not None:
            return
        limits, translator, reading = self._timeouts, self._translator, self.reading_since
        if limits.total is not None:
            yield self._began + limits.total, _TIMEOUTS["total_timeout"]
        if not translator.started and self.sent_at is not None and limits.first_event is not None:
            yield self.sent_at + limits.first_event, _TIMEOUTS["first_event_timeout"]
        if reading is None or self.is_writing:
            return
        if translator.complete:
            yield reading + SETTLE_SECONDS, "settled"
        if translator.started and limits.idle is not None:
            yield reading + limits.idle, _TIMEOUTS["idle_timeout"]

    # Heartbeat

    def _heartbeat_due(self) -> float | None:
        writer = self._writer
        if self._heartbeat is None or writer.writing_since is not None or writer.finished or writer.discards:
            return None
        return max(self._last_beat, writer.last_write) + self._heartbeat

    def _beat(self, now: float) -> None:
        self._last_beat = now
        if not self._connection.unsent():  # to the client it is not silent yet
            self._beating = self._loop.create_task(self._send_beat())

    async def _send_beat(self) -> None:
        try:
            await self._writer.heartbeat(self._translator.heartbeat())
        except ClientGone:
            self.drop("client_gone")

    # A client that does not read

    def _note_progress(self, now: float) -> None:
        """Has a client that takes long taken anything since the last look? Then it is slow, but reads."""
        since, before = self._writer.writing_since, self._progress
        if since is None:
            self._progress = None
            return
        unsent = self._connection.unsent()
        if before is None or before.writing_since != since:
            self._progress = _Progress(since, since, unsent)
        elif unsent is not None and before.unsent is not None and unsent < before.unsent:
            self._progress = _Progress(since, now, unsent)

    def _write_due(self) -> float | None:
        since, patience, progress = self._writer.writing_since, self._timeouts.write, self._progress
        if since is None or patience is None:
            return None
        if progress is not None and progress.writing_since == since:
            return progress.seen_at + patience
        return since + patience


class _Progress(NamedTuple):
    """How far one write to the client has got."""

    writing_since: float
    seen_at: float
    """When the client last was seen to take something, or the write's beginning."""
    unsent: int | None


_CLOCKS: Final[tuple[Reason, ...]] = ("first_event_timeout", "idle_timeout", "total_timeout")
_TIMEOUTS: Final = {reason: error_info("UPSTREAM_TIMEOUT", reason=reason) for reason in _CLOCKS}


class Streams:
    """The streams under way, so that they can be ended when the gateway stops."""

    def __init__(self) -> None:
        self.draining = False
        self._running: set[Supervisor] = set()

    def __len__(self) -> int:
        return len(self._running)

    def add(self, supervisor: Supervisor) -> None:
        """Begin to count a stream."""
        self._running.add(supervisor)

    def discard(self, supervisor: Supervisor) -> None:
        """The stream is over."""
        self._running.discard(supervisor)

    def refuse(self) -> None:
        """Take no new requests."""
        self.draining = True

    def drain(self) -> None:
        """End every stream under way, properly."""
        self.draining = True
        for supervisor in tuple(self._running):
            supervisor.leave_upstream(error_info("GATEWAY_DRAINING"))
