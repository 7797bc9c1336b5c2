"""The client of an ASGI response, to which a delivery sends."""

from __future__ import annotations

from collections.abc import Awaitable

from streamweir.delivery.client_port import ClientPort
from streamweir.http.headers import Headers
from streamweir.http.sending import Receive, Send

__all__ = ["AsgiClient"]


class AsgiClient(ClientPort):
    """A client that any ASGI server can reach.

    Its methods return the server's coroutine unwrapped: one more coroutine per event would cost half as much
    as translating the event.

    Args:
        receive: the ASGI `receive` of the server.
        send: the ASGI `send` of the server.
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
        """Return once the server sends `http.disconnect`; unread parts of the request body are dropped."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
