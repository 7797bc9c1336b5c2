"""The application's `receive` while its response may be ended before it has ended it itself.

Every message of the server goes through, unread and when the application asks for it: a body is never
touched, and nobody but the application listens. Once the response is over it hears `http.disconnect`.
"""

from __future__ import annotations

from typing import Final

import anyio

from streamweir.http.sending import Message, Receive

__all__ = ["GRACE_SECONDS", "ReceiveProxy"]

GRACE_SECONDS: Final = 0.5
"""So long an application that waits for a disconnect is not told that the response is over.

Frameworks cancel a generator when they hear of it, and many a generator saves its answer behind the last
event that it yields.
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
        """The response is over: who asks from here on is told at once, who is waiting by `release`."""
        self.is_over = True

    def release(self) -> None:
        """Tell those that are waiting."""
        self.is_over = True
        self._released.set()
        for scope in tuple(self._waiting):
            scope.cancel()


def _disconnect() -> Message:
    return {"type": "http.disconnect"}
