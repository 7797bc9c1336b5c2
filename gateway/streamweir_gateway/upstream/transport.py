"""What carries requests to upstreams, whichever way: the interface between the client and its transports.

A transport raises `UpstreamFailure`s alone. It remembers nothing between requests but open connections,
follows no redirect and undoes no content coding.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from .request import Headers, UpstreamRequest

__all__ = ["ResponseBody", "Transport", "TransportResponse"]


class ResponseBody(Protocol):
    """The body of one response as it comes off the wire, its framing undone."""

    @property
    def is_over(self) -> bool:
        """It has been read to its proper end, as far as that is known before the next read."""

    @property
    def is_ready(self) -> bool:
        """`read` would return at once, as far as that is known."""

    async def read(self) -> bytes:
        """Return what has come since the last call, or comes next; nothing at the end.

        Raises:
            UpstreamFailure: the rest does not come.
        """

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Let `take` have each read that comes, without waking the task, until it returns False.

        What `take` was not given is for `read`. None where every read needs the task.
        """

    def let_end(self) -> None:
        """Its content has said that it is over: `aclose` may give it a moment to come to its end."""

    def abort(self) -> None:
        """Close the connection at once."""

    async def aclose(self) -> None:
        """Give the connection back, or close it where the response has not come to its end."""


class TransportResponse(NamedTuple):
    """A response whose body has not been read."""

    status: int
    headers: Headers
    body: ResponseBody


class Transport(Protocol):
    """Sends requests."""

    async def send(
        self,
        request: UpstreamRequest,
        *,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None,
    ) -> TransportResponse:
        """Send `request` and wait for the headers of its response; its body has to be closed.

        Args:
            request: what is sent.
            connect_timeout: seconds until the connection must stand, TLS included; None waits for ever.
            on_connected: called when it does and the request goes out.

        Raises:
            UpstreamFailure: there is no response.
            ValueError: the request cannot be written as HTTP.
        """

    async def aclose(self) -> None:
        """Close every connection."""
