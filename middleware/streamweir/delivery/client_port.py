"""The interface between a delivery and the server that reaches its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from streamweir.http.headers import Headers

__all__ = ["ClientPort", "cannot_write"]


class ClientPort(Protocol):
    """Sends one response to one client. A host that can only send keeps the defaults of other methods."""

    def send_start(self, status: int, headers: Headers) -> Awaitable[None]:
        """Send the status and the headers.

        Raises:
            OSError: the client has left.
        """

    def send_body(self, data: bytes, more: bool) -> Awaitable[None]:
        """Send a piece of the body; if `more` is False, it is the last piece.

        Returns once the client can take another piece.

        Raises:
            OSError: the client has left.
        """

    @property
    def write(self) -> Callable[[bytes], bool]:
        """The function that sends a piece of the body without waiting.

        The function returns False if that is impossible: it has then sent nothing, and the caller has to use
        `send_body`.
        """
        return cannot_write

    def unsent(self) -> int | None:
        """Return how many bytes the client has not taken yet; None if the server does not know."""
        return None

    def break_off(self) -> bool:
        """Close the connection within the body once the exchange is over; bytes that the client has not read
        are not lost.

        Returns:
            False if the server cannot do that. The caller then has to raise an exception, on which the server
            closes.
        """
        return False

    def abort(self) -> None:
        """Close the connection at once, without waiting for unsent bytes."""
        return

    def watch(self, on_left: Callable[[], None] | None, /) -> bool:
        """Call `on_left` once the client has left, or at once if it already has; None cancels an earlier call
        of `watch`.

        Returns:
            False if the server has no such notice; the caller then has to await `until_left`.
        """
        del on_left
        return False

    async def until_left(self) -> None:
        """Return once the client has left, or once the server reports that the response is complete."""
        return


def cannot_write(data: bytes) -> bool:
    """Return False: the `write` of a client that can only be sent bytes by `send_body`."""
    del data
    return False
