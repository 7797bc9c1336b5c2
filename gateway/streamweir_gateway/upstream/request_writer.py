"""Sends a request over a connection, whole or while its body arrives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from .http1 import LAST_CHUNK, chunk
from .request import RequestStream

__all__ = ["RequestWriter"]

_ONE_WRITE: Final = 64 << 10


class RequestWriter:
    """Writes the requests of one connection, one after the other.

    Args:
        transport: the transport of the connection.

    Attributes:
        is_unsent: whether some of the written bytes wait to be sent.
    """

    __slots__ = ("_sent", "_task", "_transport", "is_unsent")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_unsent = False
        self._transport = transport
        self._task: asyncio.Task[None] | None = None  # the rest of a request that is still coming
        self._sent: asyncio.Event | None = None  # set once all that was written has been sent

    def is_over(self) -> bool:
        """Return whether the last request has been sent completely."""
        return not self.is_unsent and self._task is None

    def write(self, head: bytes, body: bytes) -> None:
        """Send a request, or a piece of a request."""
        if len(body) <= _ONE_WRITE:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)

    def send_stream(
        self,
        head: bytes,
        body: bytes,
        stream: RequestStream,
        *,
        has_news: Callable[[], bool],
        abort: Callable[[], None],
    ) -> None:
        """Begin to send a request whose body is still arriving.

        Args:
            head: the request line and headers.
            body: the beginning of the body.
            stream: the rest of the body, read as fast as the upstream takes it.
            has_news: returns whether bytes have arrived that the event loop has not seen yet.
            abort: called if the body breaks off.
        """
        self._task = asyncio.get_running_loop().create_task(self._send(head, body, stream, has_news, abort))

    def stop(self) -> None:
        """Stop sending a request that is not sent yet: its response is here, or the connection is lost."""
        if self._task is not None and not self._task.done():
            self._task.cancel()

    def note_unsent(self) -> None:
        """Note that some of the written bytes wait to be sent."""
        self.is_unsent = True

    def note_sent(self) -> None:
        """Note that all written bytes have been sent."""
        self.is_unsent = False
        if self._sent is not None:
            self._sent.set()

    async def _send(
        self,
        head: bytes,
        body: bytes,
        stream: RequestStream,
        has_news: Callable[[], bool],
        abort: Callable[[], None],
    ) -> None:
        in_chunks = stream.length is None
        try:
            self.write(head, chunk(body) if in_chunks else body)
            while data := await stream.read():
                await self._until_sent()
                if has_news():  # written past a refusal that lies here unread, it would destroy it
                    await asyncio.sleep(0)
                self.write(b"", chunk(data) if in_chunks else data)
            self.write(b"", LAST_CHUNK if in_chunks else b"")
        except Exception:
            abort()  # who waits for the response gets to know of it
        else:
            self._task = None

    async def _until_sent(self) -> None:
        while self.is_unsent:
            self._sent = asyncio.Event()
            await self._sent.wait()
