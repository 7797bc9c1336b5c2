"""A whole response, which is sent in place of a stream."""

from __future__ import annotations

from typing import NamedTuple

from streamweir.codec.dialect import Dialect
from streamweir.errors import ErrorInfo
from streamweir.http.headers import Headers, encoded_headers
from streamweir.http.refusals import failure_parts
from streamweir.jsontext import write_json

__all__ = ["WholeResponse", "envelope_response"]


class WholeResponse(NamedTuple):
    """The status, headers and body of a response."""

    status: int
    headers: Headers
    """The headers, with `content-length`; names in lower case."""
    body: bytes


def envelope_response(
    info: ErrorInfo, *, request_id: str, debug: bool = False, protocol: Dialect | None = None
) -> WholeResponse:
    """Return the response that reports a failure before any byte of the stream was sent.

    Args:
        info: the failure; its message is safe for users.
        request_id: the id of the request.
        debug: add details to the body.
        protocol: the protocol of the client, which may define an error body; None: the body is the envelope.

    Source: the standard protocol 1.1, section 5 (status and envelope).
    """
    status, body, fields = failure_parts(info, request_id=request_id, debug=debug, protocol=protocol)
    data = write_json(body)
    headers = encoded_headers(
        {"Content-Type": "application/json", **fields, "Content-Length": str(len(data))}
    )
    return WholeResponse(status, headers, data)
