"""One run: asks upstreams until one gives its first output, and reads that stream to its end."""

from __future__ import annotations

import asyncio
from typing import Final

from streamweir.errors import Reason
from streamweir.http.refusals import Refusal
from streamweir.translation.operator_hint import FEWEST_EVENTS, buffering_hint
from streamweir_gateway.observability.record import RequestRecord
from streamweir_gateway.requests.mended_offers import mended_early, mended_offer, model_of
from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.runs.attempt import Attempt
from streamweir_gateway.runs.client_gone import ClientGone
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.interruptible_wait import Interrupted
from streamweir_gateway.runs.operator_hints import about_stop
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.retry_plan import RetryPlan
from streamweir_gateway.upstream.request import UpstreamRequest

__all__ = ["Run"]

_STOPPED: Final = frozenset({"cancelled", "client_gone", "slow_client"})
"""Reasons for which a run was ended on purpose; such a run gets no hint about the upstream."""


class Run:
    """Asks one upstream after the other until one gives its first output, and reads its stream.

    Attributes:
        attempt: the present attempt; when the run is over, the attempt whose result the client gets.

    Args:
        context: the context of the request.
        request: the request to the first upstream, without its body.
    """

    __slots__ = ("_context", "_failed", "_plan", "_reports_earlier", "attempt")

    def __init__(self, context: RequestContext, request: UpstreamRequest) -> None:
        context.record.attempts = 0
        self._context = context
        self._failed: tuple[str, ...] = ()
        self._reports_earlier = False
        """Whether the client gets the failure of an attempt that `_failed` explains already."""
        self._plan = RetryPlan(context.offers)
        self.attempt = self._next_attempt(request)

    async def run(self) -> None:
        """Read the stream to its end. The last events stay in the sink of `attempt`, for the caller to send.

        Raises:
            Refusal: all upstreams are busy; nothing has been sent.
            ClientGone: the client has left, and the run does not go on without it.
        """
        supervisor = self._context.supervisor
        best = attempt = self.attempt
        try:
            while not supervisor.is_over:
                if attempt.begin():
                    try:
                        await attempt.run()
                    finally:
                        attempt.end()
                failure = attempt.failure
                if failure is None or not supervisor.can_retry:
                    return
                if self._mend(attempt):
                    self.attempt = best = attempt = self._next_attempt(
                        attempt.destination.request(self._context.incoming)
                    )
                    continue
                if best.failure is None or failure.weight >= best.failure.weight:
                    best = attempt
                seconds = self._plan.advance(failure)
                if seconds is None:
                    if best is not attempt:  # the last upstreams were not asked
                        self._explain(attempt)
                        self.attempt, self._reports_earlier = best, True
                    if best.was_refused():
                        raise Refusal("OVERLOADED")
                    return
                self._explain(attempt)
                self.attempt = attempt = self._follow(attempt)
                if seconds and not await self._waited(seconds):
                    attempt.stop()
                    return
            raise ClientGone
        finally:
            if not self.attempt.is_chosen:  # the taps get the events of the result that the client gets
                self._context.live.choose(self.attempt.tap_sink)

    def _mend(self, attempt: Attempt) -> bool:
        """Remove the reasoning for which the upstream refused the request; return whether it was removed.

        The plan of attempts does not count the refused attempt. A second refusal is reported to the client.
        """
        context, failure = self._context, attempt.failure
        offer = context.offers.get(attempt.destination)
        mended = mended_offer(offer, None if failure is None else failure.refusal)
        refused = attempt.destination.refused
        if offer is not None and (mended is None or offer.unmended is not None):
            refused.forget(model_of(offer))
        if mended is None or offer is None:
            return False
        if mended.lasting_refusal is not None:
            refused.note(model_of(offer), mended.lasting_refusal)
        context.offers = {**context.offers, attempt.destination: mended}
        return True

    def _without_refused(self, destination: Destination, offer: Offer) -> Offer:
        """Return the offer without a field that this upstream has lately refused; note it in the context."""
        context = self._context
        mended = mended_early(offer, destination.refused.words_for(model_of(offer)))
        if mended is not offer:
            context.offers = {**context.offers, destination: mended}
        return mended

    def _explain(self, attempt: Attempt) -> None:
        """Note for the hint why this attempt gave no answer."""
        self._failed += (f"attempt {len(self._failed) + 1}: {_why(attempt)}",)

    def _follow(self, before: Attempt) -> Attempt:
        """Return the next attempt of the plan, which follows the attempt `before`."""
        context, destination = self._context, self._plan.destination
        if destination is before.destination:
            context.observer.retried(destination.label)
        return self._next_attempt(destination.request(context.incoming))

    def _next_attempt(self, request: UpstreamRequest) -> Attempt:
        context, destination = self._context, self._plan.destination
        offer = context.offers[destination]
        if offer.is_lasting is not None and not offer.is_mended:
            offer = self._without_refused(destination, offer)
        return Attempt(self._plan, request, offer, context)

    async def _waited(self, seconds: float) -> bool:
        """Wait before the next attempt; return False if the run was stopped meanwhile."""
        supervisor = self._context.supervisor
        try:
            with supervisor.waiting:
                await asyncio.sleep(seconds)
        except Interrupted:
            if supervisor.is_over:
                raise ClientGone from None
            return False
        return True

    def complete(self, record: RequestRecord, *, dropped: Reason | None = None) -> None:
        """Complete `record` with the facts about the upstream, once the run is over.

        Args:
            record: the record of the request.
            dropped: the reason why sending to the client stopped early; None if the client was sent
                everything.
        """
        opening, lifecycle = self.attempt.opening, self.attempt.stream.pipeline.lifecycle
        stream = self.attempt.stream if opening is None else opening.scout  # the one that got the bytes
        if opening is not None and opening.began is not None:
            record.note_read(opening.began)
        reader = stream.reader
        record.speaks = "auto" if reader.dialect is None else reader.dialect.name
        record.reason = reason = dropped or lifecycle.reason
        if lifecycle.error is not None:
            record.code = lifecycle.error.code
        record.bytes_in = stream.bytes or record.bytes_in or 0
        record.malformed = reader.frames.unreadable.malformed
        record.unknown = reader.frames.stats.unknown
        record.repairs = stream.pipeline.tools.repairs
        for name, count in stream.tokens.items():
            setattr(record, name, count)
        if reason not in _STOPPED and (hint := self._hint(record)) is not None:
            record.hint = hint

    def _hint(self, record: RequestRecord) -> str | None:
        """Return advice for the operator about a run that is over; None if there is no advice."""
        hints: list[str | None] = [*self._failed]
        events = self.attempt.stream.pipeline.position.written
        if not self._reports_earlier:
            hints.append(self.attempt.hint())
        if events >= FEWEST_EVENTS:
            hints.append(buffering_hint(events, *record.reading_ms()))
        return "; ".join(filter(None, hints)) or None


def _why(attempt: Attempt) -> str:
    """Return the reason for which another attempt followed this one."""
    failure = attempt.failure
    return attempt.hint() or about_stop(None if failure is None else failure.info)
