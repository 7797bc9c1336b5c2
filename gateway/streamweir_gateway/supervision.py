"""The one side task of a stream: its clocks, its heartbeat and whether the client is still there.

The clocks are plain times that the relaying task sets; this task looks at them when the next one may have run
out, so that an event costs no timer. It ends the upstream's part of the exchange through one cancel scope, or
the whole of it through another where nobody is left to answer.

Source: the configuration contract (`timeouts`, `heartbeat`); the standard protocol 1.1, sections 3.8 and 6.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple, TypeAlias

import anyio
from starlette.types import Receive

from streamweir import Translator
from streamweir.errors import ErrorInfo, Reason, error_info
from streamweir_gateway.config import Timeouts
from streamweir_gateway.response import ClientGone, Connection, ResponseWriter

__all__ = ["Dropped", "Stop", "Streams", "Supervisor"]

SETTLE_SECONDS: Final = 5.0
"""So much silence after soft evidence of the end, and the stream is over."""

Stop: TypeAlias = ErrorInfo | Literal["settled"]
"""Why the upstream is not waited for any longer: a failure, or the end that was only waited for."""

Dropped: TypeAlias = Literal["client_gone", "slow_client"]
"""Why nobody is answered any longer."""


class Supervisor:
    """Watches over one stream.

    Attributes:
        stop: set once the upstream is to be left.
        dropped: set once the client is to be left too.
        exchange: the scope of everything, the last write included.
        upstream: the scope of reading from the upstream.
        is_writing: the relaying task is handing on what it read, so that the upstream cannot be idle.
        reading_since: when the read under way began; None before the first.
        sent_at: when the request went out to the upstream.
    """

    def __init__(
        self,
        *,
        translator: Translator,
        writer: ResponseWriter,
        connection: Connection,
        timeouts: Timeouts,
        heartbeat: float | None,
    ) -> None:
        self.stop: Stop | None = None
        self.dropped: Dropped | None = None
        self.exchange = anyio.CancelScope()
        self.upstream = anyio.CancelScope()
        self.is_writing = False
        self.reading_since: float | None = None
        self.sent_at: float | None = None
        self._translator = translator
        self._writer = writer
        self._connection = connection
        self._timeouts = timeouts
        self._heartbeat = heartbeat
        self._time = asyncio.get_running_loop().time
        self._began = self._last_beat = self._time()
        self._progress: _Progress | None = None
        quarter = timeouts.write / 4 if timeouts.write else None  # often enough to see that a client reads
        self._periods = [
            period
            for period in (timeouts.first_event, timeouts.idle, quarter, SETTLE_SECONDS)
            if period is not None
        ]

    def is_stopping(self) -> bool:
        """The upstream is to be left."""
        return self.stop is not None

    def sent(self) -> None:
        """The connection stands and the request goes out: the clock of the first event starts."""
        self.sent_at = self._time()

    def reading(self) -> None:
        """The next read from the upstream begins."""
        self.reading_since = self._time()

    def leave_upstream(self, stop: Stop) -> None:
        """End reading from the upstream; a write under way is let through first. The first reason stays."""
        if self.stop is None:
            self.stop = stop
            if not self.is_writing:
                self.upstream.cancel()

    def drop(self, why: Dropped) -> None:
        """End everything: there is nobody to write to."""
        if self.dropped is None:
            self.dropped = why
            self.exchange.cancel()

    async def run(self, receive: Receive) -> None:
        """Watch until cancelled, or until the client has left."""
        while self.dropped is None:
            try:
                async with asyncio.timeout_at(self._next_look()):
                    await _client_left(receive)
            except TimeoutError:
                await self._look()
            else:
                if not self._writer.is_complete:  # a server may report that nothing more is to come
                    self.drop("client_gone")
                return

    def _next_look(self) -> float:
        """Return when a clock can have run out at the earliest, those that may start meanwhile included."""
        now = self._time()
        times = [now + period for period in self._periods]
        times.extend(when for when, _ in self._deadlines())
        times.extend(due for due in (self._heartbeat_due(), self._write_due()) if due is not None)
        return min(times)

    async def _look(self) -> None:
        now = self._time()
        self._note_progress(now)
        if (due := self._write_due()) is not None and now >= due:
            self.drop("slow_client")
            return
        for when, stop in sorted(self._deadlines(), key=lambda deadline: deadline[0]):
            if now >= when:
                self.leave_upstream(stop)
                return
        if (due := self._heartbeat_due()) is not None and now >= due:
            await self._beat()

    def _deadlines(self) -> Iterator[tuple[float, Stop]]:
        if self.stop is not None:
            return
        limits, translator, reading = self._timeouts, self._translator, self.reading_since
        if limits.total is not None:
            yield self._began + limits.total, _timeout("total_timeout")
        if not translator.started and self.sent_at is not None and limits.first_event is not None:
            yield self.sent_at + limits.first_event, _timeout("first_event_timeout")
        if reading is None or self.is_writing:
            return
        if translator.complete:
            yield reading + SETTLE_SECONDS, "settled"
        if translator.started and limits.idle is not None:
            yield reading + limits.idle, _timeout("idle_timeout")

    def _heartbeat_due(self) -> float | None:
        if self._heartbeat is None or self._writer.writing_since is not None or self._writer.finished:
            return None
        return max(self._last_beat, self._writer.last_write) + self._heartbeat

    async def _beat(self) -> None:
        self._last_beat = self._time()
        if self._connection.unsent():
            return  # to the client it is not silent yet
        try:
            async with asyncio.timeout(self._timeouts.write):
                await self._writer.heartbeat(self._translator.heartbeat())
        except TimeoutError:
            self.drop("slow_client")
        except ClientGone:
            self.drop("client_gone")

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


def _timeout(reason: Reason) -> ErrorInfo:
    return error_info("UPSTREAM_TIMEOUT", reason=reason)


async def _client_left(receive: Receive) -> None:
    """Wait until the client has left; what it still sends is of no interest."""
    while (await receive())["type"] != "http.disconnect":
        pass


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
