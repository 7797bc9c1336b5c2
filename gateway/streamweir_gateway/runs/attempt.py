"""One request to one upstream, and the relaying of what comes of it.

The commit point is the first event decoded from the upstream. Before it the attempt may fail without the
client's noticing, so what the translator has to say until then is held back where another attempt may
follow.

Source: the configuration contract (`retries`, `breaker`, `max_streams`); the standard protocol 1.1,
section 5.
"""

from __future__ import annotations

import logging
import math
import time
from typing import Final

from streamweir import Translator
from streamweir.errors import ErrorInfo, error_info
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.runs.admission import CircuitOpen, Overloaded, Permit
from streamweir_gateway.runs.destination import Destination, Incoming
from streamweir_gateway.runs.endpoint import Endpoint
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.request_body import RequestBody
from streamweir_gateway.runs.response_classification import classify_response
from streamweir_gateway.runs.response_writer import ClientGone, ResponseWriter
from streamweir_gateway.runs.retry_plan import Failure
from streamweir_gateway.runs.supervision import Supervisor
from streamweir_gateway.upstream.failures import ConnectTimedOut, NotConnected, UpstreamFailure
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["Attempt", "RequestContext"]

logger = logging.getLogger("streamweir.gateway")

_UPSTREAMS_FAULT: Final = frozenset(
    {"UPSTREAM_UNREACHABLE", "UPSTREAM_TIMEOUT", "UPSTREAM_TRUNCATED", "UPSTREAM_INVALID_RESPONSE"}
)
"""What counts for the breaker where the upstream gave no status of its own."""

_REFUSED: Final = (401, 403)
_ERRORS: Final = 400
_OUR_END: Final = frozenset({"GATEWAY_DRAINING", "INTERNAL"})


class RequestContext:
    """What all attempts of one request share."""

    __slots__ = ("body", "endpoint", "incoming", "observer", "record", "supervisor", "writer")

    def __init__(
        self,
        endpoint: Endpoint,
        incoming: Incoming,
        body: RequestBody,
        *,
        writer: ResponseWriter,
        supervisor: Supervisor,
        record: RequestRecord,
        observer: Observer,
    ) -> None:
        self.endpoint = endpoint
        self.incoming = incoming
        self.body = body
        """Of the client's request; let go of at the commit point."""
        self.writer = writer
        self.supervisor = supervisor
        self.record = record
        self.observer = observer


