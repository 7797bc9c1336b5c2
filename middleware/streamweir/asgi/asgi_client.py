"""The client of an ASGI response, for deliveries."""

from __future__ import annotations

from collections.abc import Awaitable

from streamweir.delivery.client_port import ClientPort
from streamweir.http.headers import Headers
from streamweir.http.sending import Receive, Send

__all__ = ["AsgiClient"]


class AsgiClient(ClientPort):
    """A client that any ASGI server can reach.

    Its methods return the coroutine of the server. One coroutine more for each event would cost as much as
    half of its translation.

    Args:
        receive: of the server.
        send: of the server.
    """

    __slots__ = ("_receive", "_send")

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    def send_start(self, status: int, headers: Headers) -> Awaitable[None]:
        """Send the status and the headers."""
        return self._send({"type": "http.response.start", "status": status, "headers": headers})

    def send_body(self, data: bytes, more: bool) -> Awaitable[None]:
        """Send a piece of the body."""
        return self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def until_left(self) -> None:
        """Return once the server sends `http.disconnect`; the rest of the request body is dropped."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
