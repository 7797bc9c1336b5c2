"""The delivery of a live run to the client that asked for it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import cast

from streamweir.codec.base import Options
from streamweir.delivery.client_port import ClientPort
from streamweir.delivery.delivery import Delivery
from streamweir.delivery.scheduler import LoopScheduler
from streamweir.delivery.supervisor import DeliverySupervisor
from streamweir.errors import ErrorInfo
from streamweir.framing.event_ids import EventIds
from streamweir.http.headers import Headers, encoded_headers
from streamweir.translation.clock import StreamClock
from streamweir.translation.open_writer import Writer, open_writer
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir.translation.writer import StreamWriter
from streamweir_gateway.config import LEFT_SECONDS
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["LiveDelivery"]


class LiveDelivery(Delivery):
    """The `Audience` of a run that has one client.

    Attributes:
        supervisor: watches over the client.

    Args:
        endpoint: the called endpoint.
        incoming: the client's request.
        client: gets the response.
        run: the supervisor of the run.
    """

    __slots__ = ("_endpoint", "_event_ids", "_forwarded", "_incoming", "_run", "supervisor")

    def __init__(
        self, endpoint: Endpoint, incoming: Incoming, *, client: ClientPort, run: RunSupervisor
    ) -> None:
        clock = StreamClock(now=time.monotonic(), heartbeat=endpoint.config.heartbeat)
        super().__init__(client, clock)
        self._endpoint = endpoint
        self._incoming = incoming
        self._run = run
        self._forwarded: Headers = []
        is_for_event_source = incoming.method == "GET" and not endpoint.config.relays_all
        self._event_ids = EventIds() if is_for_event_source else None
        self.supervisor = DeliverySupervisor(clock, run, LoopScheduler())

    def watch(self) -> None:
        """Drop the client when it leaves, and limit the rest when the run is ended from outside."""
        self._run.on_stop = self._limit_rest
        self.supervisor.watch(self)

    # Called by the run

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> Writer:
        """Return the writer of another attempt; see `Audience`."""
        incoming = self._incoming
        writer = open_writer(
            incoming.answers,
            incoming.framing,
            request_id=incoming.request_id,
            options=options,
            dialects=self._endpoint.dialects,
            source=reader,
            verbatim=incoming.answers in self._endpoint.copied,
            follows=incoming.follows and not self.is_started,
            names=incoming.names,
        )
        if self._event_ids is not None and isinstance(writer, StreamWriter):
            writer.event_ids = self._event_ids
        self._write_to(writer, write_timeout)
        return writer

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Add the forwarded headers of the upstream's response, unless the headers have been sent."""
        config = self._endpoint.config
        if (config.forward_response_headers or config.relays_all) and not self.is_started:
            self._forwarded += self._endpoint.forwarded(response)

    async def send(self) -> None:
        """Send the bytes of the sink; drop the client if it has left."""
        try:
            await super().send()
        except OSError:
            self.supervisor.drop("client_gone")

    # Called by the exchange

    async def finish(self, error: ErrorInfo | None = None, failure: ErrorInfo | None = None) -> None:
        """Send the rest and end the response; see `Delivery`.

        Raises:
            ClientGone: the client has left.
        """
        try:
            await super().finish(error, failure)
        except OSError as gone:
            raise ClientGone from gone

    def choose_sink(self, sink: EventSink) -> None:
        """Choose one of the sinks that were opened; the client gets its bytes."""
        self.sink = cast("Writer", sink)

    def note_in(self, record: RequestRecord, *, events: int) -> None:
        """Complete `record` with the facts about the response.

        Args:
            record: of the request.
            events: the number of events of the stream.
        """
        record.answers, record.framing = self._incoming.answers, self.sink.framing
        record.status = self.status if self.is_started else None
        record.bytes_out = self.bytes
        record.events = events + self.sink.added
        record.lost = self.sink.unsupported.total()

    def _write_to(self, writer: Writer, write_timeout: float | None) -> None:
        """Replace the sink, and the time in seconds for which the client may take nothing."""
        self.sink = writer
        if self.is_started:
            writer.begin_body()
        self.clock.write = write_timeout
        self.supervisor.update()

    def _headers(self) -> Headers:
        own = self._endpoint.response_headers(self.sink.media_type, self._incoming)
        return [*own, *encoded_headers(self.sink.headers), *self._forwarded]

    def _limit_rest(self) -> None:
        """Limit the time that the client has for the rest: the run was ended from outside."""
        write = self.clock.write
        self.supervisor.limit_rest(LEFT_SECONDS if write is None else write)
