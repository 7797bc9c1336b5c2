"""Finds the failure in a response that is no stream, with a hint for the operator.

Source: the standard protocol 1.1, section 5.
"""

from __future__ import annotations

from typing import Final

from streamweir_gateway.runs.destination import Destination
from streamweir_gateway.runs.operator_hints import about_refusal
from streamweir_gateway.runs.request_context import RequestContext
from streamweir_gateway.runs.response_classification import classify_response
from streamweir_gateway.runs.retry_plan import Failure
from streamweir_gateway.upstream.response import UpstreamResponse

__all__ = ["failure_of"]

_ERRORS: Final = 400


async def failure_of(
    response: UpstreamResponse, destination: Destination, context: RequestContext
) -> tuple[Failure, str]:
    """Return the failure to report for a response that cannot be a stream, and a hint.

    Args:
        response: the response of the upstream.
        destination: the upstream.
        context: the context of the request.
    """
    if response.status >= _ERRORS:
        context.supervisor.refused()
    errors = destination.error_context(response.status, context.incoming, debug=context.endpoint.debug)
    refused = await classify_response(response, errors)
    context.record.bytes_in = response.error_bytes
    why = about_refusal(
        response,
        context.incoming.headers,
        forwards_cookies=destination.forwards_cookies,
        allows_cookies=context.endpoint.allows_cookies,
        is_handshake=destination.messages is not None,
    )
    return Failure(refused.info, status=response.status, refusal=refused.refusal), why
