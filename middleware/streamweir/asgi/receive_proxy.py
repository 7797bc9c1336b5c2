"""The `receive` of an application whose response may be ended by the middleware.

Each message of the server is passed on unchanged when the application asks for it; the middleware itself
never calls the server's `receive`. Once the response is over the application gets `http.disconnect`.

    state      entered by    `receive`
    ────────   ───────────   ──────────────────────────────────────────────────────────────────────────
    open       —             returns the next message of the server
    over       `end`         new calls get `http.disconnect`; calls that already wait go on waiting
    released   `release`     calls that wait get `http.disconnect` too
"""

from __future__ import annotations

from typing import Final

import anyio

from streamweir.http.sending import Message, Receive

__all__ = ["GRACE_SECONDS", "ReceiveProxy"]

GRACE_SECONDS: Final = 0.5
"""The time between the end of the response and `release`.

Frameworks cancel a generator on a disconnect, and many generators save their answer after the last event that
they yield.
"""


class ReceiveProxy:
    """Wraps the `receive` of one request."""

    def __init__(self, receive: Receive) -> None:
        self.is_over = False
        self._receive = receive
        self._released = anyio.Event()
        self._waiting: set[anyio.CancelScope] = set()

    async def receive(self) -> Message:
        """Return the server's next message, or the disconnect."""
        if self.is_over:
            return _disconnect()
        with anyio.CancelScope() as scope:
            self._waiting.add(scope)
            try:
                message = await self._receive()
            finally:
                self._waiting.discard(scope)
            if not self.is_over:
                return message
        await self._released.wait()
        return _disconnect()

    def end(self) -> None:
        """Answer new calls with the disconnect: the response is over."""
        self.is_over = True

    def release(self) -> None:
        """Answer the calls that wait with the disconnect too."""
        self.is_over = True
        self._released.set()
        for scope in tuple(self._waiting):
            scope.cancel()


def _disconnect() -> Message:
    return {"type": "http.disconnect"}
