"""The client of a response, for deliveries: reached by ASGI, and beyond it where the server is ours."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import Receive, Scope, Send

from streamweir.asgi.asgi_client import AsgiClient
from streamweir_gateway.connection.client_connection import ClientConnection

__all__ = ["ConnectedClient"]


class ConnectedClient(AsgiClient):
    """The client of one request; see `ClientPort`.

    Args:
        scope: of the request.
        receive: of the server.
        send: of the server.
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
        """Return how many bytes the client has still to take."""
        return self._connection.unsent()

    def cork(self, is_corked: bool) -> None:
        """Collect what is sent while it is True."""
        self._connection.cork(is_corked)

    def abort(self) -> None:
        """Close the connection at once."""
        self._connection.abort()

    def watch(self, on_left: Callable[[], None] | None) -> bool:
        """Call `on_left` once the client has left."""
        return self._connection.watch(on_left)
