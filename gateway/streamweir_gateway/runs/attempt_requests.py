"""Sends the requests of one attempt: the first requests, and the last one, whose response is the stream.

Source: the request contract, section 4.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.request_sequence import RequestSequence, whole_request
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.response_classification import first_answer
from streamweir_gateway.runs.retry_plan import Failure
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["AttemptRequests"]

_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


class AttemptRequests(Struct, eq=False):
    """Sends the requests of one attempt.

    Attributes:
        context: the context of the client's request.
        destination: the upstream to which the requests are sent.
        own: the request that the configuration of the upstream gives, without a body.
        offer: the requests to send.
        given: facts from the requests that the decoder of the stream needs, by name.
    """

    context: RequestContext
    destination: Destination
    own: UpstreamRequest
    offer: Offer
    given: Mapping[str, str] = _NOTHING

    def only(self) -> UpstreamRequest | None:
        """Return the request of the attempt; None if there are several, so that `send_first` is needed."""
        written = self.offer.written
        if written is None:
            request = self.own.with_body(self.context.body.data)
            return request if self.destination.messages is None else self._with_messages(request)
        if len(written) == 1:
            return self._with_given(written[0].given, whole_request(self.own, written[0]))
        return None

    async def send_first(self) -> UpstreamRequest | Failure:
        """Send all requests but the last one. Return the last one, or the failure of an earlier request.

        Raises:
            UpstreamFailure: the upstream sent no response.
            Interrupted: the run was ended meanwhile.
        """
        context, sequence = self.context, RequestSequence(self.own, self.offer.written or ())
        while sequence.has_first:
            async with aclosing(UpstreamResponse(await self.send(sequence.next))) as response:
                context.supervisor.response = response
                if context.live.recorder is not None:
                    context.live.recorder.answered(response)
                if (failure := await self._failure_in(response, sequence)) is not None:
                    return failure
        return self._with_given(sequence.given, sequence.next)

    def _with_given(self, given: Mapping[str, str], request: UpstreamRequest) -> UpstreamRequest:
        """Return the last request, whose answer is decoded with the facts `given`."""
        self.given = given
        if self.context.live.recorder is not None:
            self.context.live.recorder.given(given)
        return self._with_messages(request)

    def send(self, request: UpstreamRequest) -> Awaitable[TransportResponse]:
        """Send `request`; see `UpstreamClient.send`.

        The clock of the first event starts with the first request of the attempt.
        """
        destination, supervisor = self.destination, self.context.supervisor
        if self.context.live.recorder is not None:
            self.context.live.recorder.sent(request)
        return destination.client.send(
            request,
            connect_timeout=destination.connect_timeout,
            on_connected=supervisor.sent if supervisor.clock.asked is None else None,
        )

    async def sent(self, request: UpstreamRequest) -> TransportResponse:
        """Return the response to `request`, which was sent before the attempt."""
        context = self.context
        opened, context.opened = context.opened, None
        assert opened is not None, "a response of the first upstream"
        if context.live.recorder is not None:
            context.live.recorder.sent(request)
        return opened

    async def _failure_in(self, response: UpstreamResponse, sequence: RequestSequence) -> Failure | None:
        context, destination = self.context, self.destination
        context.record.upstream_status = response.status
        errors = destination.error_context(response.status, context.incoming, debug=context.endpoint.debug)
        refused = await first_answer(response, sequence, errors)
        if refused is None:
            return None
        return Failure(refused.info, status=response.status, refusal=refused.refusal)

    def _with_messages(self, request: UpstreamRequest) -> UpstreamRequest:
        """Return the request. If the upstream speaks over a WebSocket, add the messages to send on it."""
        messages, context = self.destination.messages, self.context
        if messages is None:
            return request
        return messages.added_to(
            request, context.incoming, context.body.data, self.offer, context.record.note_close
        )