class Attempt:
    """One try at one upstream.

    Attributes:
        destination: the upstream that is asked.
        translator: of what it answers.
        failure: why it ended before its first event; None where there was one, or the fault is ours.
        told: the failure that ended it, where that is not the upstream's own error event.
        last: the last piece of the client's stream, if this attempt is the one that the client is told of.
    """

    __slots__ = (
        "_held",
        "_is_committed",
        "_is_last",
        "_parties",
        "_permit",
        "_request",
        "destination",
        "failure",
        "last",
        "told",
        "translator",
    )

    def __init__(
        self, destination: Destination, request: UpstreamRequest, parties: RequestContext, *, is_last: bool
    ) -> None:
        self.destination = destination
        self.translator: Translator = destination.translator(parties.incoming, request.target)
        self.failure: Failure | None = None
        self.told: ErrorInfo | None = None
        self.last = b""
        self._request: UpstreamRequest | None = request
        self._parties = parties
        self._is_last = is_last
        self._is_committed = False
        self._held = b""
        self._permit: Permit | None = None

    @property
    def refused(self) -> bool:
        """It had no place at the upstream, and nothing else is to be said of it."""
        return self.failure is not None and self.failure.info is None

    async def run(self) -> None:
        """Ask the upstream, and relay its stream up to the last piece.

        Raises:
            ClientGone: nobody is left to do it for.
        """
        if not self._enter():
            return
        try:
            self.last = await self._ask()
        finally:
            if self._permit is not None:
                self._permit.release()
        error = self.translator.error
        if error is not None and error.code not in _OUR_END:
            self._parties.observer.upstream_failed(self.destination.label, error.code)

    def stop(self) -> None:
        """End it before it has run."""
        self.last = self._stopped()

    def _enter(self) -> bool:
        """Is there a place at the upstream, and does its breaker let us in?"""
        try:
            self._permit = self.destination.admission.admit()
        except Overloaded:
            self.failure = Failure(None, was_asked=False)
        except CircuitOpen as circuit:
            self.told = error_info("UPSTREAM_UNREACHABLE", retry_after_ms=math.ceil(circuit.seconds * 1000))
            self.failure = Failure(self.told, was_asked=False)
            self.last = self.translator.fail(self.told)
        if not self.refused and not self._parties.record.is_open:
            self._parties.observer.stream_opened(self._parties.record)
        return self.failure is None

    async def _ask(self) -> bytes:
        parties, supervisor = self._parties, self._parties.supervisor
        request, self._request = self._request, None
        assert request is not None, "an attempt runs once"
        self._note_begin()
        try:
            with supervisor.waiting:
                async with self.destination.client.open(
                    request._replace(body=parties.body.data),
                    connect_timeout=self.destination.config.timeouts.connect,
                    on_connected=supervisor.sent,
                ) as response:
                    return await self._relay(response)
        except (Interrupted, UpstreamFailure) as failure:
            if supervisor.is_over:
                raise ClientGone from None
            if supervisor.stop is not None or isinstance(failure, Interrupted):
                return self._stopped()
            return self._broken(failure)
        except ClientGone:
            raise
        except Exception as error:
            parties.record.blame(error)
            logger.exception("the exchange failed", extra={"request_id": parties.record.request_id})
            return self._held + self.translator.fail("INTERNAL")

    def _note_begin(self) -> None:
        record = self._parties.record
        record.upstream = self.destination.label
        record.upstream_status = None
        record.attempts = (record.attempts or 0) + 1

    async def _relay(self, response: UpstreamResponse) -> bytes:
        """Relay read by read until the stream is over; return the piece that ends it."""
        if (failure := await self._judge(response)) is not None:
            return self._failed(failure)
        parties, supervisor, translator = self._parties, self._parties.supervisor, self.translator
        while not supervisor.is_stopping():
            supervisor.reading_since = time.monotonic()
            out = await self._next_piece(response)
            if supervisor.is_stopping():
                break
            if not self._is_committed:
                out = self._before_commit(out, response)
            elif out:
                parties.record.heard(time.monotonic())
            if translator.ended:
                if translator.error is None:
                    response.let_end()
                return out if self._is_committed else self._ended_without_event(out, response.status)
            supervisor.is_writing = True
            await self._write(out)
            supervisor.is_writing = False
            if supervisor.is_over:
                raise ClientGone
        return self._stopped()

    async def _next_piece(self, response: UpstreamResponse) -> bytes:
        """Return what is to be sent for the next read, aside from all those that need no task."""
        translator = self.translator
        if self._is_committed and (relaying := response.relay(self._relay_at_once)) is not None:
            await relaying
            if self._held or translator.ended:
                out, self._held = self._held, b""
                return out
        data = await response.read()
        if self._parties.supervisor.is_stopping():
            return b""
        out = translator.feed(data) if data else b""
        return out + translator.close() if not data or response.is_over else out

    def _relay_at_once(self, data: bytes) -> bool:
        """Relay one read while the task goes on waiting; False where it has to see to what is held."""
        out = self.translator.feed(data)
        now = time.monotonic()
        parties = self._parties
        parties.supervisor.reading_since = now
        if self.translator.ended or (out and not parties.writer.write_at_once(out, now)):
            self._held = out
            return False
        if out:
            parties.record.heard(now)
        return True

    async def _judge(self, response: UpstreamResponse) -> Failure | None:
        parties = self._parties
        parties.record.upstream_status = response.status
        if response.status >= _ERRORS:
            parties.supervisor.refused()
        info = await classify_response(
            response,
            speaks=self.translator.speaks,
            dialects=self.destination.dialects,
            client_credentials=response.status in _REFUSED
            and self.destination.passes_credentials(parties.incoming),
            debug=parties.endpoint.debug,
        )
        if info is not None:
            return Failure(info, status=response.status)
        if self._is_last:
            self._forward_headers(response)
        return None

    def _before_commit(self, out: bytes, response: UpstreamResponse) -> bytes:
        """Return what may be sent of `out`: all of it after an event, or where no attempt can follow."""
        if self.translator.started:
            if not self._is_last:
                self._forward_headers(response)
            self._commit()
        elif not self._is_last and not self.translator.ended:
            self._held += out
            return b""
        out, self._held = self._held + out, b""
        return out

    def _forward_headers(self, response: UpstreamResponse) -> None:
        parties = self._parties
        if parties.endpoint.config.forward_response_headers and not parties.writer.is_started:
            parties.writer.headers.extend(parties.endpoint.forwarded(response))

    def _commit(self) -> None:
        """The first event has come."""
        self._is_committed = True
        if self._permit is not None:
            self._permit.succeeded()
        self._parties.body.release()
        self._parties.record.cause = []
        self._parties.record.heard(time.monotonic())

    async def _write(self, out: bytes) -> None:
        try:
            await self._parties.writer.write(out)
        except ClientGone:
            self._parties.supervisor.drop("client_gone")

    # The ends

    def _broken(self, failure: UpstreamFailure) -> bytes:
        self._parties.record.blame(failure)
        connected = not isinstance(failure, NotConnected | ConnectTimedOut)
        return self._failed(Failure(failure.info, was_connected=connected))

    def _failed(self, failure: Failure) -> bytes:
        assert failure.info is not None
        self.told = failure.info
        return self._end(self.translator.fail(failure.info), failure)

    def _stopped(self) -> bytes:
        """Return the end of a stream that the supervisor has stopped."""
        stop = self._parties.supervisor.stop
        if isinstance(stop, ErrorInfo):
            return self._failed(Failure(stop))
        return self._end(self.translator.close(), Failure(self.translator.error))

    def _ended_without_event(self, out: bytes, status: int) -> bytes:
        return self._end(out, Failure(self.translator.error, status=status))

    def _end(self, out: bytes, failure: Failure) -> bytes:
        """Return the end of the stream; `failure` is why it is one, if it had no event."""
        out, self._held = self._held + out, b""
        if self.translator.started:
            if not self._is_committed:  # what came whole before the break
                self._commit()
        elif failure.info is not None:
            self.failure = failure
            if self._permit is not None and _is_upstreams_fault(failure):
                self._permit.failed()
        return out


def _is_upstreams_fault(failure: Failure) -> bool:
    """Does it count for the breaker? A request that was refused says nothing about the next one."""
    if failure.status is not None and failure.status >= 400:
        return failure.status >= 500
    return failure.info is not None and failure.info.code in _UPSTREAMS_FAULT
