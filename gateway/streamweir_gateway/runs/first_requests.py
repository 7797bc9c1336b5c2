"""The requests of an attempt that come before the one that is answered with the stream.

Source: the request contract, section 4.
"""

from __future__ import annotations

from collections.abc import Callable

from streamweir_gateway.requests.offers import Offer
from streamweir_gateway.requests.request_sequence import RequestSequence
from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.response_classification import first_answer
from streamweir_gateway.runs.retry_plan import Failure
from streamweir_gateway.upstream.client import Opening
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["last_request", "with_messages"]


async def last_request(
    sequence: RequestSequence,
    open_request: Callable[[UpstreamRequest], Opening],
    *,
    context: RequestContext,
    destination: Destination,
) -> UpstreamRequest | Failure:
    """Make the first requests, and return the last one, or the failure of one of the first.

    Args:
        sequence: of the attempt; takes from each answer the values that later requests need.
        open_request: sends a request.
        context: of the request of the client.
        destination: the upstream that is asked.

    Raises:
        UpstreamFailure: there was no answer.
        Interrupted: the run was ended meanwhile.
    """
    while sequence.has_first:
        async with open_request(sequence.next) as response:
            context.supervisor.response = response
            if (failure := await _failure_in(response, sequence, context, destination)) is not None:
                return failure
    return sequence.next


async def _failure_in(
    response: UpstreamResponse, sequence: RequestSequence, context: RequestContext, destination: Destination
) -> Failure | None:
    context.record.upstream_status = response.status
    refused = await first_answer(
        response,
        sequence,
        reader=destination.error_reader,
        client_credentials=destination.was_refused_with_credentials(response.status, context.incoming),
        own_credentials=destination.adds_credentials,
        debug=context.endpoint.debug,
    )
    return None if refused is None else Failure(refused.info, status=response.status, refusal=refused.refusal)


def with_messages(
    request: UpstreamRequest, offer: Offer, destination: Destination, context: RequestContext
) -> UpstreamRequest:
    """Return the request with its messages, if the upstream speaks over a WebSocket; else the same one."""
    messages = destination.messages
    if messages is None:
        return request
    return messages.added_to(request, context.incoming, context.body.data, offer, context.record.note_close)
