"""The client of a response, for deliveries. It uses ASGI, and `ClientConnection` if available."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from streamweir.delivery.asgi_client import AsgiClient
from streamweir_gateway.connection.client_connection import connection_of

__all__ = ["ConnectedClient"]


class ConnectedClient(AsgiClient):
    """The client of one request; see `ClientPort`.

    Attributes:
        write: the function that sends a piece of the body without waiting; see `ClientConnection`.
        watch: the function that registers a listener for the client's leaving; see `ClientConnection`.

    Args:
        scope: the ASGI scope of the request.
        receive: the receive callable of the server.
        send: the send callable of the server.
    """

    __slots__ = ("_connection", "watch", "write")

    watch: Callable[[Callable[[], None] | None], bool]
    write: Callable[[bytes], bool]

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        AsgiClient.__init__(self, receive, send)
        self._connection = connection = connection_of(scope)
        self.write, self.watch = connection.write, connection.watch

    def unsent(self) -> int | None:
        """Return the number of bytes that the client has not taken."""
        return self._connection.unsent()

    def break_off(self) -> bool:
        """Close the connection within the body when the exchange is over."""
        return self._connection.break_off(resets=False)

    def abort(self) -> None:
        """Close the connection at once."""
        self._connection.abort()
