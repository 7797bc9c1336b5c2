"""The response to the client: one writer for events and heartbeats.

Source: the standard protocol 1.1, sections 2 (when headers leave) and 4.
"""

from __future__ import annotations

import time
from typing import Final

from starlette.types import Send

from streamweir.http.fair_lock import FairLock
from streamweir.http.headers import Headers
from streamweir.translation.clock import StreamClock
from streamweir_gateway.connection.client_connection import ClientConnection

__all__ = ["ClientGone", "ResponseWriter"]

PIECE_BYTES: Final = 1 << 18
"""More than this is not handed over at once: a server takes any piece, and waits only before the next one."""


class ClientGone(Exception):
    """Writing failed: nobody is there to read."""


class ResponseWriter:
    """Sends one response piece by piece; the headers leave with the first piece.

    Attributes:
        status: the status, to be settled before the first piece.
        headers: likewise.
        bytes: of the body, sent so far.
        is_started: the headers have left, or are about to.
        discards: there is nobody to write to; nothing is sent any longer.

    Args:
        send: takes the response.
        clock: of the client's side; what is written is noted in it.
        connection: the client's.
    """

    __slots__ = (
        "_clock",
        "_connection",
        "_lock",
        "_send",
        "bytes",
        "discards",
        "headers",
        "is_started",
        "status",
    )

    def __init__(self, send: Send, clock: StreamClock, connection: ClientConnection) -> None:
        self.status = 200
        self.headers: Headers = []
        self.bytes = 0
        self.is_started = False
        self.discards = False
        self._send = send
        self._clock = clock
        self._connection = connection
        self._lock = FairLock()

    @property
    def is_complete(self) -> bool:
        """The body has ended and the server has taken all of it."""
        return self._clock.is_closed and self._clock.writing_since is None

    def write_at_once(self, data: bytes, now: float) -> bool:
        """Send `data` without waiting; False where that is impossible, and nothing has been sent.

        Args:
            data: not empty, not the first piece.
            now: `time.monotonic()`.
        """
        if self.discards:
            return True
        if self._lock.is_taken or not self._connection.write(data):
            return False
        self._clock.last_write = now
        self.bytes += len(data)
        return True

    async def write(self, data: bytes) -> None:
        """Send `data`; nothing happens where it is empty.

        Raises:
            ClientGone: the server says so.
        """
        if data and not self.discards:
            async with self._lock:
                await self._write(data, more=True)

    async def begin(self) -> None:
        """Let the headers leave, unless they have.

        Raises:
            ClientGone: the server says so.
        """
        async with self._lock:
            if not self.is_started and not self.discards:
                await self._write(b"", more=True)

    async def finish(self, data: bytes) -> None:
        """Send the last piece and end the body.

        Raises:
            ClientGone: the server says so.
        """
        async with self._lock:
            self._clock.is_closed = True
            last = max(0, (len(data) - 1) // PIECE_BYTES * PIECE_BYTES)
            for start in range(0, last, PIECE_BYTES):
                await self._write(data[start : start + PIECE_BYTES], more=True)
            if not self.discards:
                await self._write(data[last:], more=False)

    async def heartbeat(self, data: bytes) -> None:
        """Send `data` if nothing else is being sent and the body has not ended.

        Raises:
            ClientGone: the server says so.
        """
        if data and not self._clock.is_closed and not self.discards and not self._lock.is_taken:
            async with self._lock:
                await self._write(data, more=True)

    async def _write(self, data: bytes, *, more: bool) -> None:
        self._clock.writing_since = time.monotonic()
        try:
            if self.is_started:
                await self._send({"type": "http.response.body", "body": data, "more_body": more})
            else:
                await self._begin(data, more=more)
        except OSError as error:
            raise ClientGone from error
        finally:
            self._clock.last_write = time.monotonic()
            self._clock.writing_since = None
        self.bytes += len(data)

    async def _begin(self, data: bytes, *, more: bool) -> None:
        """Let the headers and the first piece leave together: a packet for each would cost twice as much."""
        self.is_started = True
        self._connection.cork(True)
        try:
            await self._send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            await self._send({"type": "http.response.body", "body": data, "more_body": more})
        finally:
            self._connection.cork(False)
