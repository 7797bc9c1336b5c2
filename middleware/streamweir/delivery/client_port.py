"""The interface between a delivery and the server that reaches its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from streamweir.http.headers import Headers

__all__ = ["ClientPort", "cannot_write"]


class ClientPort(Protocol):
    """Sends one response.

    A host that can only send leaves the other methods to their defaults.
    """

    def send_start(self, status: int, headers: Headers) -> Awaitable[None]:
        """Send the status and the headers.

        Raises:
            OSError: the client has left.
        """
        ...

    def send_body(self, data: bytes, more: bool) -> Awaitable[None]:
        """Send a piece of the body; with `more` False it is the last one.

        Returns once the client can take another piece.

        Raises:
            OSError: the client has left.
        """
        ...

    @property
    def write(self) -> Callable[[bytes], bool]:
        """The function that sends a piece of the body without waiting.

        It returns False if that is impossible: nothing has been sent, and the caller has to use `send_body`.
        """
        return cannot_write

    def write_heartbeat(self, data: bytes) -> bool:
        """Send a heartbeat without waiting.

        Returns:
            False if that is impossible, as for `write`.
        """
        return self.write(data)

    def unsent(self) -> int | None:
        """Return how many bytes the client has still to take; None if the server does not know."""
        return None

    def cork(self, is_corked: bool) -> None:
        """Collect pieces from True to False, and then send them as one."""
        del is_corked

    def break_off(self) -> bool:
        """Close the connection within the body once the exchange is over; unread bytes are not lost by it.

        Returns:
            False if the server cannot do that. Then an exception has to be raised, on which it closes.
        """
        return False

    def abort(self) -> None:
        """Close the connection at once, without waiting for unsent bytes."""
        return

    def watch(self, on_left: Callable[[], None] | None) -> bool:
        """Call `on_left` once the client has left, at once if it has; None stops that.

        Returns:
            False if the server cannot call it. Then `until_left` reports the leaving.
        """
        del on_left
        return False

    async def until_left(self) -> None:
        """Return once the client has left, or once the server reports that the response is complete."""
        return


def cannot_write(data: bytes) -> bool:
    """Return False: the `write` of a client that is sent everything by `send_body`."""
    del data
    return False
