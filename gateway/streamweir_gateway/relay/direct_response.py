"""Writes a whole response of a service in the form for the client, in one step.

The bytes are those that `relayed_headers`, the gateway's outermost layer and the server's encoder would write
together. Responses that these would refuse or examine further are left to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final, NamedTuple, cast

from streamweir.classification.statuses import STREAM_STATUSES
from streamweir_gateway.connection.response_encoder import are_header_lines, chunk, status_line
from streamweir_gateway.upstream.hop_by_hop import HOP_BY_HOP
from streamweir_gateway.upstream.request import Headers
from streamweir_gateway.upstream.transport import WholeResponse

__all__ = ["direct_response"]

_LEFT_OUT: Final = HOP_BY_HOP | {b"x-request-id"}
_ONCE: Final = frozenset({b"connection", b"content-length", b"content-type", b"transfer-encoding"})
_NO_CONTENT: Final = 204
_WITHOUT_BODY: Final = frozenset({_NO_CONTENT, 304})
_PERSISTENCE: Final = frozenset({b"keep-alive", b"close"})


class _Head(NamedTuple):
    """The parts of the client's response that are equal for all responses with this head."""

    status: int
    has_date: bool
    lines: bytes
    is_chunked: bool


def direct_response(
    response: WholeResponse, *, streams: Set[str], request_id: str, date: bytes, keep_alive: bool
) -> bytes | None:
    """Return the bytes of a response to an HTTP/1.1 request, not HEAD; None if it has to be examined.

    Args:
        response: the response of the service.
        streams: the media types that an agent stream may have.
        request_id: the id of the request.
        date: the `Date` header line, used if the response has no such header.
        keep_alive: False if the client's connection is closed after the response.
    """
    head = _head(response, streams)
    if head is None:
        return None
    return b"".join(
        (
            status_line(head.status),
            b"" if head.has_date else date,
            head.lines,
            b"x-request-id: %b\r\n" % request_id.encode("ascii"),
            b"" if keep_alive else b"connection: close\r\n",
            *_framed(head, response.body),
        )
    )


def _head(response: WholeResponse, streams: Set[str]) -> _Head | None:
    """Return the bytes that were written earlier for the same head, or write them now."""
    repeated = response.repeated
    if repeated is None:
        return _written_head(response.status, response.headers, streams)
    if repeated.relayed is None or repeated.relayed[0] is not streams:
        repeated.relayed = streams, _written_head(response.status, response.headers, streams)
    return cast("_Head | None", repeated.relayed[1])


def _written_head(status: int, headers: Headers, streams: Set[str]) -> _Head | None:
    """Return the written head of an ordinary response; None if the response needs further examination."""
    fields: dict[bytes, bytes] = {}
    lines: list[bytes] = []
    for name, value in headers:
        lowered = name.lower()
        if lowered in _ONCE and lowered in fields:
            return None
        fields[lowered] = value
        if lowered not in _LEFT_OUT:
            lines.append(b"%b: %b\r\n" % (lowered, value))
    block = b"".join(lines)
    if not _is_ordinary(status, fields, streams) or not are_header_lines(block, len(lines)):
        return None
    return _Head(status, b"date" in fields, block, b"transfer-encoding" in fields)


def _is_ordinary(status: int, fields: Mapping[bytes, bytes], streams: Set[str]) -> bool:
    """Return whether a response with these headers needs no further examination."""
    if status < 200 or fields.get(b"connection", b"close").lower() not in _PERSISTENCE:
        return False
    if status in STREAM_STATUSES and _media_type(fields.get(b"content-type", b"")) in streams:
        return False
    if b"transfer-encoding" in fields:
        is_chunked = fields[b"transfer-encoding"] == b"chunked" and b"content-length" not in fields
        return is_chunked and status not in _WITHOUT_BODY
    if b"content-length" in fields:
        return status != _NO_CONTENT
    return status in _WITHOUT_BODY


def _framed(head: _Head, body: bytes) -> tuple[bytes, ...]:
    """Return the end of the headers, then the body."""
    if head.is_chunked:
        return b"transfer-encoding: chunked\r\n\r\n", chunk(body), b"0\r\n\r\n"
    return b"\r\n", b"" if head.status in _WITHOUT_BODY else body


def _media_type(value: bytes) -> str:
    return value.partition(b";")[0].strip().lower().decode("latin-1")
