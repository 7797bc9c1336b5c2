"""The client of a response, for deliveries. It uses ASGI, and `ClientConnection` if available."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from streamweir.delivery.asgi_client import AsgiClient
from streamweir_gateway.connection.client_connection import ClientConnection

__all__ = ["ConnectedClient"]


class ConnectedClient(AsgiClient):
    """The client of one request; see `ClientPort`.

    Args:
        scope: the ASGI scope of the request.
        receive: the receive callable of the server.
        send: the send callable of the server.
    """

    __slots__ = ("_connection",)

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(receive, send)
        self._connection = ClientConnection.of(scope)

    @property
    def write(self) -> Callable[[bytes], bool]:
        """The function that sends a piece of the body without waiting; see `ClientConnection`."""
        return self._connection.write

    def unsent(self) -> int | None:
        """Return the number of bytes that the client has not taken."""
        return self._connection.unsent()

    def break_off(self) -> bool:
        """Close the connection within the body when the exchange is over."""
        return self._connection.break_off(resets=False)

    def abort(self) -> None:
        """Close the connection at once."""
        self._connection.abort()

    def watch(self, on_left: Callable[[], None] | None) -> bool:
        """Register `on_left` to be called when the client has left."""
        return self._connection.watch(on_left)
