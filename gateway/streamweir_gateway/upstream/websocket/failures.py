"""The failures of an upstream that speaks over a WebSocket.

Source: the WebSocket contract, section 2 (the end); RFC 6455, section 7.4.
"""

from __future__ import annotations

from typing import ClassVar, Final

from streamweir.classification import info_for_status
from streamweir.errors import ErrorInfo, error_info
from streamweir_gateway.upstream.failures import Truncated, UpstreamFailure

__all__ = ["MessageTooBig", "ProtocolBreach", "SocketClosed"]

_STATUSES: Final = {1011: 500, 1012: 503, 1013: 503}
_REJECTIONS: Final = frozenset({1003, 1007, 1008, 1009, 1010})
_HTTP_CODES: Final = range(4400, 4600)
"""The close codes by which services mean an HTTP status: the status plus 4000."""


class SocketClosed(Truncated):
    """The connection ended with an error, or without a Close frame.

    Args:
        code: the code of the Close frame; None: there was no Close frame.
    """

    def __init__(self, code: int | None) -> None:
        super().__init__("the WebSocket ended without a Close frame" if code is None else f"Close {code}")
        self.close_code = code

    @property
    def status(self) -> int | None:
        """The HTTP status with the same meaning; None if no status means this."""
        code = self.close_code or 0
        return code - 4000 if code in _HTTP_CODES else _STATUSES.get(code)

    @property
    def info_before_events(self) -> ErrorInfo:
        """The failure for the client if the stream has given no event yet."""
        if self.status is not None:
            return info_for_status(self.status)
        return error_info("UPSTREAM_REJECTED") if self.close_code in _REJECTIONS else self.info


class ProtocolBreach(Truncated):
    """The upstream broke RFC 6455."""

    @property
    def info_before_events(self) -> ErrorInfo:
        """The failure for the client if the stream has given no event yet."""
        return error_info("UPSTREAM_INVALID_RESPONSE")


class MessageTooBig(UpstreamFailure):
    """A message is larger than an event may be."""

    code: ClassVar[str] = "STREAM_LIMIT_EXCEEDED"
