"""What one client gets of a run that is kept: from its position on, in its protocol, to the end.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

import logging
import time
from typing import Final

from streamweir.delivery.client_port import ClientPort
from streamweir.http.headers import Headers
from streamweir.http.refusals import Refusal
from streamweir.runs.event_log import Batch
from streamweir.runs.follower import Taker
from streamweir.runs.handles import Position
from streamweir.runs.run_feed import RunFeed
from streamweir.runs.run_reader import RunReader
from streamweir.runs.service import NothingLeft
from streamweir.runs.stored_event import UnreadableRun
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.stored_delivery import StoredDelivery
from streamweir_gateway.resumption.upstream_run import UpstreamRun
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["RunDelivery"]

logger = logging.getLogger("streamweir.gateway")


class RunDelivery:
    """Reads a run for one client. It is made in the task that runs it.

    Attributes:
        supervisor: ends it.

    Args:
        reader: of the run; closed here.
        endpoint: of the run.
        incoming: the client's request, with the request id of the run.
        headers: of the response, beside those of a stream.
        client: gets the response.
        run: the run, if this process makes it.
    """

    def __init__(
        self,
        reader: RunReader,
        endpoint: Endpoint,
        incoming: Incoming,
        *,
        headers: Headers,
        client: ClientPort,
        run: UpstreamRun | None = None,
    ) -> None:
        self.supervisor: Final = RunSupervisor(0.0)
        self._kept: Final = run
        self._is_first: Final = reader.first_of is not None
        self._position: Final = reader.position or Position()
        self._resumes: Final = reader.position is not None
        self._reader: Final = reader
        self._delivery: Final = StoredDelivery(
            endpoint,
            incoming,
            handle=reader.handle,
            headers=headers,
            client=client,
            run=self.supervisor,
        )
        self._feed: Final = RunFeed(reader, self._delivery)

    async def run(self, *, is_running: bool) -> None:
        """Deliver the run to its end.

        Args:
            is_running: the run goes on, so that there is something to wait for.

        Raises:
            NothingLeft: the run is over and the client has all of it; nothing has been sent.
            Refusal: the run was not begun at all, or cannot be read; nothing has been sent.
        """
        client = self._delivery.supervisor
        try:
            self._delivery.watch()
            if self._kept is not None and self._kept.response is not None:
                self._delivery.forward_headers(self._kept.response)
            await self._interruptible(is_running=is_running)
        except ClientGone:
            client.drop("client_gone")
        finally:
            self._reader.close()
            self.supervisor.close()
            client.close()
        if client.dropped == "slow_client":
            await self._delivery.cut_off()

    @property
    def has_lost_client(self) -> bool:
        """The client left before the end."""
        return self._delivery.supervisor.dropped is not None

    @property
    def has_seized(self) -> bool:
        """The run was nobody's, and this reader ended it."""
        return self._reader.has_seized

    def note_in(self, record: RequestRecord) -> None:
        """Complete `record` with what the client was sent; a run that has ended has a reason of its own."""
        self._delivery.note_in(record, events=max(0, self._reader.at - self._position.next_event))
        record.reason = record.reason or self._delivery.supervisor.dropped

    async def _interruptible(self, *, is_running: bool) -> None:
        """Deliver; a stop of the gateway ends the run, or the reading of one that is another's."""
        supervisor = self.supervisor
        begins = is_running and not self._is_first
        while True:
            try:
                with supervisor.waiting:
                    if begins:
                        await self._delivery.begin()
                        begins = False
                    await self._deliver()
                    return
            except Interrupted:
                if supervisor.is_over:
                    raise ClientGone from None
                if self._kept is None:
                    await self._finish_short("GATEWAY_DRAINING")
                    return

    async def _deliver(self) -> None:
        delivery, reader = self._delivery, self._reader
        while (batch := await reader.next(self._taker)) is not None:
            try:
                self._feed.write(batch)
            except UnreadableRun:
                logger.warning(
                    "a stored run cannot be read", extra={"request_id": self._reader.about.request_id}
                )
                if not delivery.is_started:
                    raise Refusal("RUN_GONE") from None
                reader.cut_short = "RUN_LOST"
                break
            if self._kept is not None and self._is_first and self._kept.response is not None:
                delivery.forward_headers(self._kept.response)
            if not reader.has_last:
                await delivery.send()
            if self.supervisor.is_over:
                raise ClientGone
        if reader.cut_short is not None:
            await self._finish_short(reader.cut_short)
            return
        if self._kept is not None and self._is_first and self._kept.refusal is not None:
            raise self._kept.refusal
        delivery.sink.finish()
        if self._resumes and not delivery.has_something:
            raise NothingLeft
        failure = None if self._kept is None else self._kept.failure
        if self._kept is not None and self._is_first and delivery.fails_whole:
            await self._kept.owned.forget()
            delivery.leave_no_run()
        await delivery.finish(self._feed.error, failure)

    @property
    def _taker(self) -> Taker | None:
        """What takes in the same call what this process stores, once the response has begun."""
        return self._send_at_once if self._delivery.is_streaming else None

    def _send_at_once(self, batch: Batch) -> bool:
        self._feed.write(batch)
        return self._delivery.send_at_once(time.monotonic())

    async def _finish_short(self, code: str) -> None:
        await self._feed.close_short(code)
        await self._delivery.finish(self._feed.error, None)
