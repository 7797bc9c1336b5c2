"""Handles preflights at `relay: all`: the service is asked first, because its CORS headers take precedence.

Source: the configuration contract (`relay: all`, `cors`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamweir.http.headers import Headers
from streamweir.http.refusals import Refusal
from streamweir.http.sending import send_nothing
from streamweir_gateway.access.cors import speaks_of_cors

__all__ = ["serve_preflight"]


async def serve_preflight(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, preflight: Callable[[], Headers]
) -> None:
    """Send a preflight to a service, and answer it here if the service's answer has no CORS headers.

    Args:
        app: forwards the preflight to the service.
        scope: the scope of the request.
        receive: the receive callable of the server.
        send: the send callable of the server.
        preflight: returns the headers of the gateway's answer. If it raises `Refusal`, the page gets the
            service's answer unchanged.
    """
    answer = _Answer(send, preflight)
    await app(scope, receive, answer.send)
    if answer.ours is not None:
        await send_nothing(send, answer.ours)


class _Answer:
    """The service's answer, which is forwarded or dropped as a whole.

    Attributes:
        ours: the headers of the gateway's answer; None if the service's answer is forwarded.
    """

    def __init__(self, send: Send, preflight: Callable[[], Headers]) -> None:
        self.ours: Headers | None = None
        self._send: Final = send
        self._preflight: Final = preflight

    async def send(self, message: Message) -> None:
        """Forward or drop a message of the answer."""
        if message["type"] == "http.response.start" and not speaks_of_cors(message["headers"]):
            with suppress(Refusal):
                self.ours = self._preflight()
        if self.ours is None:
            await self._send(message)
