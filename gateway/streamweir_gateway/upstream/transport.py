"""The interface between `UpstreamClient` and the transports, which carry requests to upstreams.

A transport raises no other exceptions than `UpstreamFailure`. Between requests it keeps open connections
only. It follows no redirects and decodes no content codings.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

from msgspec import Struct

from .header_fields import HeaderFields
from .repeated_head import RepeatedHead
from .request import Headers, OnInterim, Origin, UpstreamRequest

__all__ = ["ResponseBody", "SentRequest", "Transport", "TransportResponse", "WholeResponse"]


class ResponseBody(Protocol):
    """The body of one response in the coding of the wire, without the framing of HTTP."""

    @property
    def is_over(self) -> bool:
        """Whether the body has been read to its proper end, as far as that is known without another read."""

    @property
    def is_ready(self) -> bool:
        """Whether `read` would return at once, as far as that is known."""

    async def read(self) -> bytes:
        """Return the bytes that arrived since the last call, or wait for the next ones; empty at the end.

        Raises:
            UpstreamFailure: the body broke off.
        """

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Call `take` with each read that arrives, without waking the task, until `take` returns False.

        The caller gets all other bytes by `read`. Return None if every read needs the task.
        """

    def let_end(self) -> None:
        """Note that the stream in the body has ended: `aclose` may then give the body a moment to end too."""

    def abort(self) -> None:
        """Close the connection at once."""

    async def aclose(self) -> None:
        """Give the connection back if the response has ended; else close the connection."""


class TransportResponse(Struct, frozen=True):
    """A response whose body has not been read."""

    status: int
    headers: Headers
    body: ResponseBody
    fields: HeaderFields | None = None
    """The headers by name (`header_fields`), if the transport has them in that form."""


class WholeResponse(NamedTuple):
    """A response that has arrived completely."""

    status: int
    headers: Headers
    body: bytes
    repeated: RepeatedHead | None = None
    """The head of the response, kept if the next response may have an equal head."""


class SentRequest(Protocol):
    """A request that has been sent, and whose response no task awaits yet."""

    def watch(self, listener: Callable[[], None] | None, on_interim: OnInterim | None = None) -> None:
        """Call `listener` once, from the event loop, when bytes have arrived or the connection has ended.

        Args:
            listener: called without arguments; None: no call is made.
            on_interim: called with each interim response.
        """

    def whole_response(self) -> WholeResponse | None:
        """Return the response if it has arrived completely; else None."""

    def is_nearly_whole(self) -> bool:
        """Return whether the headers have arrived, and the rest is so little that it must be on its way."""

    def give_back(self) -> None:
        """Give the connection back for another request, because the whole response has been taken."""

    async def response(
        self, request: UpstreamRequest, *, connect_timeout: float | None, on_connected: Callable[[], None]
    ) -> TransportResponse:
        """Wait for the headers of the response, as `Transport.send` does. No listener is called any more.

        Args:
            request: the request that was sent; it is sent again if the connection had ended before.

        Raises:
            UpstreamFailure: no response arrived.
        """

    def abort(self) -> None:
        """Close the connection, because the response is not needed."""


class Transport(Protocol):
    """Sends requests."""

    async def send(
        self,
        request: UpstreamRequest,
        *,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None,
    ) -> TransportResponse:
        """Send `request` and wait for the headers of the response. The caller has to close the body.

        Args:
            request: the request to the upstream.
            connect_timeout: the seconds to establish the connection, including TLS; None: no limit.
            on_connected: called when the connection is established and the request is sent.

        Raises:
            UpstreamFailure: no response arrived.
            ValueError: the request cannot be written as HTTP.
        """

    def begin(self, origin: Origin, head: bytes, body: bytes) -> SentRequest | None:
        """Send a request without waiting; return None if the transport would have to wait.

        Args:
            origin: the origin to send to.
            head: the request line and headers, not of a HEAD.
            body: the whole body.
        """

    async def aclose(self) -> None:
        """Close every connection."""
