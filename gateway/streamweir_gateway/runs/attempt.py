"""One attempt: a request to one upstream, and the relaying of its answer.

    state       entered by                       the client gets          next state
    ─────────   ──────────────────────────────   ──────────────────────   ────────────────────────────────
    new         construction                     nothing                  asking; ended, if not admitted
    asking      `run`, a permit of the upstream  nothing, or, on the      committed, ended
                                                 last attempt, warnings
    committed   the first decoded event          each read as it comes    ended
    ended       the end of the stream, a         the end, by `finish`     —
                failure, or the supervisor       of the delivery

The first event is the commit point. Before it an attempt may fail without effect for the client, and another
one may follow; the bytes that the writer has until then are held back unless this is the last attempt.

Source: the configuration contract (`retries`, `breaker`, `max_streams`); the standard protocol 1.1,
section 5.
"""

from __future__ import annotations

import logging
import math
import time
from typing import Final

from streamweir.errors import ErrorInfo, error_info
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.operator_hint import stream_hint
from streamweir.translation.taps import TapSink
from streamweir_gateway.requests.offers import NO_OFFER
from streamweir_gateway.requests.request_sequence import RequestSequence
from streamweir_gateway.runs.admission import CircuitOpen, Overloaded, Permit
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.first_requests import last_request
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.operator_hints import about_breaker, about_failure, about_refusal
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.response_classification import classify_response
from streamweir_gateway.runs.retry_plan import Failure
from streamweir_gateway.runs.stream_reading import StreamReading
from streamweir_gateway.runs.taken_answers import take_answer
from streamweir_gateway.upstream.client import Opening
from streamweir_gateway.upstream.failures import ConnectTimedOut, NotConnected, UpstreamFailure
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["Attempt"]

logger = logging.getLogger("streamweir.gateway")

_ERRORS: Final = 400
_OUR_END: Final = frozenset({"GATEWAY_DRAINING", "INTERNAL"})


