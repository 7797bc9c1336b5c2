"""The `receive` of an application whose response may be ended by the middleware.

Each message of the server is passed on unchanged when the application asks for it; the middleware itself
never calls the server's `receive`. Once the stream has ended, the application gets no message until
`release`, so that its work after the end is not cancelled: frameworks cancel a generator on a disconnect, and
servers report a disconnect as soon as the response is complete.

    state      entered by    `receive`
    ────────   ───────────   ──────────────────────────────────────────────────────────────────────────
    open       —             returns the next message of the server
    over       `end`         waits; a message that the server sends meanwhile is dropped
    released   `release`     returns `http.disconnect`, also to calls that already wait
"""

from __future__ import annotations

import time

import anyio

from streamweir.http.sending import Message, Receive

__all__ = ["ReceiveProxy"]


class ReceiveProxy:
    """Wraps the `receive` of one request."""

    def __init__(self, receive: Receive) -> None:
        self.is_over = False
        self._receive = receive
        self._released = anyio.Event()
        self._released_at: float | None = None
        self._waiting: set[anyio.CancelScope] = set()

    @property
    def released_for(self) -> float:
        """The seconds since `release` was first called; 0.0 before."""
        return 0.0 if self._released_at is None else time.monotonic() - self._released_at

    async def receive(self) -> Message:
        """Return the server's next message, or the disconnect."""
        if not self.is_over:
            with anyio.CancelScope() as scope:
                self._waiting.add(scope)
                try:
                    message = await self._receive()
                finally:
                    self._waiting.discard(scope)
                if not self.is_over:
                    return message
        await self._released.wait()
        return {"type": "http.disconnect"}

    def end(self) -> None:
        """Make calls of `receive` wait, because the stream has ended and the application may still work."""
        self.is_over = True

    def release(self) -> None:
        """Return the disconnect to every call of `receive`, including calls that already wait."""
        self.is_over = True
        if self._released_at is None:
            self._released_at = time.monotonic()
        self._released.set()
        for scope in tuple(self._waiting):
            scope.cancel()
