"""The `receive` of a server, shared by the application and by the tasks that wait for the client to leave.

While a run continues without its client, the application is not told that the client has left.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from typing import Final

from streamweir.http.headers import HeaderList, announced_length
from streamweir.http.refusals import Refusal
from streamweir.http.sending import Message, Receive

__all__ = ["ClientRequest"]

_BODY_BYTES: Final = 16 << 20
"""The largest body of a request with a handle; such a body is read before the application is called."""

_NAMING_BYTES: Final = 1 << 20
"""The largest body that is searched for the id of the conversation."""


class ClientRequest:
    """Wraps the `receive` of a server for several tasks. Each body message goes to the application once.

    Attributes:
        left: the client has left.
        is_kept: the run continues without its client: `receive` then waits for ever instead of returning a
            disconnect.

    Args:
        receive: the ASGI `receive` of the server.
        keeps_body: whether `take_body` will be called.
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
        """Return the body and release its memory; empty if the body was not read whole or is too large."""
        body, self._body = self._body, None
        return bytes(body) if body is not None and self._is_whole else b""

    @property
    def body_digest(self) -> str:
        """A digest of the body; empty until the body has been read whole."""
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

    async def read_body(self, headers: HeaderList) -> None:
        """Read the whole body, and keep its messages for the application.

        Args:
            headers: the headers of the request. A body that is too large by its `Content-Length` is not read.

        Raises:
            Refusal: the body is too large.
        """
        size = announced_length(headers)
        if size > _BODY_BYTES:
            raise Refusal("REQUEST_TOO_LARGE")
        size = 0
        while not self._is_whole and not self.left.is_set():
            await self._listen()
            size += len(self._waiting[-1].get("body", b"")) if self._waiting else 0
            if size > _BODY_BYTES:
                raise Refusal("REQUEST_TOO_LARGE")

    async def watch(self) -> None:
        """Return once the client has left. At most one message is read ahead of the application."""
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
        """Wait until another message has arrived, received by this task or by another one."""
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
