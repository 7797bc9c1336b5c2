"""How a client is sent a run that is kept: its sink is opened when it is known what the run is read with."""

from __future__ import annotations

from streamweir.delivery.client_port import ClientPort
from streamweir.http.headers import Headers
from streamweir.runs.feed_writer import open_feed_writer
from streamweir.runs.stored_event import Source
from streamweir.translation.writer import StreamWriter
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_delivery import LiveDelivery
from streamweir_gateway.runs.run_supervisor import RunSupervisor

__all__ = ["StoredDelivery"]


class StoredDelivery(LiveDelivery):
    """A delivery of what is stored.

    Attributes:
        is_open: it is known what the run is read with, and `sink` writes it.

    Args:
        endpoint: that it is a run of.
        incoming: the client's request, with the run's request id.
        handle: of the run.
        headers: of the response, beside those of a stream.
        client: gets the response.
        run: of the reading.
    """

    __slots__ = ("_extra", "_handle", "_source", "is_open")

    def __init__(
        self,
        endpoint: Endpoint,
        incoming: Incoming,
        *,
        handle: str | None,
        headers: Headers,
        client: ClientPort,
        run: RunSupervisor,
    ) -> None:
        super().__init__(endpoint, incoming, client=client, run=run)
        self.is_open = False
        self._handle = handle
        self._extra = headers
        config = endpoint.config
        self._source = Source(config.upstreams[0].speaks, config.protocol_options)  # as far as one can know
        self._set_sink(self._source)

    @property
    def resumes_itself(self) -> bool:
        """The client reads the standard, in which a body without an end means: come back."""
        return self._incoming.answers == "standard" and self.sink.framing != "json"

    @property
    def has_something(self) -> bool:
        """Something has been sent, or waits to be."""
        if self.is_started or self._unsent:
            return True
        self._unsent = self.sink.take()
        return bool(self._unsent)

    @property
    def fails_whole(self) -> bool:
        """The client is given a status in place of a stream."""
        sink = self.sink
        return isinstance(sink, StreamWriter) and sink.is_failure and not self.is_started

    def leave_no_run(self) -> None:
        """Name no run: there is nothing to come back to."""
        self._extra = []

    @property
    def is_streaming(self) -> bool:
        """The response has begun, nothing waits to be sent, and what comes next is written as it is given."""
        return self.is_open and self.is_started and not self._unsent

    def open(self, source: Source) -> None:
        """Write what comes as it has to be written where the run is read with `source`."""
        if source != self._source:
            self._set_sink(source)
        self.is_open = True

    async def begin(self) -> None:
        """Let the headers leave: there is something to wait for."""
        if self.sink.framing != "json" and not self.sink.reports_by_status:
            await super().begin()

    def _set_sink(self, source: Source) -> None:
        config, incoming = self._endpoint.config, self._incoming
        writer = open_feed_writer(
            source,
            answers=incoming.answers,
            framing=incoming.framing,
            request_id=incoming.request_id,
            dialects=self._endpoint.dialects,
            handle=self._handle,
            other_options=config.protocol_options,
        )
        self._write_to(writer, config.upstreams[0].timeouts.write)

    def _headers(self) -> Headers:
        replaced = {name for name, _ in self._extra}
        return [*(header for header in super()._headers() if header[0] not in replaced), *self._extra]
