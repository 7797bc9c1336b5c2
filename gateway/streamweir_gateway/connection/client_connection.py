"""Operations on a client's connection beyond ASGI, if the server supports them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import Scope

__all__ = ["CONNECTION_EXTENSION", "ClientConnection", "SwitchedProtocol"]

CONNECTION_EXTENSION: Final = "streamweir.connection"
"""The key of `scope["extensions"]` under which a server puts its `ClientConnection`."""


class SwitchedProtocol(asyncio.Protocol):
    """The protocol of a client's connection behind a 101.

    Attributes:
        on_lost: to be called once the connection is lost.
    """

    __slots__ = ("on_lost",)

    on_lost: Callable[[], None]

    def shutdown(self) -> None:
        """The server stops; the streams of the gateway are ended elsewhere."""


class ClientConnection:
    """The connection of a request. This class supports no operation: it is used with servers that have none.

    Attributes:
        refused: the code of the fault in the request's body, whose rest will not come; None if there is none.
    """

    __slots__ = ("refused",)

    def __init__(self) -> None:
        self.refused: str | None = None

    @staticmethod
    def of(scope: Scope) -> ClientConnection:
        """Return the connection of a request."""
        given = scope.get("extensions", {}).get(CONNECTION_EXTENSION)
        return given if isinstance(given, ClientConnection) else ClientConnection()

    def unsent(self) -> int | None:
        """Return how many bytes the client has not taken; None if that is unknown."""
        return None

    def abort(self) -> None:
        """Close at once, and drop unsent bytes."""

    def break_off(self, *, resets: bool) -> bool:
        """Close within the response, so that the client sees that the response is incomplete.

        Args:
            resets: reset the connection of a client of HTTP/1.0, which sees no other sign. A reset may take
                bytes from the client that it has not read.

        Returns:
            False if the application has to raise instead, and the server then closes.
        """
        del resets
        return False

    def write(self, data: bytes) -> bool:
        """Send a piece of the body at once, without the ASGI layers between.

        Those layers only inspect the beginning and the end of a response.

        Returns:
            False if the piece has to be sent by ASGI.
        """
        del data
        return False

    def inform(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Send an interim response, such as `103 Early Hints`, if the client supports it.

        Args:
            status: from 102 to 199.
            headers: valid headers.
        """

    def switch(self, head: bytes, protocol: SwitchedProtocol) -> tuple[asyncio.Transport, bytes] | None:
        """Answer a handshake, and let another protocol have the connection.

        Args:
            head: the head of the 101.
            protocol: the protocol of the connection from now on; reading is paused.

        Returns:
            The connection, and the bytes that the client has sent behind its handshake. None if the server
            cannot do it.
        """
        del head, protocol
        return None

    def cork(self, is_corked: bool) -> None:
        """Collect sent bytes while True; send them in one piece once it is False."""

    def watch(self, listener: Callable[[], None] | None) -> bool:
        """Call `listener` once the client has left, at once if it already has. None ends that.

        Returns:
            False if the server does not report it; then `receive` has to be awaited.
        """
        del listener
        return False
