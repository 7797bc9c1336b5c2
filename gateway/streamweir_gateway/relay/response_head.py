"""Selects the headers of a relayed response: those of the upstream that are for the client.

Source: RFC 9110, sections 5.5, 7.6.1 and 8.6; RFC 9112, section 6.
"""

from __future__ import annotations

from typing import Final

from streamweir.http_grammar import WRITABLE_VALUE
from streamweir_gateway.upstream.failures import InvalidResponse
from streamweir_gateway.upstream.hop_by_hop import end_to_end
from streamweir_gateway.upstream.http1 import coding_list
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.transport import TransportResponse

__all__ = ["interim_headers", "relayed_headers"]

_LENGTH: Final = frozenset({b"content-length"})
_NO_CONTENT: Final = 204

_ANSWERED_HERE: Final = frozenset({100, 101})
"""Interim responses that are not forwarded: the gateway asked for the body, and for no other protocol."""


def relayed_headers(response: TransportResponse) -> Headers:
    """Return the headers that the client gets.

    Raises:
        InvalidResponse: the headers cannot be written, or the body is in a form that was not asked for.
    """
    codings = coding_list(response.headers, b"transfer-encoding")
    if response.status < 200 or any(coding != "chunked" for coding in codings):
        raise InvalidResponse("an answer to what was not asked")
    is_framed_here = bool(codings) or response.status == _NO_CONTENT
    headers = end_to_end(response.headers, without=_LENGTH if is_framed_here else frozenset())
    if not all(WRITABLE_VALUE.fullmatch(value) for _, value in headers):
        raise InvalidResponse("a header with control characters")
    return headers


def interim_headers(status: int, headers: Headers) -> Headers | None:
    """Return the headers of an interim response for the client; None if the response is not forwarded.

    Source: RFC 9110, section 15.2: a proxy forwards all interim responses but those that it asked for itself.
    """
    if status in _ANSWERED_HERE or not all(WRITABLE_VALUE.fullmatch(value) for _, value in headers):
        return None
    return end_to_end(headers, without=_LENGTH)
