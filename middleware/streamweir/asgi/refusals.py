"""Requests that never reach an application or an upstream: a status and one JSON envelope.

Source: the standard protocol 1.1, section 5 (end).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from starlette.responses import Response

from streamweir.jsontext import write_json

__all__ = ["REFUSALS", "Refusal", "RefusalRow", "envelope", "refusal_response"]


class RefusalRow(NamedTuple):
    """A reason to refuse a request."""

    status: int
    retry: bool
    message: str


REFUSALS: Final[dict[str, RefusalRow]] = {
    "BAD_REQUEST": RefusalRow(400, False, "The request could not be understood."),
    "UNAUTHENTICATED": RefusalRow(401, False, "A valid key is required."),
    "FORBIDDEN": RefusalRow(403, False, "This key has no access here."),
    "ENDPOINT_NOT_FOUND": RefusalRow(404, False, "There is nothing at this address."),
    "METHOD_NOT_ALLOWED": RefusalRow(405, False, "This method is not allowed here."),
    "REQUEST_TOO_LARGE": RefusalRow(413, False, "The request is larger than is allowed here."),
    "UNSUPPORTED_MEDIA_TYPE": RefusalRow(415, False, "The request has a type that is not understood here."),
    "RATE_LIMITED": RefusalRow(429, True, "Too many requests. Please wait and try again."),
    "HEADERS_TOO_LARGE": RefusalRow(431, False, "The request's headers are larger than is allowed here."),
    "INTERNAL": RefusalRow(500, True, "An internal error occurred. Please try again."),
    "OVERLOADED": RefusalRow(503, True, "The service is busy. Please try again."),
    "GATEWAY_DRAINING": RefusalRow(503, True, "The gateway is shutting down. Please try again."),
}


class Refusal(Exception):  # noqa: N818 - the gateway works as it should
    """Raised where a request is judged; the shell turns it into a response.

    Args:
        code: one of `REFUSALS`.
        message: in the place of the row's; written for the client's developer, never an exception's text.
        headers: of the response.
    """

    def __init__(
        self, code: str, message: str | None = None, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(code)
        self.code = code
        self.message = message
        self.headers = headers


def envelope(code: str, message: str, *, retry: bool, request_id: str) -> dict[str, Any]:
    """Return the JSON body of a refusal."""
    return {
        "status": "error",
        "error": {"code": code, "message": message, "retry": retry},
        "request_id": request_id,
    }


def refusal_response(refusal: Refusal, *, request_id: str) -> Response:
    """Return the response to a refused request."""
    row = REFUSALS[refusal.code]
    body = envelope(refusal.code, refusal.message or row.message, retry=row.retry, request_id=request_id)
    return Response(
        write_json(body),
        status_code=row.status,
        headers={"Cache-Control": "no-store", "X-Request-Id": request_id, **(refusal.headers or {})},
        media_type="application/json",
    )
