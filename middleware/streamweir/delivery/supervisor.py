"""Supervision of the client of one delivery: heartbeats, slow clients, clients that leave.

    event                                 action of the supervisor
    ───────────────────────────────────   ──────────────────────────────────────────────────────────────────
    the clock says `heartbeat`            sends one, unless the client has still to take earlier bytes
    the clock says `slow_client`          drops the client as `slow_client`
    a timeout of the source, `settled`    calls `Source.run_out`
    the client leaves                     drops it as `client_gone`
    `limit_rest` was called, its time     drops the client as `slow_client`
    is over

The clock is looked at when something can be due, so that an event costs no timer. On asyncio a stream costs
no task either, and all streams share one timer (`ClockSweep`).

Source: the configuration contract (`heartbeat`, `timeouts.write`); the protocol 1.1, sections 3.8 and 6.
"""

from __future__ import annotations

import math
import time
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from streamweir.delivery.delivery import Delivery
from streamweir.delivery.scheduler import Scheduler
from streamweir.delivery.source import Source
from streamweir.translation.clock import Due, StreamClock

__all__ = ["DeliverySupervisor", "Dropped"]

Dropped: TypeAlias = Literal["client_gone", "slow_client"]
"""The reasons why no more bytes are sent to a client."""


class DeliverySupervisor(Struct, eq=False):
    """Watches over the client of one delivery.

    Attributes:
        delivery: the delivery to the client; None until the stream begins.
        dropped: why no more bytes are sent to the client; None while they are. The first reason stays.
    """

    _clock: StreamClock
    """The clock of the delivery."""
    _source: Source
    """Is told to end, or to continue without the client."""
    _scheduler: Scheduler
    """Runs the timer and the side tasks."""
    delivery: Delivery | None = None
    dropped: Dropped | None = None
    _rest_until: float = math.inf

    def watch(self, delivery: Delivery) -> None:
        """Drop the client as soon as it leaves `delivery`."""
        self.delivery = delivery
        if not delivery.client.watch(self._client_left):
            self._scheduler.start(self._wait_for_client)

    def update(self, within: float = 0.0) -> None:
        """Look at the clock soon, because one of its durations has changed.

        Args:
            within: seconds in which no entry of the clock can run out.
        """
        self._scheduler.watch(self._look, within)

    def limit_rest(self, seconds: float) -> None:
        """Limit the time for the remaining bytes, in seconds, because the source was ended from outside."""
        self._rest_until = time.monotonic() + seconds
        self.update()

    def drop(self, why: Dropped) -> None:
        """Stop sending to the client.

        If the client has left, the source is told so, and may continue without it. If the client is cut off,
        or dropped for a second reason, the source ends.
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
        """Stop watching, because the delivery is over. References are dropped, so that no cycle is left."""
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

    def _look(self, now: float) -> float:
        """Act on the entry of the clock that has run out, if any; return the time of the next look."""
        clock, delivery = self._clock, self.delivery
        if self._is_over:
            return math.inf
        if delivery is not None and clock.writing_since is not None:
            clock.note_unsent(delivery.client.unsent(), now)
        due, when = clock.look(now)
        if due is None and now < self._rest_until:
            return min(when, self._rest_until)
        if due == "slow_client" or now >= self._rest_until:
            self.drop("slow_client")
        elif due == "heartbeat":
            self._send_heartbeat(now)
        elif due is not None:
            self._source.run_out(due)
            return math.inf  # once
        return math.inf if self._is_over else min(clock.next_look(now), self._rest_until)

    @property
    def _is_over(self) -> bool:
        """Whether no more bytes are sent to the client."""
        return self.dropped is not None or (self.delivery is not None and self.delivery.gone is not None)

    def _send_heartbeat(self, now: float) -> None:
        delivery = self.delivery
        self._clock.last_write = now
        if delivery is None or delivery.client.unsent():
            return
        if not delivery.beat_at_once():
            self._scheduler.start(self._beat)

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
