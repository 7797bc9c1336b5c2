"""Supervision of the client of one delivery: heartbeats, slow clients, clients that leave.

    event                                 action of the supervisor
    ───────────────────────────────────   ──────────────────────────────────────────────────────────────────
    the clock says `heartbeat`            sends one, unless the client has still to take earlier bytes
    the clock says `slow_client`          drops the client as `slow_client`
    a timeout of the source, `settled`    calls `Source.run_out`
    the client leaves                     drops it as `client_gone`
    `limit_rest` was called, its time     drops the client as `slow_client`
    is over

One timer looks at the clock when something can be due, so that an event costs no timer. On asyncio a stream
costs no task either.

Source: the configuration contract (`heartbeat`, `timeouts.write`); the standard protocol 1.1, sections 3.8
and 6.
"""

from __future__ import annotations

import math
import time
from typing import Final, Literal, TypeAlias

from streamweir.delivery.delivery import Delivery
from streamweir.delivery.scheduler import Scheduler
from streamweir.delivery.source import Source
from streamweir.translation.clock import Due, StreamClock

__all__ = ["DeliverySupervisor", "Dropped"]

Dropped: TypeAlias = Literal["client_gone", "slow_client"]
"""Why a client is sent nothing any longer."""


class DeliverySupervisor:
    """Watches over the client of one delivery.

    Args:
        clock: of the delivery.
        source: is told what has to end it.
        scheduler: runs the timer and the side tasks.

    Attributes:
        delivery: to the client; None until the stream begins.
        dropped: why the client is sent nothing any longer; None while it is. The first reason stays.
    """

    __slots__ = ("_clock", "_rest_until", "_scheduler", "_source", "delivery", "dropped")

    def __init__(self, clock: StreamClock, source: Source, scheduler: Scheduler) -> None:
        self.delivery: Delivery | None = None
        self.dropped: Dropped | None = None
        self._clock = clock
        self._source: Source = source
        self._scheduler = scheduler
        self._rest_until = math.inf

    def watch(self, delivery: Delivery) -> None:
        """Drop the client as soon as it leaves `delivery`."""
        self.delivery = delivery
        if not delivery.client.watch(self._client_left):
            self._scheduler.start(self._wait_for_client)

    def update(self) -> None:
        """Set the timer anew, since a duration of the clock has changed."""
        now = time.monotonic()
        due = min(self._clock.next_look(now), self._rest_until)
        is_over = self.dropped is not None or (self.delivery is not None and self.delivery.gone is not None)
        self._scheduler.set_timer(math.inf if is_over else max(0.001, due - now), self._look)

    def limit_rest(self, seconds: float) -> None:
        """Limit the time for the rest, in seconds: the source was ended from outside."""
        self._rest_until = time.monotonic() + seconds
        self.update()

    def drop(self, why: Dropped) -> None:
        """Send the client nothing any longer.

        A client that has left loses the source, which may go on without it. For a client that is cut off,
        or is dropped for a second reason, the source ends.
        """
        if self.dropped == why:
            return
        is_first = self.dropped is None
        self.dropped = self.dropped or why
        if self.delivery is not None:
            self.delivery.drop()
        self._scheduler.close()
        if is_first and why == "client_gone":
            self._source.lose_client()
        else:
            self._source.abandon()

    def close(self) -> None:
        """Stop watching: the delivery is over. References are dropped, so that no cycle is left behind."""
        if self.delivery is not None:
            self.delivery.client.watch(None)
        self._scheduler.close()
        self.delivery, self._source = None, _NO_SOURCE

    def _client_left(self) -> None:
        if self.delivery is not None and not self.delivery.is_complete:
            self.drop("client_gone")

    async def _wait_for_client(self) -> None:
        assert self.delivery is not None
        await self.delivery.client.until_left()
        self._client_left()  # a server may also report that the response is complete

    def _look(self) -> None:
        now, clock = time.monotonic(), self._clock
        if self.delivery is not None and clock.writing_since is not None:
            clock.note_unsent(self.delivery.client.unsent(), now)
        due = clock.due(now)
        if due == "slow_client" or now >= self._rest_until:
            self.drop("slow_client")
        elif due == "heartbeat":
            clock.last_write = now
            if self.delivery is not None and not self.delivery.client.unsent():
                self._scheduler.start(self._beat)
        elif due is not None:
            self._source.run_out(due)
            return  # once
        self.update()

    async def _beat(self) -> None:
        if self.delivery is None:
            return
        try:
            await self.delivery.beat()
        except Exception:  # the server can raise anything; nothing can be sent any longer
            self.drop("client_gone")


class _NoSource(Source):
    """The source of a delivery that is over."""

    def lose_client(self) -> None:
        pass

    def abandon(self) -> None:
        pass

    def run_out(self, due: Due) -> None:
        pass


_NO_SOURCE: Final = _NoSource()
