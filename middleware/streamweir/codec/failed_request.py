"""A request that gets only a failure as its answer: the values for a protocol's own error body."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FailedRequest"]


class FailedRequest(NamedTuple):
    """A refused request, or a run that failed before any of its output was sent.

    Attributes:
        status: the status of the HTTP response.
        code: the error code, as in section 5 of the standard protocol.
        message: safe for users.
        retry: whether the same request may succeed later.
        request_id: the id of the request.
    """

    status: int
    code: str
    message: str
    retry: bool
    request_id: str
