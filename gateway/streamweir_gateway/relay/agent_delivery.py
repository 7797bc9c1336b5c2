"""Delivers an agent stream among the responses of a whole service, like the stream of any other endpoint."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.relay.service import Service
from streamweir_gateway.requests.offers import NO_OFFER
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.proxy_exchange import ProxyExchange
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["AgentDelivery"]


class AgentDelivery:
    """Delivers a response whose first event is known.

    Args:
        service: the service that has answered.
        request: the request to the service.
        response: the response of the service, from its beginning.
        scope: the ASGI scope of the client's request.
        send: takes the client's response.
        record: the record of the request; completed here.
        observer: gets the report of the attempt.

    Attributes:
        is_started: whether the headers of the service have been sent to the client.
        body: the body of the request; the number of its bytes if they were not kept.
    """

    def __init__(
        self,
        service: Service,
        request: UpstreamRequest,
        response: TransportResponse,
        scope: Scope,
        send: Send,
        record: RequestRecord,
        observer: Observer,
    ) -> None:
        self.is_started = False
        self.body: bytes | int = 0
        self._service = service
        self._request = request
        self._response = response
        self._scope = scope
        self._send = send
        self._record = record
        self._observer = observer

    async def deliver(self, streams: LiveStreams, receive: Receive) -> None:
        """Deliver the stream to its end.

        Args:
            streams: keeps the stream while it is under way.
            receive: reports that the client has left.
        """
        endpoint, record = self._service.endpoint, self._record
        incoming = endpoint.incoming(self._scope, record.request_id)
        record.span_id = incoming.trace.span_id
        prepared = PreparedRequest(
            incoming,
            self._request,
            RequestBody.sent(self.body),
            dict.fromkeys(endpoint.destinations, NO_OFFER),
            self._response,
        )
        exchange = ProxyExchange(
            endpoint,
            prepared,
            client=ConnectedClient(self._scope, receive, self._send),
            streams=streams,
            scope=self._scope,
            record=record,
            observer=self._observer,
            started_with=self._response.status if self.is_started else None,
        )
        del prepared
        await exchange.run()
