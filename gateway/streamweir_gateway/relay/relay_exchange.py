"""Sends one request to the service, and its response to the client piece by piece.

If a failure occurs after the headers, the client's connection is closed within the body, so that the client
does not take the body for complete.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace
from starlette.types import Receive, Scope, Send

from streamweir.errors import ErrorInfo, error_info
from streamweir.http.headers import header_value, media_type_of
from streamweir.http.refusals import Refusal
from streamweir_gateway.connection.client_connection import connection_of
from streamweir_gateway.handshakes import check_handshake, is_handshake
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.relay.agent_delivery import AgentDelivery
from streamweir_gateway.relay.agent_stream import judge
from streamweir_gateway.relay.quiet_stream import MEDIA_TYPE, QuietStream
from streamweir_gateway.relay.relay_request import RelayBody
from streamweir_gateway.relay.relay_watch import RelayWatch
from streamweir_gateway.relay.relayed_response import RelayedResponse
from streamweir_gateway.relay.request_start import NEW_REQUEST, RequestStart
from streamweir_gateway.relay.request_stream import ClientBody
from streamweir_gateway.relay.response_head import interim_headers, relayed_headers
from streamweir_gateway.relay.service import Service
from streamweir_gateway.relay.switching import open_tunnel
from streamweir_gateway.relay.tunnel import Tunnel
from streamweir_gateway.runs.admission import CircuitOpen, Overloaded, Permit
from streamweir_gateway.runs.broken_off import BrokenOff
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.operator_hints import about_breaker, about_failure
from streamweir_gateway.runs.retry_plan import Failure, RetryPlan
from streamweir_gateway.upstream.failures import (
    ConnectTimedOut,
    InvalidResponse,
    NotConnected,
    UpstreamFailure,
)
from streamweir_gateway.upstream.request import Headers, UpstreamRequest
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["NoAnswer", "RelayExchange"]

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that may be sent again if it is unknown whether the service ran them.

Source: RFC 9110, section 9.2.1.
"""

_PROTOCOL: Final = b"x-streamweir-protocol"
_SWITCHING: Final = 101


class NoAnswer(Exception):
    """No upstream has answered, and nothing has been sent.

    Attributes:
        info: the failure for the client.
    """

    def __init__(self, info: ErrorInfo) -> None:
        super().__init__(info.code)
        self.info = info


