"""One stream, from the first request to an upstream to the last byte of the response."""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.types import Receive, Scope, Send

from streamweir import Translator
from streamweir.asgi.refusals import Refusal
from streamweir_gateway.connection.client_connection import ClientConnection
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.attempt import Attempt, RequestContext
from streamweir_gateway.runs.destination import Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.runs.response_writer import ClientGone, ResponseWriter
from streamweir_gateway.runs.retry_plan import RetryPlan
from streamweir_gateway.runs.supervision import Supervisor
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["ProxyExchange"]

CUT_OFF_SECONDS: Final = 1.0
"""How long the server may take to see that a connection has been closed."""


class ProxyExchange:
    """Asks one upstream after the other until one has begun its stream, and relays that.

    It is made in the task that runs it.

    Attributes:
        supervisor: of its clocks; ends it.

    Args:
        endpoint: what was called.
        incoming: the client's request.
        request: the one to the first upstream, without its body.
        body: of the client's request.
        scope: of the client's request.
        send: takes the response.
        record: is completed.
        observer: is told of attempts.
    """

    __slots__ = ("_attempt", "_connection", "_course", "_parties", "_writer", "supervisor")

    def __init__(  # noqa: PLR0913 - what one request consists of
        self,
        endpoint: Endpoint,
        incoming: Incoming,
        request: UpstreamRequest,
        body: RequestBody,
        *,
        scope: Scope,
        send: Send,
        record: RequestRecord,
        observer: Observer,
    ) -> None:
        config = endpoint.config
        record.attempts = 0
        self._connection = ClientConnection.of(scope)
        self._writer = ResponseWriter(send, connection=self._connection)
        self.supervisor = Supervisor(
            writer=self._writer,
            connection=self._connection,
            heartbeat=config.heartbeat,
            on_disconnect=config.on_disconnect,
        )
        self._parties = RequestContext(
            endpoint,
            incoming,
            body,
            writer=self._writer,
            supervisor=self.supervisor,
            record=record,
            observer=observer,
        )
        self._course = RetryPlan(endpoint.destinations)
        self._attempt = self._next_attempt(request)
        self._writer.headers = endpoint.response_headers(self._attempt.translator.media_type, incoming)

    async def run(self, receive: Receive) -> None:
        """Relay the stream to its end.

        Raises:
            Refusal: no upstream could be asked, for all are busy; nothing has been sent.
        """
        supervisor = self.supervisor
        try:
            supervisor.watch(receive)
            await self._try_upstreams()
            supervisor.is_writing = True  # from here on only the client's leaving ends it
            with supervisor.waiting:
                await self._writer.finish(self._with_status(self._attempt))
        except (ClientGone, Interrupted):
            supervisor.drop("client_gone")
        finally:
            supervisor.close()
            self._tell()
        if supervisor.dropped == "slow_client":
            await self._cut_off(receive)

    async def _try_upstreams(self) -> None:
        """Make one attempt after the other until the client can be told how its stream ends."""
        best = attempt = self._attempt
        while not self.supervisor.is_over:
            await attempt.run()
            if attempt.failure is None or not self.supervisor.may_go_on:
                return
            if best.failure is None or attempt.failure.weight >= best.failure.weight:
                best = attempt
            seconds = self._course.go_on(attempt.failure)
            if seconds is None:
                self._attempt = best
                if best.refused:
                    raise Refusal("OVERLOADED")
                return
            self._attempt = attempt = self._follow(attempt)
            if seconds and not await self._waited(seconds):
                attempt.stop()
                return
        raise ClientGone

    def _follow(self, before: Attempt) -> Attempt:
        """Return the attempt that comes after `before`."""
        parties, destination = self._parties, self._course.destination
        if destination is before.destination:
            parties.observer.retried(destination.label)
        return self._next_attempt(destination.request(parties.incoming))

    def _next_attempt(self, request: UpstreamRequest) -> Attempt:
        course = self._course
        attempt = Attempt(course.destination, request, self._parties, is_last=course.is_last)
        self.supervisor.begin(attempt.translator, course.destination.config.timeouts)
        return attempt

    async def _waited(self, seconds: float) -> bool:
        """Wait before the next attempt; False where there is to be none any longer."""
        try:
            with self.supervisor.waiting:
                await asyncio.sleep(seconds)
        except Interrupted:
            if self.supervisor.is_over:
                raise ClientGone from None
            return False
        return True

    def _with_status(self, attempt: Attempt) -> bytes:
        """Settle the status of a folded answer, which is sent as a whole; return the last piece."""
        translator, headers = attempt.translator, self._writer.headers
        if translator.framing != "json":
            return attempt.last
        headers.append((b"content-length", b"%d" % len(attempt.last)))
        error, told = translator.error, attempt.told
        if error is not None and not translator.has_answer:
            self._writer.status = (
                told.status if told is not None and told.code == error.code else error.status
            )
            if error.retry_after_ms is not None:
                headers.append((b"retry-after", b"%d" % -(-error.retry_after_ms // 1000)))
        return attempt.last

    async def _cut_off(self, receive: Receive) -> None:
        """Close the connection of a client that does not read, and wait until the server has seen it."""
        self._connection.abort()
        try:
            async with asyncio.timeout(CUT_OFF_SECONDS):
                while (await receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            pass

    def _tell(self) -> None:
        """Complete the record, but for a request that is refused."""
        attempt, record, writer = self._attempt, self._parties.record, self._writer
        if attempt.refused:
            return
        translator: Translator = attempt.translator
        counts = translator.counts  # without an end that nobody is sent
        if not translator.ended:
            translator.cancel(self.supervisor.dropped or "cancelled")
        record.speaks, record.answers = translator.speaks, translator.answers
        record.framing = translator.framing
        record.status = writer.status if writer.is_started else None
        record.reason = self.supervisor.dropped or translator.reason
        record.code = translator.error.code if translator.error else None
        record.bytes_out = writer.bytes
        for name, count in counts.items():
            if name != "tool_calls":
                setattr(record, name, count)
