"""What one client gets of a run: the events in its protocol, and how its response begins and ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Final, cast

from starlette.types import Receive, Send

from streamweir.codec.base import Options
from streamweir.errors import ErrorInfo
from streamweir.http.folded_response import folded_response
from streamweir.http.headers import Headers, encoded_headers
from streamweir.translation.clock import StreamClock
from streamweir.translation.folded_writer import FoldedWriter
from streamweir.translation.open_writer import Writer, open_writer
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventSink
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.delivery_supervisor import DeliverySupervisor
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.response_writer import ClientGone, ResponseWriter
from streamweir_gateway.runs.run_supervisor import RunSupervisor
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["Delivery"]

CUT_OFF_SECONDS: Final = 1.0
"""How long the server may take to see that a connection has been closed."""


class Delivery:
    """An `Audience` of one client, which is sent the events as they come.

    Attributes:
        sink: what writes for the client.
        supervisor: of the client.

    Args:
        endpoint: what was called.
        incoming: the client's request.
        send: takes the response.
        connection: the client's.
        run: what is delivered.
    """

    __slots__ = (
        "_connection",
        "_endpoint",
        "_forwarded",
        "_incoming",
        "_response",
        "_unsent",
        "sink",
        "supervisor",
    )

    def __init__(
        self,
        endpoint: Endpoint,
        incoming: Incoming,
        *,
        send: Send,
        connection: ClientConnection,
        run: RunSupervisor,
    ) -> None:
        self._endpoint = endpoint
        self._incoming = incoming
        self._connection = connection
        clock = StreamClock(now=time.monotonic(), heartbeat=endpoint.config.heartbeat)
        self._response = ResponseWriter(send, clock, connection)
        self.sink: Writer
        self._unsent = b""
        self._forwarded: Headers = []
        self.supervisor = DeliverySupervisor(clock, response=self._response, connection=connection, run=run)

    # What the run calls

    def open_sink(
        self, reader: StreamReader, options: Mapping[str, Options], *, write_timeout: float | None
    ) -> Writer:
        """Return what writes the events of another attempt; see `Audience`."""
        incoming = self._incoming
        self.sink = open_writer(
            incoming.answers,
            incoming.framing,
            request_id=incoming.request_id,
            options=options,
            dialects=self._endpoint.dialects,
            source=reader,
            verbatim=incoming.answers in self._endpoint.copied,
            follows=incoming.follows and not self._response.is_started,
            names=incoming.names,
        )
        if self._response.is_started:
            self.sink.begin_body()
        if not self._response.headers:
            self._response.headers = self._headers(self.sink)
        self.supervisor.begin(self.sink, write_timeout)
        return self.sink

    def forward_headers(self, response: UpstreamResponse) -> None:
        """Give the client the headers that it may have."""
        config = self._endpoint.config
        if (config.forward_response_headers or config.relays_all) and not self._response.is_started:
            self._forwarded += self._endpoint.forwarded(response)
            self._response.headers = self._headers(self.sink)

    def _headers(self, sink: Writer) -> Headers:
        own = self._endpoint.response_headers(sink.media_type, self._incoming)
        return [*own, *encoded_headers(sink.headers), *self._forwarded]

    def send_at_once(self, now: float) -> bool:
        """Send what was written, if that needs no waiting."""
        data = self._take()
        if not data or self._response.write_at_once(data, now):
            return True
        self._unsent = data
        return False

    @property
    def has_unsent(self) -> bool:
        """Something waits for `send` that could not be sent at once."""
        return bool(self._unsent)

    async def send(self) -> None:
        """Send what was written, as soon as the client takes it."""
        data, self._unsent = self._unsent + self._take(), b""
        try:
            await self._response.write(data)
        except ClientGone:
            self.supervisor.drop("client_gone")

    def _take(self) -> bytes:
        """Return what was written; the first of it settles the content type, which may be the upstream's."""
        data = self.sink.take()
        if not self._response.is_started and self._incoming.follows:
            self._response.headers = self._headers(self.sink)
        return data

    # What the exchange calls

    def settle(self, sink: EventSink) -> None:
        """Let the client have what was written to `sink`, of all that were opened."""
        self.sink = cast("Writer", sink)

    async def finish(self, error: ErrorInfo | None, failure: ErrorInfo | None) -> None:
        """Send what is left, and end the response.

        Args:
            error: that the stream ended with.
            failure: the same as it was classified, if it was.

        Raises:
            ClientGone: the server says so.
        """
        data, self._unsent = self._unsent + self._take(), b""
        response, sink = self._response, self.sink
        if isinstance(sink, FoldedWriter) or sink.is_failure:
            response.status, headers = folded_response(
                data,
                error,
                has_answer=isinstance(sink, FoldedWriter) and sink.has_answer,
                failure=failure,
                own_form=sink.reports_by_status,
            )
            response.headers = self._headers(sink) + headers
        await response.finish(data)

    async def cut_off(self, receive: Receive) -> None:
        """Close the connection of a client that does not read, and wait until the server has seen it."""
        self._connection.abort()
        try:
            async with asyncio.timeout(CUT_OFF_SECONDS):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            pass

    def note_in(self, record: RequestRecord, *, events: int) -> None:
        """Complete `record` with what the client was sent, of a stream of so many events."""
        response = self._response
        record.answers, record.framing = self._incoming.answers, self.sink.framing
        record.status = response.status if response.is_started else None
        record.bytes_out = response.bytes
        record.events = events + self.sink.added
        record.lost = self.sink.unsupported.total()
