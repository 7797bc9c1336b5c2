"""Operations on a client's connection beyond ASGI, if the server supports them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from starlette.types import Receive, Scope

__all__ = ["CONNECTION_EXTENSION", "ClientConnection", "SwitchedProtocol", "connection_of"]

CONNECTION_EXTENSION: Final = "streamweir.connection"
"""The key of `scope["extensions"]` under which a server puts its `ClientConnection`."""


class SwitchedProtocol(asyncio.Protocol):
    """The protocol that a client's connection has after a 101 response.

    Attributes:
        on_lost: called by the protocol when the connection is lost.
    """

    __slots__ = ("on_lost",)

    on_lost: Callable[[], None]

    def shutdown(self) -> None:
        """Do nothing when the server stops, because the gateway ends its streams itself."""


class ClientConnection:
    """The connection of a request.

    This class supports no operation: it is for servers without such operations.

    Attributes:
        refused: the code of a fault in the request's body, after which no more is read; None: no fault.
    """

    __slots__ = ()

    refused: str | None = None

    def whole_body(self, receive: Receive) -> bytes | None:
        """Return the rest of the request's body, if all of it has arrived; it is then taken.

        Args:
            receive: the function that the body would be asked of. A layer may have put its own in place of
                the server's.

        Returns:
            None if `receive` has to be awaited.
        """
        del receive
        return None

    def unsent(self) -> int | None:
        """Return the number of bytes that the client has not taken; None if that is unknown."""
        return None

    def abort(self) -> None:
        """Close the connection at once, and drop unsent bytes."""

    def break_off(self, *, resets: bool) -> bool:
        """Close the connection within the response, so that the client sees that the response is incomplete.

        Args:
            resets: whether to reset the connection of an HTTP/1.0 client, for which a reset is the only sign
                of an incomplete response. A reset may destroy bytes that the client has not read.

        Returns:
            False if the application has to raise an exception, on which the server closes the connection.
        """
        del resets
        return False

    def write(self, data: bytes) -> bool:
        """Send a piece of the body at once, bypassing the ASGI layers.

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
        """Answer a handshake with a 101, and give the connection to another protocol.

        Args:
            head: the head of the 101.
            protocol: the protocol of the connection from now on; reading is paused.

        Returns:
            The connection, and the bytes that the client has sent after its handshake. None if the server
            cannot do this.
        """
        del head, protocol
        return None

    def watch(self, listener: Callable[[], None] | None) -> bool:
        """Register `listener` to be called when the client has left, or at once if it has.

        None unregisters it.

        Returns:
            False if the server does not report this, so that the caller has to await `receive`.
        """
        del listener
        return False


def connection_of(scope: Scope) -> ClientConnection:
    """Return the connection on which the request with this scope arrived."""
    try:
        given: ClientConnection = scope["extensions"][CONNECTION_EXTENSION]
    except KeyError:
        return ClientConnection()
    return given
