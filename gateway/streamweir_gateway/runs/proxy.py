"""The ASGI endpoint that sends a client's request to an upstream and the upstream's stream to the client.

Every request is answered with a valid stream, or with an HTTP status and an error envelope, unless the client
has left.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from typing import Any

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from streamweir.codec.base import NO_OPTIONS, Options
from streamweir.http.headers import REQUEST_ID, settled_request_id
from streamweir.http.refusals import Refusal, send_refusal
from streamweir.http.requested_run import last_event_ids
from streamweir.http.sending import send_nothing
from streamweir.requests.errors import RequestError
from streamweir_gateway.connection.connected_client import ConnectedClient
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import settled_trace_context
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.responses.front_door import Opening, new_response_id
from streamweir_gateway.responses.response_keeper import ResponseKeeper
from streamweir_gateway.runs.broken_off import BrokenOff
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.runs.prepared_request import PreparedRequest
from streamweir_gateway.runs.proxy_exchange import ProxyExchange
from streamweir_gateway.runs.request_body import RequestBodies, RequestBody
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["Proxy", "refused"]


class Proxy:
    """The ASGI endpoint of one path."""

    def __init__(
        self, endpoint: Endpoint, *, streams: LiveStreams, bodies: RequestBodies, observer: Observer
    ) -> None:
        self._endpoint = endpoint
        self._template = endpoint.config.template
        self._label = endpoint.destinations[0].label
        self._speaks = endpoint.config.upstreams[0].speaks
        self._methods = endpoint.config.methods
        self._streams = streams
        self._bodies = bodies
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        request_id = settled_request_id(scope)
        record = RequestRecord(
            request_id,
            scope["method"],
            self._template,
            self._label,
            self._speaks,
            key=scope["state"].get("key"),
            trace_id=settled_trace_context(scope).trace_id,
        )
        try:
            await self._serve(scope, receive, send, record)
        except Refusal as refusal:
            record.refused(refusal.code, scope["state"].get("client"))
            protocol = self._endpoint.expected_protocol(scope)
            record.bytes_out = await send_refusal(send, refusal, request_id=request_id, protocol=protocol)
        except ClientGone:
            record.reason = "client_gone"
        except BrokenOff:
            raise
        except Exception as error:
            record.failed(error)
            raise
        finally:
            self._observer.ended(record)

    def _serve(
        self, scope: Scope, receive: Receive, send: Send, record: RequestRecord
    ) -> Coroutine[Any, Any, None]:
        """Return the coroutine that serves the request: one more would take memory as long as the stream."""
        if scope["method"] == "GET" and last_event_ids(scope):
            # An EventSource reconnects after the end of a stream, and only this status stops it.
            record.status = 204
            return send_nothing(send, [(REQUEST_ID, record.request_id.encode("ascii"))])
        self._check_method(scope)
        if self._streams.draining:
            raise _draining()
        return self.answer(scope, receive, send, record)

    async def answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        record: RequestRecord,
        body: RequestBody | None = None,
    ) -> None:
        """Check the head of the request, read the body, and answer.

        Args:
            scope: the ASGI scope of the request.
            receive: gives the body of the request.
            send: takes the response.
            record: the record of the request.
            body: the body, if it has been read; released here.

        Raises:
            Refusal: the request is not served.
            ClientGone: the client left before the end of the body.
        """
        endpoint = self._endpoint
        incoming, request = self._asked_before_body(scope, record)
        if body is None:
            bodies, limit = self._bodies, endpoint.request_bytes
            body = bodies.arrived(scope, receive, limit) or await bodies.read(scope, receive, limit)
        try:
            incoming = endpoint.as_asked(incoming, body.data)
            if self._streams.draining:  # again: a drain that began meanwhile would not end this stream
                raise _draining()
            if endpoint.mapping is None and endpoint.front_door is None:
                prepared = PreparedRequest(incoming, request, body, endpoint.plain_offers)
            else:
                prepared = await self._translated(incoming, request, body, scope)
            answering = self._answer(prepared, scope, receive, send, record)
            del incoming, request, prepared  # a long stream would keep them
            await answering
        finally:
            body.release()

    def _asked_before_body(self, scope: Scope, record: RequestRecord) -> tuple[Incoming, UpstreamRequest]:
        """Return the client's request, and the one to the first upstream, made early to check the path."""
        endpoint = self._endpoint
        incoming = endpoint.incoming(scope, record.request_id)
        record.span_id = incoming.trace.span_id
        request = endpoint.destinations[0].request(incoming)
        if endpoint.mapping is not None:
            try:
                endpoint.mapping.check(incoming)
            except RequestError as error:
                raise refused(error) from None
        return incoming, request

    async def _translated(
        self, incoming: Incoming, request: UpstreamRequest, body: RequestBody, scope: Scope
    ) -> PreparedRequest:
        """Return the request with a body written for each upstream, and with the keeper of its response."""
        endpoint = self._endpoint
        mapping, door = endpoint.mapping, endpoint.front_door
        offers: Mapping[Destination, Offer] = endpoint.plain_offers
        keeper: ResponseKeeper | None = None
        try:
            if door is not None and door.serves(incoming):
                opening = self._opening(scope, incoming)
                opened = await door.open(incoming, body.data, endpoint.destinations, opening)
                incoming, offers, keeper = opened.incoming, opened.offers, opened.keeper
            elif mapping is not None:
                offers = await mapping.offers(incoming, body.data, endpoint.destinations)
        except RequestError as error:
            raise refused(error) from None
        if incoming.names.hides_usage and not any(offer.asks_for_usage for offer in offers.values()):
            incoming = replace(incoming, names=incoming.names._replace(hides_usage=False))
        if (first := next(iter(offers))) is not endpoint.destinations[0]:
            request = first.request(incoming)
        return PreparedRequest(incoming, request, body, offers, keeper=keeper)

    def _opening(self, scope: Scope, incoming: Incoming) -> Opening:
        del scope
        return Opening(new_response_id(), False, self._options(incoming))

    def _options(self, incoming: Incoming) -> Options:
        """Return the options of the client's protocol."""
        first = self._endpoint.destinations[0]
        return first.protocol_options(first.path(incoming)).get(incoming.answers, NO_OPTIONS)

    def _answer(
        self, prepared: PreparedRequest, scope: Scope, receive: Receive, send: Send, record: RequestRecord
    ) -> Coroutine[Any, Any, None]:
        """Return the coroutine that runs the request at the upstreams, and delivers the stream."""
        exchange = ProxyExchange(
            self._endpoint,
            prepared,
            client=ConnectedClient(scope, receive, send),
            streams=self._streams,
            scope=scope,
            record=record,
            observer=self._observer,
        )
        return exchange.run()

    def _check_method(self, scope: Scope) -> None:
        if scope["method"] not in self._methods:  # a router lets HEAD pass as a kind of GET
            raise Refusal("METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(self._methods)})


def _draining() -> Refusal:
    return Refusal("GATEWAY_DRAINING", headers={"Connection": "close"})


def refused(error: RequestError) -> Refusal:
    """Return the refusal for an error in a client's request."""
    return Refusal(error.code, str(error), error=error.error)
