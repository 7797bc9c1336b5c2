"""One attempt: a request to one upstream, and the relaying of its answer.

    state       entered by                        the client gets             next state
    ─────────   ───────────────────────────────   ─────────────────────────   ─────────────────────────────
    new         construction                      nothing                     asking; ended, if not admitted
    asking      `begin`, a permit, then `run`     nothing; on the last        opening, streaming, ended
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
from streamweir.translation.operator_hint import stream_hint
from streamweir.translation.taps import TapSink
from streamweir_gateway.requests.offers import NO_OFFER, Offer
from streamweir_gateway.runs.admission import CircuitOpen, Overloaded, Permit
from streamweir_gateway.runs.attempt_outcome import AttemptOutcome
from streamweir_gateway.runs.attempt_requests import AttemptRequests
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.held_opening import HeldOpening
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.json_document import is_json, read_document
from streamweir_gateway.runs.operator_hints import FULL, about_breaker, about_failure
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.response_classification import may_be_stream
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
        opening: the opening while it is held back, and of an attempt that was given up in it; else None.
        tap_sink: the sink of the stream's taps, once the attempt has begun; None: there are no taps.
        is_chosen: whether the first event has arrived and no other attempt may follow.
        failure: set if the attempt ended before its first output and before it streamed.
        reported: the failure that ended the attempt, unless it was an error event of the upstream.
        is_broken: whether the attempt ended before the body of the upstream did.
        why: the hint for the operator that explains `reported`; None: `hint` computes one.
    """

    def __init__(
        self, plan: RetryPlan, request: UpstreamRequest, offer: Offer, context: RequestContext
    ) -> None:
        self.destination = destination = plan.destination
        self.failure: Failure | None = None
        self.reported: ErrorInfo | None = None
        self.is_broken = self.is_chosen = self._is_committed = False
        self._number = 0
        self.why: str | None = None
        self.tap_sink: TapSink | None = None
        self._options = options = destination.protocol_options(request.target)
        reader = destination.reader(options)
        self.sink = context.audience.open_sink(reader, options, write_timeout=destination.write_timeout)
        self.stream = StreamNormalizer(reader, destination.pipeline(self.sink, context.incoming, offer))
        context.supervisor.begin(self.stream, destination.timeouts)
        for warning in context.warnings:
            self.stream.pipeline.warn(warning)
        is_socket = destination.messages is not None
        self._reading = StreamReading(self.stream, context, offer, ends_at_once=is_socket)
        self._requests: AttemptRequests | None = AttemptRequests(context, destination, request, offer)
        self._offer = offer
        self._context = context
        self._plan = plan
        self.opening: HeldOpening | None = None
        self._given: Mapping[str, str] = {}
        """Facts from the requests that the decoder of the answer needs."""
        self._permit: Permit | None = None

    def was_refused(self) -> bool:
        """Return whether the upstream had too many streams, so that there is no failure to report."""
        return self.failure is not None and self.failure.info is None

    def begin(self) -> bool:
        """Begin the attempt; return False, and note the failure, if it is not admitted.

        An attempt that has begun has to be run and ended.
        """
        context, destination, offer = self._context, self.destination, self._offer
        try:
            self._permit = destination.admission.admit()
        except Overloaded:
            self.failure, self.why = Failure(None, was_asked=False), FULL
            return False
        except CircuitOpen as circuit:
            milliseconds = math.ceil(circuit.seconds * 1000)
            self.reported = error_info("UPSTREAM_UNREACHABLE", retry_after_ms=milliseconds)
            self.failure = Failure(self.reported, was_asked=False)
            self.why = about_breaker(destination.admission.breaker)
        context.observer.stream_opened(context.record)
        self.tap_sink = context.live.begin(self.stream.reader, self.stream.pipeline)
        if self.reported is not None:
            self.stream.fail(self.reported)
            return False
        self._number = context.record.attempt_began(destination.label, offer.lost, offer.turns)
        context.live.attempt_began(self._number, destination, self.stream, self._options)
        return True

    async def run(self) -> None:
        """Ask the upstream and deliver its stream. The last events stay in the sink, for the caller to send.

        Raises:
            ClientGone: the client has left, and the run does not go on without it.
        """
        context, supervisor = self._context, self._context.supervisor
        requests, self._requests = self._requests, None
        assert requests is not None, "an attempt runs once"
        may_follow = self._plan.may_follow_stream() and context.opened is None  # it cannot be sent again
        try:
            with supervisor.waiting:
                request = requests.only() or await requests.send_first()
                if isinstance(request, Failure):
                    self._end_failed(request)
                else:
                    if requests.given:
                        self._given = requests.given
                        self.stream.reader.hand_over(self._given)
                    sending = requests.send(request) if context.opened is None else requests.sent(request)
                    response = UpstreamResponse(await sending)
                    del requests, request, sending  # they hold the body, which a long stream would keep
                    try:
                        supervisor.response = response
                        await self._relay(response, may_follow=may_follow)
                    finally:
                        await response.aclose()
        except (Interrupted, UpstreamFailure) as failure:
            if supervisor.is_over:
                raise ClientGone from None
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
        if self._reading.kept is not None:
            await self._reading.kept.settle(context.record)
        info = self.stream.pipeline.lifecycle.error
        if info is not None and info.code not in _OUR_END:
            context.observer.upstream_failed(self.destination.label, info.code)

    def end(self) -> None:
        """End the attempt, which has begun: release the permit."""
        if self._permit is not None:
            self._permit.release()
        self._context.live.attempt_ended(self._number, self)

    @property
    def outcome(self) -> AttemptOutcome:
        """The facts that decide how a failure reaches the client."""
        refusal = None if self.failure is None else self.failure.refusal
        return AttemptOutcome(refusal, is_clean=not self.is_broken)

    def hint(self) -> str | None:
        """Return advice for the operator about the attempt, once it has ended; None if there is no advice."""
        if self.why is not None:
            return self.why
        stream, is_clean = self.stream, self._reading.is_clean
        lifecycle = stream.pipeline.lifecycle
        if self.opening is not None:
            stream, is_clean = self.opening.scout, self.opening.is_over
        elif lifecycle.has_answer and lifecycle.error is None and stream.reader.frames.stats.has_any:
            return None  # an answer that was understood
        destination = self.destination
        return stream_hint(
            stream, speaks=destination.speaks, dialects=destination.dialects, is_clean=is_clean
        )

    def stop(self) -> None:
        """End an attempt that has not run yet, with the supervisor's reason."""
        self._end_for(self._context.supervisor.stop)

    async def _relay(self, response: UpstreamResponse, *, may_follow: bool) -> None:
        """Deliver the response, read by read, until the stream ends or the supervisor stops it.

        If another attempt may follow, the opening is read first.
        """
        context, supervisor = self._context, self._context.supervisor
        self.stream.reader.note_headers(response.headers)
        if context.live.recorder is not None:
            context.live.recorder.answered(response)
        context.record.upstream_status = response.status
        if self._offer.answers and await take_answer(response, self.stream, self.destination.error_reader):
            context.audience.forward_headers(response)
            self._commit()
            self._end_complete(response)
            return
        failure: Failure | None = None
        if not may_be_stream(response.status, response.media_type):
            failure, self.why = await failure_of(response, self.destination, context)
        elif may_follow:
            failure = await self._read_opening(response)
        else:
            context.audience.forward_headers(response)
        if failure is not None:
            self._end_failed(failure)
            return
        if is_json(response.media_type) and context.audience.awaits_document(self.sink):
            await self._take_document(response)
        reading, position, goes_on = self._reading, self.stream.pipeline.position, supervisor.stop is None
        while goes_on:
            supervisor.clock.last_read = time.monotonic()
            reading.translate(  # without a name, by which a silent stream would keep the read
                await reading.read(response, is_committed=self._is_committed),
                response,
                is_chosen=self.is_chosen,
            )
            if supervisor.stop is not None:
                break
            if not self._is_committed:
                self._note_progress()
            if position.ended:
                if reading.kept is not None and reading.kept.holds_end:
                    await reading.read_mark(response)
                self._end_complete(response)
                return
            goes_on = await self._deliver()
        await self._end_stopped()

    def _note_progress(self) -> None:
        frames = self.stream.reader.frames
        if frames.first_output is not None:
            self._commit()
        elif not self.is_chosen and frames.started:
            self._choose()

    # The opening

    async def _read_opening(self, response: UpstreamResponse) -> Failure | None:
        """Read the opening; return the failure if the answer is given up."""
        scout = self.destination.scout(self._options, self._context.incoming.request_id)
        scout.reader.hand_over(self._given)
        scout.reader.note_headers(response.headers)
        self.opening = HeldOpening(scout, self._plan, self._context.supervisor)
        await self.opening.read(response)
        if self._context.supervisor.is_stopping():
            return None
        failure = self.opening.avoidable()
        if failure is None:
            self._take_opening(self.opening, response)
        return failure

    def _take_opening(self, opening: HeldOpening, response: UpstreamResponse | None) -> None:
        """Give the opening to the stream of the attempt, so that the client gets it."""
        self.opening = None
        self._reading.begin_with(opening.take(), is_over=opening.is_over)
        if opening.began is not None:
            self._context.record.note_read(opening.began)
        if response is not None:
            self._context.audience.forward_headers(response)

    async def _end_opening(self, info: ErrorInfo | None) -> None:
        """End the opening, if there is one. If no other attempt follows, the stream gets its bytes."""
        if self.opening is None:
            return
        self.opening.end(info)
        if self.opening.avoidable() is None:  # no other attempt follows: the stream gets the opening
            self._take_opening(self.opening, self._context.supervisor.response)
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

    async def _deliver(self) -> bool:
        """Deliver the events of a read. Return False if reading from the upstream has to end."""
        supervisor = self._context.supervisor
        supervisor.clock.is_busy = True
        if self._reading.kept is not None:
            await self._reading.kept.store()
        await self._context.audience.send()
        supervisor.clock.is_busy = False
        if supervisor.is_over:
            raise ClientGone
        return supervisor.stop is None

    def _choose(self) -> None:
        """Note that the first event has arrived and no other attempt may follow; release the request."""
        self.is_chosen, context = True, self._context
        context.supervisor.clock.source = self.stream
        context.live.choose(self.tap_sink)
        context.release_request()
        self._offer = NO_OFFER
        if context.record.first_event_ms is None:
            context.record.note_read(time.monotonic())

    def _commit(self) -> None:
        """Pass the commit point: the first output has arrived."""
        if not self.is_chosen:
            self._choose()
        self._is_committed = True
        if self._permit is not None:
            self._permit.succeeded()

    # The ends

    def _end_complete(self, response: UpstreamResponse) -> None:
        """End the attempt: the stream has ended, completely or with an error event."""
        error = self.stream.pipeline.lifecycle.error
        if error is None:
            response.let_end()
        if not self._is_committed:
            self._note_end(Failure(error))

    async def _end_broken(self, failure: Interrupted | UpstreamFailure) -> None:
        if isinstance(failure, Interrupted) or self._context.supervisor.is_stopping():
            await self._end_stopped()
            return
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
        if not self.is_chosen:
            self.failure = failure
