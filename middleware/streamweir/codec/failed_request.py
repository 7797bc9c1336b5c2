"""A request whose only answer is a failure: the values of a protocol's own error body."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FailedRequest"]


class FailedRequest(NamedTuple):
    """A refused request, or a run that failed before anything of it was sent.

    Attributes:
        status: of the HTTP response.
        code: of the standard protocol, section 5.
        message: safe for users.
        retry: the same request may succeed later.
        request_id: of the request.
    """

    status: int
    code: str
    message: str
    retry: bool
    request_id: str
