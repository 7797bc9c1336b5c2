"""The response to the client: one writer for events and heartbeats.

Source: the standard protocol 1.1, sections 2 (when headers leave) and 4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from starlette.types import Scope, Send

__all__ = ["CONNECTION_EXTENSION", "ClientGone", "Connection", "Headers", "ResponseWriter"]

Headers: TypeAlias = list[tuple[bytes, bytes]]

CONNECTION_EXTENSION: Final = "streamweir.connection"
"""Where a server that can do it puts a `Connection` into `scope["extensions"]`."""


class ClientGone(Exception):  # noqa: N818 - it is no fault
    """Writing failed: nobody is there to read."""


class Connection:
    """What a server lets one do with the client's connection beyond ASGI. By itself: nothing.

    Args:
        unsent: how many bytes are still waiting to be taken by the client's side.
        abort: close at once, without waiting for what is unsent.
    """

    def __init__(
        self, unsent: Callable[[], int | None] = lambda: None, abort: Callable[[], None] = lambda: None
    ) -> None:
        self.unsent = unsent
        self.abort = abort

    @classmethod
    def of(cls, scope: Scope) -> Connection:
        """Return the connection that a request came on."""
        given = scope.get("extensions", {}).get(CONNECTION_EXTENSION)
        return given if isinstance(given, cls) else cls()


class ResponseWriter:
    """Sends one response piece by piece; the headers leave with the first piece.

    Attributes:
        status: the status, to be settled before the first piece.
        headers: likewise.
        writing_since: when the send under way began; None while there is none.
        last_write: when the last piece had been taken, or the beginning.
        bytes: of the body, sent so far.
        finished: the body has ended.
    """

    def __init__(self, send: Send, headers: Headers) -> None:
        self.status = 200
        self.headers = headers
        self.bytes = 0
        self.is_started = False
        self.finished = False
        self.writing_since: float | None = None
        self._send = send
        self._time = asyncio.get_running_loop().time
        self._beat: asyncio.Event | None = None  # a heartbeat is being sent; a lock would cost every write
        self.last_write = self._time()

    @property
    def is_complete(self) -> bool:
        """The body has ended and the server has taken all of it."""
        return self.finished and self.writing_since is None

    async def write(self, data: bytes) -> None:
        """Send `data`; nothing happens where it is empty.

        Raises:
            ClientGone: the server says so.
        """
        if data:
            while self._beat is not None:
                await self._beat.wait()
            await self._write(data, more=True)

    async def finish(self, data: bytes) -> None:
        """Send the last piece and end the body.

        Raises:
            ClientGone: the server says so.
        """
        while self._beat is not None:
            await self._beat.wait()
        self.finished = True
        await self._write(data, more=False)

    async def heartbeat(self, data: bytes) -> None:
        """Send `data` if nothing else is being sent and the body has not ended.

        Raises:
            ClientGone: the server says so.
        """
        if not data or self.finished or self.writing_since is not None:
            return
        self._beat = asyncio.Event()
        try:
            await self._write(data, more=True)
        finally:
            self._beat.set()
            self._beat = None

    async def _write(self, data: bytes, *, more: bool) -> None:
        self.writing_since = self._time()
        try:
            if not self.is_started:
                self.is_started = True
                await self._send(
                    {"type": "http.response.start", "status": self.status, "headers": self.headers}
                )
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
        except OSError as error:
            raise ClientGone from error
        finally:
            self.last_write = self._time()
            self.writing_since = None
        self.bytes += len(data)
