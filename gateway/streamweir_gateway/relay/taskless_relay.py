"""Relays one request without a task, as long as nothing about it is unusual.

    sent       the request is sent on an open connection, in the same call of the loop that read it
    answered   a small answer came soon: it was written to the client in the call that read its last byte
    handed on  anything else happened (`go_on`): the answer is large, is an agent stream or a failure; the
               client left; the gateway stops; `LONGEST_SECONDS` passed. An ordinary exchange
               (`RelayExchange`) runs in a task and takes over the request; to it this is a `RequestStart`.

The states `answered` and `handed on` are final. `on_over` is called once, at the change to one of them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import ClassVar, Final

from starlette.types import Scope

from streamweir.http.headers import REQUEST_ID, replaced
from streamweir_gateway.connection.direct_exchange import DirectExchange
from streamweir_gateway.observability.trace_context import TRACE_CONTEXT, TraceContext
from streamweir_gateway.relay.direct_response import direct_response
from streamweir_gateway.relay.relay_request import RelayBody
from streamweir_gateway.relay.relay_watch import RelayWatch
from streamweir_gateway.relay.request_start import NEW_REQUEST, RequestStart
from streamweir_gateway.relay.request_stream import ClientBody
from streamweir_gateway.relay.response_head import interim_headers
from streamweir_gateway.relay.service import Service
from streamweir_gateway.runs.admission import Permit
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.run_supervisor import Stop
from streamweir_gateway.upstream.request import Headers, UpstreamRequest
from streamweir_gateway.upstream.transport import SentRequest, TransportResponse, WholeResponse

__all__ = ["TasklessRelay", "request_start"]

_STATE_KEY: Final = "streamweir.taskless_relay"
"""The key of `scope["state"]` under which an exchange finds the request to take over."""


class TasklessRelay:
    """One request and its answer, without a task. The docstring of this file lists its states.

    Attributes:
        service: the service that is asked.
        request_id: the id of the request.
        trace: the trace that the request belongs to.
        began: the time at which the request arrived, by `time.monotonic()`.

    Args:
        exchange: the client's side.
        sent: the request at the upstream.
        permit: the permit of the request at the service.
        on_over: called with the response that has been sent to the client, or with None at `handed on`.
    """

    is_sent: ClassVar = True

    __slots__ = (
        "_exchange",
        "_on_over",
        "_permit",
        "_sent",
        "_stop",
        "began",
        "request_id",
        "service",
        "trace",
    )

    def __init__(
        self,
        exchange: DirectExchange,
        service: Service,
        sent: SentRequest,
        *,
        permit: Permit,
        request_id: str,
        trace: TraceContext,
        on_over: Callable[[TasklessRelay, WholeResponse | None], None],
    ) -> None:
        self.service = service
        self._sent = sent
        self._permit = permit
        self.request_id = request_id
        self.trace = trace
        self.began = time.monotonic()
        self._stop: Stop | None = None
        self._exchange = exchange
        self._on_over = on_over
        exchange.on_lost = self.go_on
        sent.watch(self._answer, self._inform)

    @property
    def method(self) -> str:
        """The method of the request."""
        return self._exchange.head.method

    @property
    def seconds(self) -> float:
        """The seconds since the request arrived."""
        return time.monotonic() - self.began

    def leave_upstream(self, stop: Stop) -> None:
        """End the request: the gateway stops. The exchange that takes the request over ends at once."""
        self._stop = stop
        self.go_on()

    def go_on(self) -> None:
        """Hand the request over to an exchange with its own task."""
        exchange = self._exchange
        exchange.on_lost = None
        self._sent.watch(None, self._inform)
        self._on_over(self, None)
        headers = replaced(exchange.head.headers, REQUEST_ID, self.request_id)
        start: RequestStart = self
        exchange.go_on(headers=headers, state={_STATE_KEY: start, TRACE_CONTEXT: self.trace})

    # Called by the exchange that takes the request over

    async def body(self, client: ClientBody) -> RelayBody:
        """Return the body, which has been read completely."""
        return client.take_whole(self._exchange.body)

    def permit(self, service: Service) -> Permit:
        """Return the permit that the request has at the service."""
        assert service is self.service
        return self._permit

    def send(
        self, service: Service, request: UpstreamRequest, watch: RelayWatch
    ) -> Awaitable[TransportResponse]:
        """Return an awaitable for the response. The request has been sent already.

        Raises:
            Interrupted: the gateway stopped, or the client left, before the task began.
        """
        if self._stop is not None:
            watch.leave_upstream(self._stop)
        if watch.reason is not None:
            self._sent.abort()
            raise Interrupted
        watch.request_sent(self.seconds)
        connect = service.destination.config.timeouts.connect
        return self._sent.response(request, connect_timeout=connect, on_connected=watch.request_sent)

    def close(self) -> None:
        """End the request, unless an exchange has taken it over, because the client has left."""
        self._sent.abort()
        self._permit.release()

    def _answer(self) -> None:
        """Send the answer to the client if it is whole and small; else hand the request over."""
        exchange, response = self._exchange, self._sent.whole_response()
        if response is None and self._sent.is_nearly_whole():
            self._sent.watch(self._answer, self._inform)
            return
        written = None
        if response is not None:
            written = direct_response(
                response,
                streams=self.service.media_types,
                request_id=self.request_id,
                date=exchange.date(),
                keep_alive=exchange.keep_alive,
            )
        if response is None or written is None:
            self.go_on()
            return
        exchange.on_lost = None
        self._sent.give_back()
        exchange.answer(written)
        self._permit.complete()
        self._on_over(self, response)

    def _inform(self, status: int, headers: Headers) -> None:
        """Forward an interim response of the service to the client."""
        if (kept := interim_headers(status, headers)) is not None:
            self._exchange.inform(status, kept)


def request_start(scope: Scope) -> RequestStart:
    """Return the start of an exchange: a request that was already sent without a task, or a new one."""
    start: RequestStart = scope["state"].get(_STATE_KEY, NEW_REQUEST)
    return start
