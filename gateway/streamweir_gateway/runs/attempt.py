"""One attempt: a request to one upstream, and the relaying of its answer.

    state       entered by                        the client gets             next state
    ─────────   ───────────────────────────────   ─────────────────────────   ─────────────────────────────
    new         construction                      nothing                     asking; ended, if not admitted
    asking      `run`, a permit of the upstream   nothing; on the last        opening, streaming, ended
                                                  attempt, warnings
    opening     an answer that may be a stream,   nothing                     streaming, ended
                if another attempt may follow
    streaming   no other attempt may follow       each read as it arrives     committed, ended
    committed   the first output                  each read as it arrives     ended
    ended       the end of the stream, a          the end, by `finish` of     —
                failure, or the supervisor        the delivery

The first output is the commit point: no other attempt follows it, and the breaker counts it as a success. In
the state opening, `HeldOpening` keeps the bytes of the answer; the attempt's stream has not got them yet.

Source: the configuration contract (the commit point, `retries`, `breaker`, `max_streams`); the standard
protocol 1.1, section 5.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping
from typing import Final

from streamweir.errors import ErrorInfo, error_info
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.taps import TapSink
from streamweir_gateway.requests.offers import NO_OFFER
from streamweir_gateway.runs.admission import CircuitOpen, Overloaded, Permit
from streamweir_gateway.runs.attempt_outcome import AttemptOutcome
from streamweir_gateway.runs.attempt_requests import AttemptRequests
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.held_opening import HeldOpening
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.json_document import is_json, read_document
from streamweir_gateway.runs.operator_hints import about_breaker, about_failure
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.response_failure import failure_of
from streamweir_gateway.runs.retry_plan import Failure, RetryPlan
from streamweir_gateway.runs.run_supervisor import Stop
from streamweir_gateway.runs.stream_reading import StreamReading
from streamweir_gateway.runs.taken_answers import take_answer
from streamweir_gateway.upstream.failures import ConnectTimedOut, NotConnected, UpstreamFailure
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["Attempt"]

logger = logging.getLogger("streamweir.gateway")

_OUR_END: Final = frozenset({"GATEWAY_DRAINING", "INTERNAL"})


class Attempt:
    """One attempt at one upstream. The docstring of this file lists its states.

    Attributes:
        destination: the upstream.
        stream: reads and normalises the answer.
        sink: gets the events of the stream.
        tap_sink: the sink of the stream's taps, once the attempt has begun; None: there are no taps.
        failure: set if the attempt ended before its first output and before it streamed.
        reported: the failure that ended the attempt, unless it was an error event of the upstream.
        is_broken: whether the attempt ended before the body of the upstream did.
        why: the hint for the operator that explains `reported`; None: `hint` computes one.
    """

    __slots__ = (
        "_context",
        "_given",
        "_is_chosen",
        "_is_committed",
        "_is_last",
        "_offer",
        "_opening",
        "_options",
        "_permit",
        "_plan",
        "_reading",
        "_requests",
        "destination",
        "failure",
        "is_broken",
        "reported",
        "sink",
        "stream",
        "tap_sink",
        "why",
    )

    def __init__(self, plan: RetryPlan, request: UpstreamRequest, context: RequestContext) -> None:
        self.destination = destination = plan.destination
        self.failure: Failure | None = None
        self.reported: ErrorInfo | None = None
        self.is_broken = False
        self.why: str | None = None
        timeouts = destination.config.timeouts
        self._options = options = destination.protocol_options(request.target)
        reader = destination.reader(options)
        self.sink = context.audience.open_sink(reader, options, write_timeout=timeouts.write)
        offer = context.offers[destination]
        self.stream = StreamNormalizer(reader, destination.pipeline(self.sink, context.incoming, offer))
        context.supervisor.begin(self.stream, timeouts)
        for warning in context.warnings:
            self.stream.pipeline.warn(warning)
        is_socket = destination.messages is not None
        self._reading = StreamReading(self.stream, context, offer, ends_at_once=is_socket)
        self._requests: AttemptRequests | None = AttemptRequests(destination, request, offer, context)
        self._offer = offer
        self._context = context
        self._plan = plan
        self._is_last = plan.is_last
        """Whether no other attempt may follow: the plan has no other one, or the answer is being streamed."""
        self._opening: HeldOpening | None = None
        """The opening: set in the state opening, and kept if the attempt was given up in that state."""
        self._given: Mapping[str, str] = {}
        """Facts from the requests that the decoder of the answer needs."""
        self.tap_sink: TapSink | None = None
        self._is_chosen = False
        """Whether the first event has arrived and no other attempt may follow."""
        self._is_committed = False
        self._permit: Permit | None = None

    @property
    def refused(self) -> bool:
        """Whether the upstream had too many streams, so that there is no failure to report."""
        return self.failure is not None and self.failure.info is None

    async def run(self) -> None:
        """Ask the upstream and deliver its stream. The last events stay in the sink, for the caller to send.

        Raises:
            ClientGone: the client has left, and the run does not go on without it.
        """
        if not self._admit():
            return
        label, live = self.destination.label, self._context.live
        number = self._context.record.attempt_began(label, self._offer.lost, self._offer.turns)
        live.attempt_began(number, self.destination, self.stream, self._options)
        try:
            await self._ask()
            await self._reading.settle_turn()
        finally:
            if self._permit is not None:
                self._permit.release()
            live.attempt_ended(number, self)
        error = self.stream.pipeline.error
        if error is not None and error.code not in _OUR_END:
            self._context.observer.upstream_failed(label, error.code)

    @property
    def outcome(self) -> AttemptOutcome:
        """The facts that decide how a failure reaches the client."""
        refusal = None if self.failure is None else self.failure.refusal
        return AttemptOutcome(refusal, is_clean=not self.is_broken)

    def hint(self) -> str | None:
        """Return advice for the operator about the attempt, once it has ended; None if there is no advice."""
        if self.why is not None:
            return self.why
        if self._opening is not None:
            return self.destination.hint(self._opening.scout, is_clean=self._opening.is_over)
        return self.destination.hint(self.stream, is_clean=self._reading.is_clean)

    def stop(self) -> None:
        """End an attempt that has not run yet, with the supervisor's reason."""
        self._end_for(self._context.supervisor.stop)

    def _admit(self) -> bool:
        """Get a permit of the upstream; return False, and note the failure, if the upstream gives none."""
        try:
            self._permit = self.destination.admission.admit()
        except Overloaded:
            self.failure = Failure(None, was_asked=False)
        except CircuitOpen as circuit:
            milliseconds = math.ceil(circuit.seconds * 1000)
            self.reported = error_info("UPSTREAM_UNREACHABLE", retry_after_ms=milliseconds)
            self.failure = Failure(self.reported, was_asked=False)
            self.why = about_breaker(self.destination.admission.breaker)
        if not self.refused:
            context = self._context
            if not context.record.is_open:
                context.observer.stream_opened(context.record)
            self.tap_sink = context.live.begin(self.stream.reader, self.stream.pipeline)
        if self.reported is not None:
            self.stream.fail(self.reported)
        return self.failure is None

    async def _ask(self) -> None:
        context, supervisor = self._context, self._context.supervisor
        requests, self._requests = self._requests, None
        assert requests is not None, "an attempt runs once"
        self._is_last = self._is_last or context.opened is not None  # its request cannot be sent again
        try:
            with supervisor.waiting:
                request = await requests.send_first()
                if isinstance(request, Failure):
                    self._end_failed(request)
                    return
                self._given = requests.given
                self.stream.reader.hand_over(self._given)
                opening = requests.open(request)
                del requests, request  # they hold the body, which a long stream would keep
                async with opening as supervisor.response:
                    await self._relay(supervisor.response)
        except (Interrupted, UpstreamFailure) as failure:
            if supervisor.is_over:
                raise ClientGone from None
            if supervisor.is_stopping() or isinstance(failure, Interrupted):
                await self._end_stopped()
            else:
                await self._end_broken(failure)
        except ClientGone:
            raise
        except Exception as error:
            context.record.add_cause(error)
            logger.exception("the exchange failed", extra={"request_id": context.record.request_id})
            self.is_broken = True
            self.stream.fail(error_info("INTERNAL"))
        finally:
            supervisor.response = None

    async def _relay(self, response: UpstreamResponse) -> None:
        """Deliver the response, read by read, until the stream ends or the supervisor stops it."""
        self.stream.reader.note_headers(response.headers)
        self._context.live.answered(response)
        if self._offer.answers and await take_answer(response, self.stream, self.destination.error_reader):
            self._context.record.upstream_status = response.status
            self._begin_to_stream(response)
            self._commit()
            self._end_complete(response)
            return
        failure, why = await failure_of(response, self.destination, self._context)
        self.why = why or self.why
        failure = failure or await self._read_opening(response)
        if failure is not None:
            self._end_failed(failure)
            return
        if is_json(response) and self._context.audience.awaits_document(self.sink):
            await self._take_document(response)
        supervisor, position = self._context.supervisor, self.stream.pipeline.position
        while not supervisor.is_stopping():
            supervisor.clock.last_read = time.monotonic()
            await self._reading.read(response, is_chosen=self._is_chosen, is_committed=self._is_committed)
            if supervisor.is_stopping():
                break
            if not self._is_committed:
                self._note_progress()
            if position.ended:
                await self._reading.read_mark(response)
                self._end_complete(response)
                return
            await self._deliver()
        await self._end_stopped()

    def _note_progress(self) -> None:
        if not self._is_chosen and self.stream.reader.started:
            self._choose()
        if self.stream.reader.first_output is not None:
            self._commit()

    # The opening

    async def _read_opening(self, response: UpstreamResponse) -> Failure | None:
        """Read the opening, if another attempt may follow; return the failure if the answer is given up."""
        if not self._is_last and self._plan.may_follow_stream:
            scout = self.destination.scout(self._options, self._context.incoming.request_id)
            scout.reader.hand_over(self._given)
            scout.reader.note_headers(response.headers)
            self._opening = HeldOpening(scout, self._plan, self._context.supervisor)
            await self._opening.read(response)
            if self._context.supervisor.is_stopping():
                return None
            if (failure := self._opening.avoidable()) is not None:
                return failure
            self._take_opening(self._opening)
        self._begin_to_stream(response)
        return None

    def _take_opening(self, opening: HeldOpening) -> None:
        """Give the opening to the stream of the attempt, so that the client gets it."""
        self._opening = None
        self._reading.begin_with(opening.take(), is_over=opening.is_over)
        if opening.began is not None:
            self._context.record.note_read(opening.began)

    async def _end_opening(self, info: ErrorInfo | None) -> None:
        """End the opening, if there is one. If no other attempt follows, the stream gets its bytes."""
        if self._opening is None:
            return
        self._opening.end(info)
        if self._opening.avoidable() is None:  # no other attempt follows: the stream gets the opening
            self._take_opening(self._opening)
            self._begin_to_stream(self._context.supervisor.response)
            await self._reading.read_rest()

    async def _take_document(self, response: UpstreamResponse) -> None:
        """Read the beginning of the body; if the body is a JSON document, open a sink that copies it."""
        begun, is_over = self._reading.take_back()
        body = await read_document(response, begun, is_over=is_over)
        open_sink = self._context.audience.open_document_sink
        if body.is_document and (sink := open_sink(self.stream.reader, body.data)) is not None:
            self.stream.pipeline.replace_sink(self.sink, sink)
            self.sink = sink
        self._reading.begin_with(body.data, is_over=body.is_over)

    async def _deliver(self) -> None:
        supervisor = self._context.supervisor
        supervisor.clock.is_busy = True
        await self._reading.store_turn()
        await self._context.audience.send()
        supervisor.clock.is_busy = False
        if supervisor.is_over:
            raise ClientGone

    def _begin_to_stream(self, response: UpstreamResponse | None) -> None:
        """Note that no other attempt may follow, and forward the headers of the response to the client."""
        self._is_last = True
        if response is not None:
            self._context.audience.forward_headers(response)

    def _choose(self) -> None:
        """Note that the first event has arrived and no other attempt may follow; release the request."""
        self._is_chosen, context = True, self._context
        context.supervisor.clock.source = self.stream
        context.live.choose(self.tap_sink)
        context.release_request()
        self._offer = NO_OFFER
        if context.record.first_event_ms is None:
            context.record.note_read(time.monotonic())

    def _commit(self) -> None:
        """Pass the commit point: the first output has arrived."""
        if not self._is_chosen:
            self._choose()
        self._is_committed = True
        if self._permit is not None:
            self._permit.succeeded()
        self._context.record.cause = ()

    # The ends

    def _end_complete(self, response: UpstreamResponse) -> None:
        """End the attempt: the stream has ended, completely or with an error event."""
        error = self.stream.pipeline.error
        if error is None:
            response.let_end()
        self._note_end(Failure(error))

    async def _end_broken(self, failure: UpstreamFailure) -> None:
        await self._end_opening(failure.info)
        self._context.record.add_cause(failure)
        self.is_broken = True
        self.why = about_failure(failure)
        connected = not isinstance(failure, NotConnected | ConnectTimedOut)
        info = failure.info if self.stream.reader.started else failure.info_before_events
        self._end_failed(Failure(info, status=failure.status, was_connected=connected))

    def _end_failed(self, failure: Failure) -> None:
        assert failure.info is not None
        self.reported = failure.info
        self.stream.fail(failure.info)
        self._note_end(failure)

    async def _end_stopped(self) -> None:
        """End the stream because the supervisor stopped it."""
        stop = self._context.supervisor.stop
        await self._end_opening(stop if isinstance(stop, ErrorInfo) else None)
        self._end_for(stop)

    def _end_for(self, stop: Stop | None) -> None:
        if isinstance(stop, ErrorInfo):
            self.is_broken = True
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
        """Note the failure if the stream ended before its first output, and report it to the breaker."""
        if not self._is_committed:
            self._note_progress()  # events that came whole before the break
            if failure.info is None and not self._is_committed:
                self._commit()
        if self._is_committed:
            return
        if self._permit is not None and failure.is_upstreams_fault:
            self._permit.failed()
        if not self._is_chosen:
            self.failure = failure
