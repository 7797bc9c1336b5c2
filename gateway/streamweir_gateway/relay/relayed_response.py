"""Sends the response of a relayed exchange to the client."""

from __future__ import annotations

from starlette.types import Scope, Send

from streamweir_gateway.access.edge_middleware import RELAYED
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.relay.relay_watch import RelayWatch
from streamweir_gateway.relay.response_head import relayed_headers
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["RelayedResponse"]


class RelayedResponse:
    """Sends a response to the client, and notes status and sizes in the record.

    Attributes:
        is_started: whether the headers have been sent, or are being sent.

    Args:
        scope: the ASGI scope of the client's request.
        send: takes the response.
        watch: watches over the exchange.
        record: the record of the request.
    """

    __slots__ = ("_record", "_scope", "_send", "_watch", "is_started")

    def __init__(self, scope: Scope, send: Send, watch: RelayWatch, record: RequestRecord) -> None:
        self.is_started = False
        self._scope = scope
        self._send = send
        self._watch = watch
        self._record = record

    async def begin(self, status: int, headers: Headers) -> None:
        """Send the headers of the response."""
        self._scope["state"][RELAYED] = self.is_started = True
        record = self._record
        record.status, record.bytes_in, record.bytes_out = status, 0, 0
        await self._send({"type": "http.response.start", "status": status, "headers": headers})
        self._watch.headers_read()

    async def begin_quiet(self, response: TransportResponse) -> None:
        """Send the headers of an event stream before its first frame.

        The headers have no length: if the first frame begins an agent stream, the client gets another body.
        """
        headers = relayed_headers(response)
        await self.begin(response.status, [header for header in headers if header[0] != b"content-length"])
        await self.send(b"")

    async def send(self, data: bytes, *, is_last: bool = False) -> None:
        """Send a piece of the body.

        Raises:
            ClientGone: the client has left.
        """
        record, watch = self._record, self._watch
        record.bytes_in = (record.bytes_in or 0) + len(data)
        watch.begin_writing()
        try:
            await self._send({"type": "http.response.body", "body": data, "more_body": not is_last})
        except OSError as error:
            raise ClientGone from error
        record.bytes_out = (record.bytes_out or 0) + len(data)
        watch.end_writing()
