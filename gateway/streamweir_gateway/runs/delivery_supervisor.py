"""One client under watch: heartbeats into its silence, whether it reads, and whether it is still there.

As for a run, one timer looks at the clock when something can be due.

Source: the configuration contract (`heartbeat`, `timeouts.write`); the standard protocol 1.1, sections 3.8
and 6.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import Literal, TypeAlias

from starlette.types import Receive

from streamweir.translation.clock import StreamClock
from streamweir.translation.sink import EventSink
from streamweir_gateway.config import LEFT_SECONDS
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.runs.response_writer import ClientGone, ResponseWriter
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["DeliverySupervisor", "Dropped"]

Dropped: TypeAlias = Literal["client_gone", "slow_client"]
"""Why a client is answered no longer."""


class DeliverySupervisor:
    """Watches over the client of one delivery.

    Attributes:
        dropped: set once the client is answered no longer.

    Args:
        clock: of the client's side.
        response: to the client, which notes in the clock what is written.
        connection: the client's.
        run: what is delivered; it ends, or goes on alone, when the client has left.
    """

    __slots__ = (
        "_beating",
        "_clock",
        "_connection",
        "_left_by",
        "_loop",
        "_response",
        "_run",
        "_sink",
        "_timer",
        "_watcher",
        "dropped",
    )

    def __init__(
        self,
        clock: StreamClock,
        *,
        response: ResponseWriter,
        connection: ClientConnection,
        run: RunSupervisor,
    ) -> None:
        self.dropped: Dropped | None = None
        self._clock = clock
        self._response = response
        self._connection = connection
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._left_by = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self._beating: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._sink: EventSink

    def watch(self, receive: Receive) -> None:
        """Look out for the client's leaving: let the server report it, or wait for it in a task."""
        self._run.on_stop = self._limit_what_is_left
        if not self._connection.watch(self._client_left):
            self._watcher = self._loop.create_task(self._wait_for_client(receive))

    def begin(self, sink: EventSink, write: float | None) -> None:
        """Heartbeats are those of `sink` from here on, and a client may not read for `write` seconds."""
        self._sink = sink
        self._clock.write = write
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
        write = self._clock.write
        self._left_by = time.monotonic() + (LEFT_SECONDS if write is None else write)
        self._set_timer()

    # The timer

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        now = time.monotonic()
        seconds = min(self._clock.next_look(now), self._left_by) - now
        if self.dropped is None and seconds < math.inf:
            self._timer = self._loop.call_later(max(0.001, seconds), self._look)

    def _look(self) -> None:
        self._timer = None
        now = time.monotonic()
        if self._clock.writing_since is not None:
            self._clock.note_unsent(self._connection.unsent(), now)
        due = self._clock.due(now)
        if due == "slow_client" or now >= self._left_by:
            self.drop("slow_client")
        elif due == "heartbeat":
            self._beat(now)
        self._set_timer()

    def _beat(self, now: float) -> None:
        self._clock.last_write = now
        if not self._connection.unsent():  # to the client it is not silent yet
            self._beating = self._loop.create_task(self._send_beat())

    async def _send_beat(self) -> None:
        try:
            await self._response.heartbeat(self._sink.heartbeat())
        except ClientGone:
            self.drop("client_gone")