class Attempt:
    """One attempt at one upstream. Its states open this file.

    Attributes:
        destination: the upstream.
        stream: reads and normalises the answer.
        sink: gets the events.
        tap_sink: the sink of the stream's taps, once the attempt has begun; None: there are no taps.
        failure: set if the attempt ended before its first event for a reason that another attempt may avoid.
        reported: the failure that ended the attempt, unless it was an error event of the upstream.
        why: `reported` as a hint for the operator.
    """

    __slots__ = (
        "_context",
        "_is_committed",
        "_is_last",
        "_offer",
        "_permit",
        "_reading",
        "_request",
        "destination",
        "failure",
        "reported",
        "sink",
        "stream",
        "tap_sink",
        "why",
    )

    def __init__(
        self, destination: Destination, request: UpstreamRequest, context: RequestContext, *, is_last: bool
    ) -> None:
        self.destination = destination
        self.failure: Failure | None = None
        self.reported: ErrorInfo | None = None
        self.why: str | None = None
        timeouts = destination.config.timeouts
        options = destination.protocol_options(request.target)
        reader = destination.reader(options)
        self.sink = context.audience.open_sink(reader, options, write_timeout=timeouts.write)
        offer = context.offers[destination]
        self.stream = StreamNormalizer(reader, destination.pipeline(self.sink, context.incoming, offer))
        context.supervisor.begin(self.stream, timeouts)
        for warning in context.warnings:
            self.stream.pipeline.warn(warning)
        self._reading = StreamReading(self.stream, context, ends_at_once=destination.messages is not None)
        self._request: UpstreamRequest | None = request
        self._offer = offer
        self._context = context
        self._is_last = is_last
        self.tap_sink: TapSink | None = None
        self._is_committed = False
        self._permit: Permit | None = None

    @property
    def refused(self) -> bool:
        """Whether the upstream had too many streams. There is nothing to report about such an attempt."""
        return self.failure is not None and self.failure.info is None

    async def run(self) -> None:
        """Ask the upstream and deliver its stream, except for the last events: these stay in the sink.

        Raises:
            ClientGone: the client has left, and the run does not go on without it.
        """
        if not self._admit():
            return
        number = self._note_begin()
        try:
            await self._ask()
        finally:
            if self._permit is not None:
                self._permit.release()
            error = self.stream.pipeline.error
            self._context.live.attempt_ended(number, None if error is None else error.code)
        if error is not None and error.code not in _OUR_END:
            self._context.observer.upstream_failed(self.destination.label, error.code)

    def hint(self) -> str | None:
        """Return advice for the operator, after the end; None if there is none."""
        if self.why is not None:
            return self.why
        return stream_hint(
            self.stream,
            speaks=self.destination.config.speaks,
            dialects=self.destination.dialects,
            is_clean=self._reading.is_clean,
        )

    def stop(self) -> None:
        """End the attempt, which has not run."""
        self._end_stopped()

    def _admit(self) -> bool:
        """Get a permit of the upstream; return False if it gives none."""
        try:
            self._permit = self.destination.admission.admit()
        except Overloaded:
            self.failure = Failure(None, was_asked=False)
        except CircuitOpen as circuit:
            self.reported = error_info(
                "UPSTREAM_UNREACHABLE", retry_after_ms=math.ceil(circuit.seconds * 1000)
            )
            self.failure = Failure(self.reported, was_asked=False)
            self.why = about_breaker(self.destination.admission.breaker)
        if not self.refused:
            self._begin_stream()
        if self.reported is not None:
            self.stream.fail(self.reported)
        return self.failure is None

    def _begin_stream(self) -> None:
        context = self._context
        if not context.record.is_open:
            context.observer.stream_opened(context.record)
        self.tap_sink = context.live.begin(self.stream.reader, self.stream.pipeline)

    async def _ask(self) -> None:
        context, supervisor = self._context, self._context.supervisor
        own, self._request = self._request, None
        assert own is not None, "an attempt runs once"
        try:
            with supervisor.waiting:
                request = await self._last_request(own)
                if request is None:
                    return
                request = self._with_messages(request)
                async with self._open(request) as supervisor.response:
                    await self._relay(supervisor.response)
        except (Interrupted, UpstreamFailure) as failure:
            if supervisor.is_over:
                raise ClientGone from None
            if supervisor.is_stopping() or isinstance(failure, Interrupted):
                self._end_stopped()
            else:
                self._end_broken(failure)
        except ClientGone:
            raise
        except Exception as error:
            context.record.add_cause(error)
            logger.exception("the exchange failed", extra={"request_id": context.record.request_id})
            self.stream.fail(error_info("INTERNAL"))
        finally:
            supervisor.response = None

    def _open(self, request: UpstreamRequest) -> Opening:
        """Return the response that was opened before the attempt, or open one with `request`.

        The clock of the first event starts with the first request of the attempt.
        """
        context, supervisor = self._context, self._context.supervisor
        opened, context.opened = context.opened, None
        return opened or self.destination.client.open(
            request,
            connect_timeout=self.destination.config.timeouts.connect,
            on_connected=supervisor.sent if supervisor.clock.asked is None else None,
        )

    async def _last_request(self, own: UpstreamRequest) -> UpstreamRequest | None:
        """Make the first requests; return the one whose answer is the stream, or None if one failed."""
        if self._offer.written is None:
            return own._replace(body=self._context.body.data)
        sequence = RequestSequence(own, self._offer.written)
        found = await last_request(sequence, self._open, context=self._context, destination=self.destination)
        if isinstance(found, Failure):
            self._end_failed(found)
            return None
        self.stream.reader.hand_over(sequence.given)
        return found

    def _with_messages(self, request: UpstreamRequest) -> UpstreamRequest:
        """Return the request with its messages, if the upstream speaks over a WebSocket."""
        messages, context = self.destination.messages, self._context
        if messages is None:
            return request
        return messages.added_to(
            request, context.incoming, context.body.data, self._offer, context.record.note_close
        )

    def _note_begin(self) -> int:
        """Note in the record that the upstream is asked; return the number of the attempt."""
        record = self._context.record
        record.upstream = self.destination.label
        record.upstream_status = None
        record.request_lost = [*self._offer.lost] or None
        record.attempts = number = (record.attempts or 0) + 1
        self._context.live.attempt_began(number, record.upstream)
        return number

    async def _relay(self, response: UpstreamResponse) -> None:
        """Deliver the stream, read by read, to its end."""
        self.stream.reader.note_headers(response.headers)
        if self._offer.answers and await take_answer(response, self.stream, self.destination.error_reader):
            self._context.record.upstream_status = response.status
            self._commit(response)
            self._end_complete(response)
            return
        if (failure := await self._classify(response)) is not None:
            self._end_failed(failure)
            return
        supervisor, position = self._context.supervisor, self.stream.pipeline.position
        while not supervisor.is_stopping():
            supervisor.clock.last_read = time.monotonic()
            await self._reading.read(response, is_committed=self._is_committed)
            if supervisor.is_stopping():
                break
            if not self._is_committed and self.stream.reader.started:
                self._commit(response)
            if position.ended:
                self._end_complete(response)
                return
            if self._is_committed or self._is_last:
                await self._deliver()
        self._end_stopped()

    async def _deliver(self) -> None:
        supervisor = self._context.supervisor
        supervisor.clock.is_busy = True
        await self._context.audience.send()
        supervisor.clock.is_busy = False
        if supervisor.is_over:
            raise ClientGone

    async def _classify(self, response: UpstreamResponse) -> Failure | None:
        """Return the failure that the response is; None if it can be a stream."""
        context = self._context
        context.record.upstream_status = response.status
        if response.status >= _ERRORS:
            context.supervisor.refused()
        info = await classify_response(
            response,
            reader=self.destination.error_reader,
            client_credentials=self.destination.was_refused_with_credentials(
                response.status, context.incoming
            ),
            debug=context.endpoint.debug,
        )
        if info is not None:
            self.why = about_refusal(
                response,
                context.incoming.headers,
                forwards_cookies=self.destination.forwards_cookies,
                allows_cookies=context.endpoint.allows_cookies,
                is_handshake=self.destination.messages is not None,
            )
            return Failure(info, status=response.status)
        if self._is_last:
            context.audience.forward_headers(response)
        return None

    def _commit(self, response: UpstreamResponse | None = None) -> None:
        """Pass the commit point: the first event has come."""
        context = self._context
        if response is not None and not self._is_last:
            context.audience.forward_headers(response)
        self._is_committed = True
        if self._permit is not None:
            self._permit.succeeded()
        context.live.choose(self.tap_sink)
        context.release_request()
        self._offer = NO_OFFER
        context.record.cause = []
        context.record.note_read(time.monotonic())

    # The ends

    def _end_complete(self, response: UpstreamResponse) -> None:
        """End the attempt: the stream has ended, completely or with an error event."""
        error = self.stream.pipeline.error
        if error is None:
            response.let_end()
        if not self._is_committed:
            self._note_end(Failure(error, status=response.status))

    def _end_broken(self, failure: UpstreamFailure) -> None:
        self._context.record.add_cause(failure)
        self.why = about_failure(failure)
        connected = not isinstance(failure, NotConnected | ConnectTimedOut)
        info = failure.info if self.stream.reader.started else failure.info_before_events
        self._end_failed(Failure(info, status=failure.status, was_connected=connected))

    def _end_failed(self, failure: Failure) -> None:
        assert failure.info is not None
        self.reported = failure.info
        self.stream.fail(failure.info)
        self._note_end(failure)

    def _end_stopped(self) -> None:
        """End the stream because the supervisor stopped it."""
        stop = self._context.supervisor.stop
        if isinstance(stop, ErrorInfo):
            self._end_failed(Failure(stop))
            return
        if stop in ("cancelled", "client_gone"):
            self.stream.cancel(stop)
            return
        if self.destination.messages is not None and (response := self._context.supervisor.response):
            response.let_end()
        self.stream.close()
        self._note_end(Failure(self.stream.pipeline.error))

    def _note_end(self, failure: Failure) -> None:
        """Note the failure if the stream ended before its first event, and report it to the breaker."""
        if self.stream.reader.started:
            if not self._is_committed:  # events that came whole before the break
                self._commit()
        elif failure.info is not None:
            self.failure = failure
            if self._permit is not None and failure.is_upstreams_fault:
                self._permit.failed()