class RelayExchange:
    """One request and its answer. Construct it in the task that executes it.

    Attributes:
        watch: can end the exchange from outside.
        tunnel: set once a handshake has been answered with a 101, and the connections have been handed over.

    Args:
        services: the upstreams, in the order in which they are asked.
        scope: the ASGI scope of the client's request.
        receive: gives the body of the request.
        send: takes the response.
        record: the record of the request; completed here.
        observer: gets reports of attempts.
        start: begins the first attempt.

    Raises:
        Refusal: the request announces too large a body, or is an invalid handshake.
    """

    __slots__ = (
        "_body",
        "_connection",
        "_first",
        "_key",
        "_observer",
        "_out",
        "_receive",
        "_record",
        "_scope",
        "_send",
        "_services",
        "_start",
        "tunnel",
        "watch",
    )

    def __init__(
        self,
        services: Mapping[Destination, Service],
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        record: RequestRecord,
        observer: Observer,
        start: RequestStart = NEW_REQUEST,
    ) -> None:
        record.attempts = 0
        self._key = check_handshake(scope) if is_handshake(scope) else None
        self.tunnel: Tunnel | None = None
        self._start = start
        self._services = services
        self._first = first = next(iter(services.values()))
        self._scope = scope
        self._receive = receive
        self._send = send
        self._record = record
        self._observer = observer
        self._connection = connection_of(scope)
        limit = first.endpoint.config.limits.request_bytes
        self._body = ClientBody(scope, receive, self._connection, limit)
        self.watch = RelayWatch(self._connection, first.destination.config.timeouts, start.seconds)
        self._out = RelayedResponse(scope, send, self.watch, record)

    async def run(self) -> AgentDelivery | None:
        """Relay the answer to its end. If it is an agent stream, return the stream without sending it.

        Raises:
            Refusal: the request is not forwarded. NoAnswer: no upstream has answered.
            ClientGone: the client has left.
        """
        try:
            with self.watch.waiting:
                self._watch_client()
                return await self._ask_all(await self._start.body(self._body))
        except Interrupted:
            self._end_interrupted()
        return None

    def keep_body(self) -> None:
        """Keep the body of the request, if it is small, for an answer that is an agent stream."""
        self._body.keep()

    def close(self) -> None:
        """End the exchange, in success or failure."""
        self.watch.close()
        self._start.close()

    def _watch_client(self) -> None:
        """Notice when the client leaves: by the server, or else by reading the body, then by a task."""
        if not self.watch.watch():
            self._body.on_whole = lambda: self.watch.watch_in_task(self._receive)

    # Asking

    async def _ask_all(self, body: RelayBody) -> AgentDelivery | None:
        self._check_protocol()
        plan = RetryPlan(self._services)
        while True:
            try:
                return await self._ask(self._services[plan.destination], body)
            except (Overloaded, CircuitOpen, UpstreamFailure) as error:
                if self._body.failure is not None:
                    raise self._body.failure from None
                failure = _failure_of(error)
                if isinstance(error, CircuitOpen):
                    self._record.hint = about_breaker(plan.destination.admission.breaker)
                seconds = plan.advance(failure) if self._may_go_on(failure) else None
                if seconds is None:
                    raise _no_answer(failure) from error
                await asyncio.sleep(seconds)

    def _check_protocol(self) -> None:
        """Refuse a protocol that is not offered, before the service is asked."""
        if any(name == _PROTOCOL for name, _ in self._scope["headers"]):
            self._first.endpoint.incoming(self._scope, self._record.request_id)

    def _may_go_on(self, failure: Failure) -> bool:
        """Return whether the request may be sent again: it has not arrived, or its method is safe."""
        if not (failure.was_asked and failure.was_connected):
            return True
        return self._scope["method"] in _SAFE and self._body.is_read

    async def _ask(self, service: Service, body: RelayBody) -> AgentDelivery | None:
        """Ask one upstream.

        Raises:
            Overloaded, CircuitOpen, UpstreamFailure: the upstream has not answered.
        """
        start, self._start = self._start, NEW_REQUEST
        permit = start.permit(service)
        try:
            request = self._request(service, body)
            response = await self._response(service, request, permit, start)
            return await self._answer(service, request, response)
        finally:
            if self.tunnel is None:
                permit.release()
            else:
                self.tunnel.on_closed(permit.release)

    def _request(self, service: Service, body: RelayBody) -> UpstreamRequest:
        if self._key is not None:
            return service.requests.handshake(self._scope, self._record.request_id, self._key)
        request = service.requests.request(self._scope, self._record.request_id, body)
        return replace(request, on_interim=self._inform)

    def _inform(self, status: int, headers: Headers) -> None:
        """Send the client an interim response of the service."""
        if (kept := interim_headers(status, headers)) is not None:
            self._connection.inform(status, kept)

    async def _response(
        self, service: Service, request: UpstreamRequest, permit: Permit, start: RequestStart
    ) -> TransportResponse:
        """Return the head of an upstream's response. The caller has to close its body."""
        record, destination, watch = self._record, service.destination, self.watch
        record.upstream = destination.label
        record.attempts = (record.attempts or 0) + 1
        watch.begin(destination.config.timeouts)
        self._body.on_piece = watch.request_sent
        code = None
        try:
            response = await start.send(service, request, watch)
        except UpstreamFailure as failure:
            record.add_cause(failure)
            record.hint = about_failure(failure)
            if not isinstance(failure, InvalidResponse):  # an answer, though none to go on
                code = failure.info.code
            raise
        finally:
            if watch.info is not None and watch.info.code == "UPSTREAM_TIMEOUT":
                code = watch.info.code
            if code is not None and self._body.failure is None:
                permit.failed()
                self._observer.upstream_failed(destination.label, code)
        permit.succeeded()
        record.upstream_status = response.status
        return response

    # Answering

    async def _answer(
        self, service: Service, request: UpstreamRequest, response: TransportResponse
    ) -> AgentDelivery | None:
        is_kept = False
        try:
            if self._key is not None and response.status == _SWITCHING:
                self.tunnel = open_tunnel(service, response, self._scope, self._connection, self._record)
                return None
            if self._key is None and service.may_be_agent_stream(request.method, response):
                self.watch.headers_read()
                judgement = await judge(
                    response,
                    service.reader(request.target),
                    limit=service.endpoint.config.limits.event_bytes,
                    on_read=self.watch.body_read,
                    quiet=partial(self._quiet_stream, service, response),
                )
                response = judgement.response
                is_kept = judgement.is_agent_stream
            if is_kept:
                self._body.on_piece = _nothing
                delivery = AgentDelivery(
                    service, request, response, self._scope, self._send, self._record, self._observer
                )
                delivery.is_started, delivery.body = self._out.is_started, self._body.copy
                return delivery
            await self._relay(response)
        finally:
            if not is_kept:
                await response.body.aclose()
        return None

    def _quiet_stream(
        self, service: Service, response: TransportResponse, pieces: list[bytes]
    ) -> QuietStream | None:
        """Return the sender of an event stream's comments, if the client reads SSE; else None."""
        is_coded = bool(header_value(response.headers, b"content-encoding").strip())
        if is_coded or media_type_of(response.headers) != MEDIA_TYPE:
            return None
        if service.endpoint.incoming(self._scope, self._record.request_id).framing != "sse":
            return None
        return QuietStream(partial(self._out.begin_quiet, response), self._out.send, pieces)

    async def _relay(self, response: TransportResponse) -> None:
        """Forward the response as it arrives."""
        headers = relayed_headers(response)
        if self._key is not None:
            headers = [*headers, (b"connection", b"close")]
        try:
            is_over = not self._out.is_started and await self._send_beginning(response, headers)
            while not is_over:
                is_over = await self._send_piece(response)
        except UpstreamFailure as failure:
            self._record.add_cause(failure)
            self._break_off(failure.info)
        else:
            self._record.reason = "done"

    async def _send_beginning(self, response: TransportResponse, headers: Headers) -> bool:
        """Send the headers with the part of the body that has arrived; return whether that was all."""
        await self._out.begin(response.status, headers)
        if response.body.is_ready:
            return await self._send_piece(response)
        await self._out.send(b"")  # the headers do not wait for the body
        return False

    async def _send_piece(self, response: TransportResponse) -> bool:
        """Send the part of the body that has arrived, or wait for the next; return whether that was all.

        Raises:
            UpstreamFailure: the body broke off.
        """
        data = await response.body.read()
        is_over = not data or response.body.is_over
        await self._out.send(data, is_last=is_over)
        return is_over

    # Ends before the end of the answer

    def _end_interrupted(self) -> None:
        """End an exchange that the watch has interrupted."""
        watch, refused = self.watch, self._connection.refused
        if self._key is not None and refused is not None:  # too much came behind the handshake
            raise Refusal(refused, headers={"Connection": "close"})
        if watch.reason == "client_gone":
            raise ClientGone
        if not self._out.is_started:
            raise NoAnswer(watch.info or error_info("GATEWAY_DRAINING"))
        self._record.reason = watch.reason
        if watch.reason == "slow_client":
            self._connection.abort()  # what waits for it will not be taken
        self._break_off(watch.info)

    def _break_off(self, info: ErrorInfo | None) -> None:
        """Close the client's connection within the body.

        Raises:
            BrokenOff: the server closes the connection when the application raises this.
        """
        record = self._record
        if info is not None:
            record.code, record.reason = info.code, info.reason
        if not self._connection.break_off(resets=True):
            raise BrokenOff("the upstream's answer is not whole")


def _failure_of(error: Overloaded | CircuitOpen | UpstreamFailure) -> Failure:
    match error:
        case Overloaded():
            return Failure(None, was_asked=False)
        case CircuitOpen():
            milliseconds = math.ceil(error.seconds * 1000)
            return Failure(error_info("UPSTREAM_UNREACHABLE", retry_after_ms=milliseconds), was_asked=False)
    return Failure(error.info, was_connected=not isinstance(error, NotConnected | ConnectTimedOut))


def _no_answer(failure: Failure) -> Refusal | NoAnswer:
    return Refusal("OVERLOADED") if failure.info is None else NoAnswer(failure.info)


def _nothing() -> None:
    pass
