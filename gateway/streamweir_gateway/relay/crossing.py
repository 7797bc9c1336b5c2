"""One request that crosses the gateway without a task, as long as it stays an ordinary one.

The request goes out on a connection that is kept open, within the loop's call that brought it; if a small
answer comes soon, it goes to the client within the call that brought the last of it. Whatever is unusual
makes it an exchange as any other (`RelayExchange`), which finds the request sent: an answer of some size,
an agent stream, a failure, a client that leaves, a gateway that stops, and time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from starlette.types import Scope

from streamweir.http.headers import REQUEST_ID, replaced
from streamweir_gateway.connection.direct_exchange import DirectExchange
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.observability.trace_context import TRACE_CONTEXT, TraceContext
from streamweir_gateway.relay.direct_response import direct_response
from streamweir_gateway.relay.response_head import interim_headers
from streamweir_gateway.relay.service import Service
from streamweir_gateway.runs.admission import Permit
from streamweir_gateway.runs.run_supervisor import Stop
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.transport import SentRequest, WholeResponse

__all__ = ["Crossing", "crossing_of"]

_CROSSING: Final = "streamweir.crossing"
"""Where `scope["state"]` has it, once its request is one as any other."""


class Crossing:
    """One request on its way; see above.

    Attributes:
        service: that is asked.
        sent: the request, under way.
        permit: its place at the service.
        request_id: of the request.
        trace: that it belongs to.
        began: when it came, by `time.monotonic`.
        body: of the request.
        stop: why the gateway has ended it, if it has.

    Args:
        exchange: the client's side.
        on_over: called once, with the response that has been sent; None: it goes on in a task.
    """

    __slots__ = (
        "_exchange",
        "_on_over",
        "began",
        "permit",
        "request_id",
        "sent",
        "service",
        "stop",
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
        on_over: Callable[[Crossing, WholeResponse | None], None],
    ) -> None:
        self.service = service
        self.sent = sent
        self.permit = permit
        self.request_id = request_id
        self.trace = trace
        self.began = time.monotonic()
        self.stop: Stop | None = None
        self._exchange = exchange
        self._on_over = on_over
        exchange.on_lost = self.go_on
        sent.watch(self._answer, self._inform)

    @property
    def method(self) -> str:
        """Of the request."""
        return self._exchange.head.method

    @property
    def body(self) -> bytes:
        """Of the request."""
        return self._exchange.body

    @property
    def seconds(self) -> float:
        """How long it has been on its way."""
        return time.monotonic() - self.began

    def record(self) -> RequestRecord:
        """Return what is known of the request while nothing has been answered."""
        return RequestRecord(
            self.request_id,
            self.method,
            self.service.endpoint.config.template,
            self.service.destination.label,
            trace_id=self.trace.trace_id,
            attempts=1,
            began=self.began,
        )

    def leave_upstream(self, stop: Stop) -> None:
        """The gateway stops."""
        self.stop = stop
        self.go_on()

    def go_on(self) -> None:
        """Go on as any other request: somebody has to wait for something, or to deal with it."""
        exchange = self._exchange
        exchange.on_lost = None
        self.sent.watch(None, self._inform)
        self._on_over(self, None)
        headers = replaced(exchange.head.headers, REQUEST_ID, self.request_id)
        exchange.go_on(headers=headers, state={_CROSSING: self, TRACE_CONTEXT: self.trace})

    def close(self) -> None:
        """Nobody waits for the answer any longer."""
        self.sent.abort()
        self.permit.release()

    def _answer(self) -> None:
        """Something has come: answer, if that is all and ordinary."""
        exchange, response = self._exchange, self.sent.whole_response()
        if response is None and self.sent.is_nearly_whole():
            self.sent.watch(self._answer, self._inform)
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
        self.sent.give_back()
        exchange.answer(written)
        self._on_over(self, response)

    def _inform(self, status: int, headers: Headers) -> None:
        """Hand on what the service says before it answers."""
        if (kept := interim_headers(status, headers)) is not None:
            self._exchange.inform(status, kept)


def crossing_of(scope: Scope) -> Crossing | None:
    """Return the crossing that a request has begun with; None: it has not been sent yet."""
    crossing: Crossing | None = scope["state"].get(_CROSSING)
    return crossing
