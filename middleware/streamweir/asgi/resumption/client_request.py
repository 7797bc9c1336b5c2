"""The client's side of a request: its body, and whether its client is still there.

While a run goes on without its client, the application is not told that the client has left.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from typing import Final

from streamweir.http.refusals import Refusal
from streamweir.http.sending import Message, Receive

__all__ = ["ClientRequest"]

_BODY_BYTES: Final = 16 << 20
"""So much of a body is kept where a client brings a handle: it is compared before anything is asked."""

_NAMING_BYTES: Final = 1 << 20
"""In so much of a body it is looked for what the client calls its conversation."""


class ClientRequest:
    """Wraps the server's `receive` for all who listen to it at once.

    Attributes:
        left: the client has gone.
        is_kept: the application does not learn of that.

    Args:
        receive: of the server.
        keeps_body: what it says is asked for afterwards.
    """

    def __init__(self, receive: Receive, *, keeps_body: bool = False) -> None:
        self.left: Final = asyncio.Event()
        self.is_kept = False
        self._receive: Final = receive
        self._turn: Final = asyncio.Lock()
        self._waiting: deque[Message] = deque()
        self._taken: Final = asyncio.Event()
        self._digest: Final = hashlib.sha256()
        self._is_whole = False
        self._body: bytearray | None = bytearray() if keeps_body else None

    def take_body(self) -> bytes:
        """Return the body, if it has been read whole and is not too large; it is kept no longer."""
        body, self._body = self._body, None
        return bytes(body) if body is not None and self._is_whole else b""

    @property
    def body_digest(self) -> str:
        """What tells this body from others; empty as long as it has not been read whole."""
        return self._digest.hexdigest()[:32] if self._is_whole else ""

    async def receive(self) -> Message:
        """Return the next message for the application."""
        while not self._waiting:
            if self.left.is_set():
                if self.is_kept:
                    await asyncio.get_running_loop().create_future()  # until the run is over
                return {"type": "http.disconnect"}
            await self._listen()
        self._taken.set()
        return self._waiting.popleft()

    async def read_body(self) -> None:
        """Read the whole body, which the application is given afterwards.

        Raises:
            Refusal: it is too large for that.
        """
        size = 0
        while not self._is_whole and not self.left.is_set():
            await self._listen()
            size += len(self._waiting[-1].get("body", b"")) if self._waiting else 0
            if size > _BODY_BYTES:
                raise Refusal("REQUEST_TOO_LARGE")

    async def watch(self) -> None:
        """Listen until the client has gone, without taking from the application what it has not asked for."""
        while not self.left.is_set():
            if self._waiting and not self._is_whole:
                self._taken.clear()
                await self._taken.wait()
            else:
                await self._listen()

    def _note(self, data: bytes) -> None:
        self._digest.update(data)
        if self._body is not None:
            self._body += data
            if len(self._body) > _NAMING_BYTES:
                self._body = None

    async def _listen(self) -> None:
        """Wait for one message, if no one else is given it meanwhile."""
        known = len(self._waiting)
        async with self._turn:
            if self.left.is_set() or len(self._waiting) > known:
                return
            message = await self._receive()
            if message["type"] == "http.disconnect":
                self.left.set()
                return
            self._note(message.get("body", b""))
            self._is_whole = not message.get("more_body", False)
            self._waiting.append(message)
