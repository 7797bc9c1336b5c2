"""What can be done with a client's connection beyond ASGI, where the server of the application can do it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import Scope

__all__ = ["CONNECTION_EXTENSION", "ClientConnection"]

CONNECTION_EXTENSION: Final = "streamweir.connection"
"""Where a server that can do it puts a `ClientConnection` into `scope["extensions"]`."""


class ClientConnection:
    """The connection that a request came on. By itself it can do nothing: any server may run the application.

    Attributes:
        refused: the code of what is wrong with the request's body, which will not come any further.
    """

    __slots__ = ("refused",)

    def __init__(self) -> None:
        self.refused: str | None = None

    @staticmethod
    def of(scope: Scope) -> ClientConnection:
        """Return the connection that a request came on."""
        given = scope.get("extensions", {}).get(CONNECTION_EXTENSION)
        return given if isinstance(given, ClientConnection) else ClientConnection()

    def unsent(self) -> int | None:
        """Return how many bytes are still waiting to be taken by the client's side; None: nobody knows."""
        return None

    def abort(self) -> None:
        """Close at once, without waiting for what is unsent."""

    def break_off(self) -> bool:
        """Close within the response, in a way by which the client sees that it is not whole.

        Returns:
            False where the server does that when the application fails.
        """
        return False

    def write(self, data: bytes) -> bool:
        """Send a piece of the response's body at once, past the layers between.

        Returns:
            False where it has to go through them, which only look at how a response begins and ends.
        """
        del data
        return False

    def inform(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Send an interim response, such as `103 Early Hints`, where the client can take one.

        Args:
            status: from 102 to 199.
            headers: that can be written.
        """

    def cork(self, is_corked: bool) -> None:
        """Keep what is sent back while it is True, and let it go as one piece."""

    def watch(self, listener: Callable[[], None] | None) -> bool:
        """Call `listener` once the client has left, at once if it has; None: no longer.

        Returns:
            False where the server does not report it, so that one has to wait in `receive`.
        """
        del listener
        return False
