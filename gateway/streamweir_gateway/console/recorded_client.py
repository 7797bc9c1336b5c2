"""The client of a response whose pieces are recorded as they are sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from streamweir.delivery.client_port import ClientPort
from streamweir.http.headers import Headers

__all__ = ["RecordedClient", "Writes"]


class Writes(Protocol):
    """Takes the pieces of a response."""

    def response_started(self, status: int, headers: Headers) -> None:
        """Take the head."""
        ...

    def writer(self) -> Callable[[bytes], None]:
        """Return the function that takes each piece of the body that was sent."""
        ...


class RecordedClient(ClientPort):
    """Sends a response through another client, and records it.

    Args:
        client: sends the response.
        writes: takes each piece.
        records_relays: take the pieces that are sent by `write` too; False: they are reported otherwise.
    """

    __slots__ = ("_client", "_records_relays", "_writes", "_written")

    def __init__(self, client: ClientPort, writes: Writes, *, records_relays: bool = True) -> None:
        self._client = client
        self._records_relays = records_relays
        self._writes = writes
        self._written = writes.writer()

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

    def unsent(self) -> int | None:
        """Return how many bytes the client has still to take; None if the server does not know."""
        return self._client.unsent()

    def cork(self, is_corked: bool) -> None:
        """Collect the pieces while it is True."""
        self._client.cork(is_corked)

    def break_off(self) -> bool:
        """Close the connection within the body once the exchange is over."""
        return self._client.break_off()

    def abort(self) -> None:
        """Close the connection at once."""
        self._client.abort()

    def watch(self, on_left: Callable[[], None] | None) -> bool:
        """Call `on_left` once the client has left."""
        return self._client.watch(on_left)

    async def until_left(self) -> None:
        """Return once the client has left."""
        await self._client.until_left()
