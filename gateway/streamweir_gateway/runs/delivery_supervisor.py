"""One client under watch: heartbeats into its silence, whether it reads, and whether it is still there.

As for a run, the clocks are plain times, which one timer looks at.

Source: the configuration contract (`heartbeat`, `timeouts.write`); the standard protocol 1.1, sections 3.8
and 6.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final, Literal, NamedTuple, TypeAlias

from starlette.types import Receive

from streamweir.translation.sink import EventSink
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.runs.response_writer import ClientGone, ResponseWriter
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["DeliverySupervisor", "Dropped"]

LEFT_SECONDS: Final = 5.0
"""How long what is left may take once the run has been ended from outside, where `write` is off."""

Dropped: TypeAlias = Literal["client_gone", "slow_client"]
"""Why a client is answered no longer."""


class DeliverySupervisor:
    """Watches over the client of one delivery.

    Attributes:
        dropped: set once the client is answered no longer.

    Args:
        response: to the client.
        connection: the client's.
        heartbeat: seconds of silence before each; None: there are none.
        run: what is delivered; it ends, or goes on alone, when the client has left.
    """

    __slots__ = (
        "_beating",
        "_connection",
        "_heartbeat",
        "_last_beat",
        "_left_by",
        "_loop",
        "_progress",
        "_response",
        "_run",
        "_sink",
        "_timer",
        "_watcher",
        "_write",
        "dropped",
    )

    def __init__(
        self,
        *,
        response: ResponseWriter,
        connection: ClientConnection,
        heartbeat: float | None,
        run: RunSupervisor,
    ) -> None:
        self.dropped: Dropped | None = None
        self._response = response
        self._connection = connection
        self._heartbeat = heartbeat
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._last_beat = time.monotonic()
        self._left_by: float | None = None
        self._progress: _Progress | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._sink: EventSink
        self._write: float | None = None

    def watch(self, receive: Receive) -> None:
        """Look out for the client's leaving: let the server report it, or wait for it in a task."""
        self._run.on_stop = self._limit_what_is_left
        if not self._connection.watch(self._client_left):
            self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def begin(self, sink: EventSink, write: float | None) -> None:
        """Heartbeats are those of `sink` from here on, and a client may not read for `write` seconds."""
        self._sink = sink
        self._write = write
        self._set_timer()

    def drop(self, why: Dropped) -> None:
        """Write nothing any longer. The first reason stays.

        A client that does not read is cut off on purpose, which ends its run too.
        """
        if self.dropped == why:
            return
        is_first = self.dropped is None
        self.dropped = self.dropped or why
        self._response.discards = True
        if self._beating is not None:
            self._beating.cancel()
        if is_first and why == "client_gone":
            self._run.lose_client()
        else:
            self._run.abandon()

    def close(self) -> None:
        """The delivery is over: look at nothing any longer."""
        self._connection.watch(None)
        if self._timer is not None:
            self._timer.cancel()
        for task in (self._beating, self._watcher):
            if task is not None:
                task.cancel()

    def _client_left(self) -> None:
        if not self._response.is_complete:
            self.drop("client_gone")

    async def _wait_for_client(self, receive: Receive) -> None:
        """Wait until the client has left; what it still sends is of no interest."""
        while (await receive())["type"] != "http.disconnect":
            pass
        self._client_left()  # a server may also report that nothing more is to come

    def _limit_what_is_left(self) -> None:
        """The run has been ended from outside: what is left for the client may not take for ever."""
        self._left_by = time.monotonic() + (LEFT_SECONDS if self._write is None else self._write)
        self._set_timer()

    # The timer

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.dropped is None and (when := self._next_look()) is not None:
            self._timer = self._loop.call_later(max(0.001, when - time.monotonic()), self._look)

    def _next_look(self) -> float | None:
        """Return when a clock can have run out at the earliest, those that may start meanwhile included."""
        now = time.monotonic()
        times = [self._heartbeat_due(), self._write_due(), self._left_by]
        if self._heartbeat is not None:
            times.append(now + self._heartbeat)
        if self._write is not None:
            times.append(now + self._write / 4)  # often enough to see that a client reads
        return min((when for when in times if when is not None), default=None)

    def _look(self) -> None:
        self._timer = None
        now = time.monotonic()
        self._note_progress(now)
        if _is_due(self._write_due(), now) or _is_due(self._left_by, now):
            self.drop("slow_client")
        elif _is_due(self._heartbeat_due(), now):
            self._beat(now)
        self._set_timer()

    # Heartbeat

    def _heartbeat_due(self) -> float | None:
        response = self._response
        if self._heartbeat is None or response.writing_since is not None or response.finished:
            return None
        return max(self._last_beat, response.last_write) + self._heartbeat

    def _beat(self, now: float) -> None:
        self._last_beat = now
        if not self._connection.unsent():  # to the client it is not silent yet
            self._beating = self._loop.create_task(self._send_beat())

    async def _send_beat(self) -> None:
        try:
            await self._response.heartbeat(self._sink.heartbeat())
        except ClientGone:
            self.drop("client_gone")

    # A client that does not read

    def _note_progress(self, now: float) -> None:
        """Has a client that takes long taken anything since the last look? Then it is slow, but reads."""
        since, before = self._response.writing_since, self._progress
        if since is None:
            self._progress = None
            return
        unsent = self._connection.unsent()
        if before is None or before.writing_since != since:
            self._progress = _Progress(since, since, unsent)
        elif unsent is not None and before.unsent is not None and unsent < before.unsent:
            self._progress = _Progress(since, now, unsent)

    def _write_due(self) -> float | None:
        since, progress = self._response.writing_since, self._progress
        if since is None or self._write is None:
            return None
        if progress is not None and progress.writing_since == since:
            return progress.seen_at + self._write
        return since + self._write


class _Progress(NamedTuple):
    """How far one write to the client has got."""

    writing_since: float
    seen_at: float
    """When the client last was seen to take something, or the write's beginning."""
    unsent: int | None


def _is_due(when: float | None, now: float) -> bool:
    return when is not None and now >= when
