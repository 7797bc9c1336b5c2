"""The reasons why a request is refused before it reaches an application or an upstream.

Source: the standard protocol 1.1, section 5 (end).
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["REFUSALS", "RefusalRow"]


class RefusalRow(NamedTuple):
    """One row of the table of refusals: a reason to refuse a request."""

    status: int
    retry: bool
    message: str


REFUSALS: Final[dict[str, RefusalRow]] = {
    "BAD_REQUEST": RefusalRow(400, False, "The request could not be understood."),
    "UNAUTHENTICATED": RefusalRow(401, False, "A valid key is required."),
    "FORBIDDEN": RefusalRow(403, False, "This key has no access here."),
    "ENDPOINT_NOT_FOUND": RefusalRow(404, False, "There is nothing at this address."),
    "MODEL_NOT_FOUND": RefusalRow(404, False, "There is no such model, or this key has no access to it."),
    "METHOD_NOT_ALLOWED": RefusalRow(405, False, "This method is not allowed here."),
    "REQUEST_TOO_LARGE": RefusalRow(413, False, "The request is larger than is allowed here."),
    "UNSUPPORTED_MEDIA_TYPE": RefusalRow(415, False, "The request has a type that is not understood here."),
    "RATE_LIMITED": RefusalRow(429, True, "Too many requests. Please wait and try again."),
    "INTERNAL": RefusalRow(500, True, "An internal error occurred. Please try again."),
    "RUN_NOT_FOUND": RefusalRow(404, False, "There is no such run."),
    "RUN_EXISTS": RefusalRow(409, False, "This run was started by another request."),
    "RUN_GONE": RefusalRow(410, False, "This run can no longer be resumed."),
    "STORE_UNAVAILABLE": RefusalRow(503, True, "Runs cannot be read at the moment. Please try again."),
    "LOOP_DETECTED": RefusalRow(508, False, "The request came back to the gateway that had sent it on."),
    "WEBSOCKET_UNSUPPORTED": RefusalRow(501, False, "WebSockets are not supported here."),
    "OVERLOADED": RefusalRow(503, True, "The service is busy. Please try again."),
    "GATEWAY_DRAINING": RefusalRow(503, True, "The gateway is shutting down. Please try again."),
}
