"""Transports carry requests to upstreams: the interface between the client and its transports.

A transport raises `UpstreamFailure`s alone. It remembers nothing between requests but open connections,
follows no redirect and undoes no content coding.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from .repeated_head import RepeatedHead
from .request import Headers, OnInterim, Origin, UpstreamRequest

__all__ = ["ResponseBody", "SentRequest", "Transport", "TransportResponse", "WholeResponse"]


class ResponseBody(Protocol):
    """The body of one response as it comes off the wire, its framing undone."""

    @property
    def is_over(self) -> bool:
        """Whether it has been read to its proper end, as far as that is known before the next read."""

    @property
    def is_ready(self) -> bool:
        """`read` would return at once, as far as that is known."""

    async def read(self) -> bytes:
        """Return the bytes that came since the last call, or come next; nothing at the end.

        Raises:
            UpstreamFailure: the rest does not come.
        """

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Let `take` have each read that comes, without waking the task, until it returns False.

        Bytes that `take` was not given are for `read`. None if every read needs the task.
        """

    def let_end(self) -> None:
        """Note that its stream has ended: `aclose` may give it a moment to end too."""

    def abort(self) -> None:
        """Close the connection at once."""

    async def aclose(self) -> None:
        """Give the connection back, or close it where the response has not come to its end."""


class TransportResponse(NamedTuple):
    """A response whose body has not been read."""

    status: int
    headers: Headers
    body: ResponseBody


class WholeResponse(NamedTuple):
    """A response all of which has come."""

    status: int
    headers: Headers
    body: bytes
    repeated: RepeatedHead | None = None
    """Status and headers, where the next response may have the same."""


class SentRequest(Protocol):
    """A request that has been sent, and for which no task waits yet."""

    def watch(self, listener: Callable[[], None] | None, on_interim: OnInterim | None = None) -> None:
        """Call `listener` once, in the loop's own call, when something has come or the connection has ended.

        Args:
            listener: None: make no call.
            on_interim: called with each interim response.
        """

    def whole_response(self) -> WholeResponse | None:
        """Return the response, where all of it has come; None where it has not, or never will."""

    def is_nearly_whole(self) -> bool:
        """Whether its headers have come, and the rest is so little that it can only be on its way."""

    def give_back(self) -> None:
        """The whole response has been taken: the connection may carry another request."""

    async def response(
        self, request: UpstreamRequest, *, connect_timeout: float | None, on_connected: Callable[[], None]
    ) -> TransportResponse:
        """Wait for the headers of the response, as `Transport.send` does; no callback is called any more.

        Args:
            request: the same; it is sent once more where the connection had ended before.

        Raises:
            UpstreamFailure: there is no response.
        """

    def abort(self) -> None:
        """Close the connection: the response is not needed."""


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
            request: to the upstream.
            connect_timeout: seconds to establish the connection, TLS included; None waits for ever.
            on_connected: called when it does and the request goes out.

        Raises:
            UpstreamFailure: there is no response.
            ValueError: the request cannot be written as HTTP.
        """

    def begin(self, origin: Origin, head: bytes, body: bytes) -> SentRequest | None:
        """Send a request without waiting for anything; None where that cannot be done.

        Args:
            origin: where to.
            head: request line and headers, not of a HEAD.
            body: all of it.
        """

    async def aclose(self) -> None:
        """Close every connection."""
