"""Delivers a run to one client of the gateway.

Source: the contract of resumable streams, sections 2, 3 and 5.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.stored_run import StoredRunDelivery
from streamweir.errors import ErrorInfo
from streamweir.failures.ending import FailureFacts
from streamweir.http.headers import Headers
from streamweir.runs.handles import Position
from streamweir.runs.run_reader import RunReader
from streamweir.runs.stored_event import Source
from streamweir.translation.open_writer import Writer
from streamweir.translation.verbatim.verbatim_writer import VerbatimWriter
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.resumption.frames_after import FramesAfter
from streamweir_gateway.resumption.upstream_run import UpstreamRun
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.live_delivery import LiveDelivery
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["RunDelivery"]


class RunDelivery(StoredRunDelivery, LiveDelivery):
    """Delivers a run to one client. Construct it in the task that executes it.

    Attributes:
        reading: ends the delivery from outside.
        frames_after: leaves out the frames that the client has; None: all are sent.

    Args:
        reader: the reader of the run; closed here.
        endpoint: the endpoint of the run.
        incoming: the client's request, with the request id of the run.
        run_headers: the headers that name the run.
        client: gets the response.
        run: the run, if this process executes it; else None.
    """

    def __init__(
        self,
        reader: RunReader,
        endpoint: Endpoint,
        incoming: Incoming,
        *,
        run_headers: Headers,
        client: ClientPort,
        run: UpstreamRun | None = None,
    ) -> None:
        self.reading: Final = RunSupervisor(0.0)
        super().__init__(endpoint, incoming, client=client, run=self.reading)
        self._made_here: Final = run
        self.frames_after: FramesAfter | None = None
        config = endpoint.config
        self._read_from(
            reader,
            dialects=endpoint.dialects,
            protocol=incoming.answers,
            framing=incoming.framing,
            headers=[],
            run_headers=run_headers,
            source=Source(config.upstreams[0].speaks, config.protocol_options),
            options=config.protocol_options,
            follows=incoming.follows,
            is_event_source=incoming.method == "GET",
        )

    async def run(self, *, is_running: bool) -> None:
        """Deliver the run to its end.

        Args:
            is_running: whether the run has not ended, so that the headers are sent before the first event.

        Raises:
            NothingLeft: the run has ended and the client has all of its events; nothing was sent.
            RunGone: the run cannot be read; nothing was sent.
            Refusal: no upstream was asked for the run; nothing was sent.
        """
        client = self.supervisor
        try:
            self.watch()
            if self._made_here is not None and self._made_here.response is not None:
                self.forward_headers(self._made_here.response)
            await self._run_interruptibly(begins=is_running and not self._is_first)
        except (ClientGone, OSError):
            client.drop("client_gone")
        finally:
            self.reader.close()
            self.reading.end()
            client.close()
        if client.dropped == "slow_client":
            await self.cut_off()

    @property
    def has_lost_client(self) -> bool:
        """Whether the client left before the end."""
        return self.supervisor.dropped is not None

    def complete(self, record: RequestRecord) -> None:
        """Complete the record of the client's request, once the delivery is over.

        The reason and the code are those of the run, unless the client left or the body was cut short. The
        first client's record is also the record of the run, which completes it separately.
        """
        first = (self.reader.position or Position()).next_event
        self.note_in(record, events=max(0, self.reader.at - first))
        if record.reason is None:
            record.reason = self.supervisor.dropped or self._feed.reason
            record.code = self._feed.code

    async def send(self) -> None:
        """Send the events that were written, and the headers of the upstream's response if available."""
        self._forward_head()
        await super().send()
        if self.reading.is_over:
            raise ClientGone

    @property
    def _is_first(self) -> bool:
        return self.reader.first_of is not None

    async def _run_interruptibly(self, *, begins: bool) -> None:
        """Deliver the run. If the gateway stops, end the delivery, unless this process executes the run."""
        while True:
            try:
                with self.reading.waiting:
                    if begins:
                        await self.begin()
                        begins = False
                    await self.deliver()
                    return
            except Interrupted:
                if self.reading.is_over:
                    raise ClientGone from None
                if self._made_here is None:
                    await self.cut_short("GATEWAY_DRAINING")
                    return

    def _copier(self) -> VerbatimWriter | None:
        """Return the writer that copies frames of the upstream for the first client; None for others."""
        return self._made_here.copier if self._is_first and self._made_here is not None else None

    def _facts(self, error: ErrorInfo | None) -> FailureFacts:
        """Return the facts that decide how the response ends. The client may come back for the rest."""
        return super()._facts(error)._replace(is_resumable=True)

    def _forward_head(self) -> None:
        """Take the headers of the upstream's response for the first client, when they have arrived."""
        run = self._made_here
        if self._is_first and run is not None and run.response is not None:
            self.forward_headers(run.response)

    async def _end(self) -> None:
        self._forward_head()
        if self._made_here is not None:
            self.outcome = self._made_here.outcome
        if self._is_first and self._made_here is not None and self._made_here.refusal is not None:
            raise self._made_here.refusal
        first = self.reader.first_of
        if first is not None and self._ending(self._feed.error) in ("refusal", "envelope"):
            await first.forget()  # the client gets a status in place of a stream
            self._run_headers = []
        await super()._end()

    def _failure(self) -> ErrorInfo | None:
        return None if self._made_here is None else self._made_here.failure

    def _send_body(self, data: bytes, *, more: bool, is_heartbeat: bool = False) -> Awaitable[None]:
        if self.frames_after is None or is_heartbeat:
            return super()._send_body(data, more=more, is_heartbeat=is_heartbeat)
        return self._send_rest(data, self.frames_after.rest(data), more=more)

    async def _send_rest(self, data: bytes, rest: bytes, *, more: bool) -> None:
        """Send the rest of a piece of the body; the caller counts the whole piece."""
        await super()._send_body(rest, more=more)
        self.bytes += len(rest) - len(data)

    def _set_writer(self, writer: Writer) -> None:
        self._write_to(writer, self._endpoint.config.upstreams[0].timeouts.write)
