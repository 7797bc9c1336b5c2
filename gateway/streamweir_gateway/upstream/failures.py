"""The failures of an upstream that gave no whole answer.

    UpstreamFailure
    ├── Unreachable         the connection ended before the response's headers were complete
    │   ├── NotConnected    there never was one
    │   └── NotSent         it ended before the request was written whole
    ├── ConnectTimedOut     the connection was not established in time
    ├── Truncated           the body broke off
    └── InvalidResponse     not HTTP
        └── UnreadableCoding   a coding that cannot be read

`streamweir.classify_exception` reads `info`; the text of the exception is for the log alone.
"""

from __future__ import annotations

from typing import ClassVar

from streamweir.errors import ErrorInfo, Reason, StreamweirError, error_info

__all__ = [
    "ConnectTimedOut",
    "InvalidResponse",
    "NotConnected",
    "NotSent",
    "Truncated",
    "Unreachable",
    "UnreadableCoding",
    "UpstreamFailure",
]


class UpstreamFailure(StreamweirError):
    """The upstream gave no whole response."""

    code: ClassVar[str] = "UPSTREAM_ERROR"
    reason: ClassVar[Reason | None] = None

    @property
    def info(self) -> ErrorInfo:
        """The failure for the client."""
        return error_info(self.code, reason=self.reason)

    @property
    def info_before_events(self) -> ErrorInfo:
        """The failure for the client if the stream has given no event yet."""
        return self.info

    @property
    def status(self) -> int | None:
        """The HTTP status with the same meaning; None if no status means this."""
        return None


class Unreachable(UpstreamFailure):
    """The connection was refused, reset or closed before the headers were complete, or DNS or TLS failed."""

    code = "UPSTREAM_UNREACHABLE"


class NotConnected(Unreachable):
    """No connection was established, so the upstream has not seen any part of the request."""


class NotSent(Unreachable):
    """The connection ended before the request was written completely, so the upstream cannot have run it."""


class ConnectTimedOut(UpstreamFailure):
    """The connection was not established in time."""

    code = "UPSTREAM_TIMEOUT"
    reason = "connect_timeout"


class Truncated(UpstreamFailure):
    """The body broke off: an announced chunk or length did not arrive, or the connection was reset."""

    code = "UPSTREAM_TRUNCATED"


class InvalidResponse(UpstreamFailure):
    """The response is not HTTP, or its content coding cannot be decoded."""

    code = "UPSTREAM_INVALID_RESPONSE"


class UnreadableCoding(InvalidResponse):
    """The body has an unknown content coding, or is not valid in the coding that it names."""
