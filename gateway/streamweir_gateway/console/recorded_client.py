"""Wraps a client, so that the pieces of its response are recorded when they are sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from streamweir.delivery.client_port import ClientPort
from streamweir.http.headers import Headers

__all__ = ["RecordedClient", "Writes"]


class Writes(Protocol):
    """Records the pieces of a response."""

    def response_started(self, status: int, headers: Headers) -> None:
        """Record the status and the headers."""

    @property
    def written(self) -> Callable[[bytes], None]:
        """The function that records each sent piece of the body."""

    def heartbeat(self, data: bytes) -> None:
        """Record a sent heartbeat."""


class RecordedClient:
    """Sends a response through another client, and records it. It is a `ClientPort`.

    Args:
        client: sends the response.
        writes: records each piece.
        records_relays: whether to record pieces that are sent by `write`; False: they are reported with their
            reads.

    Attributes:
        cork: the method of `client`, as is `watch`; no call is added to them.
    """

    __slots__ = ("_client", "_records_relays", "_writes", "_written", "cork", "watch")

    def __init__(self, client: ClientPort, writes: Writes, *, records_relays: bool = True) -> None:
        self._client = client
        self._records_relays = records_relays
        self._writes = writes
        self._written = writes.written
        self.cork, self.watch = client.cork, client.watch

    def send_start(self, status: int, headers: Headers) -> Awaitable[None]:
        """Send the status and the headers."""
        self._writes.response_started(status, headers)
        return self._client.send_start(status, headers)

    def send_body(self, data: bytes, more: bool) -> Awaitable[None]:
        """Send a piece of the body."""
        if data:
            self._written(data)
        return self._client.send_body(data, more)

    @property
    def write(self) -> Callable[[bytes], bool]:
        """The function that sends a piece of the body without waiting."""
        send, written = self._client.write, self._written
        if not self._records_relays:
            return send

        def write(data: bytes) -> bool:
            if not send(data):
                return False
            written(data)
            return True

        return write

    def write_heartbeat(self, data: bytes) -> bool:
        """Send a heartbeat without waiting, and record it here, because it belongs to no read."""
        if not self._client.write_heartbeat(data):
            return False
        self._writes.heartbeat(data)
        return True

    def send_heartbeat(self, data: bytes) -> Awaitable[None]:
        """Send a heartbeat."""
        self._writes.heartbeat(data)
        return self._client.send_heartbeat(data)

    def unsent(self) -> int | None:
        """Return the number of bytes that the client has not taken yet; None if the server does not know."""
        return self._client.unsent()

    def break_off(self) -> bool:
        """Close the connection within the body when the exchange is over."""
        return self._client.break_off()

    def abort(self) -> None:
        """Close the connection at once."""
        self._client.abort()

    async def until_left(self) -> None:
        """Wait until the client has left."""
        await self._client.until_left()
