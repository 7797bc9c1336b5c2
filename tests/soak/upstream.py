"""The soak's backend: it holds streams open until the gateway leaves them, and counts those still there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

__all__ = ["Backend", "backend"]

_HEADERS: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_TOKEN: Final = b'data: {"type":"token","content":"%s"}\n\n'
_DONE: Final = b'data: {"type":"done"}\n\n'


class Backend:
    """Plays what the request's body asks for.

    Attributes:
        url: where it listens.
        open: connections whose request has not been left or answered yet.
        served: requests taken so far.
    """

    def __init__(self) -> None:
        self.url = ""
        self.open = 0
        self.served = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection; the gateway's leaving ends it whatever it is doing."""
        while behaviour := await _request(reader):
            self.open += 1
            self.served += 1
            playing = asyncio.create_task(_play(behaviour, writer))
            self._tasks.add(playing)
            try:
                is_over = await _left_or_done(reader, playing)
            finally:
                self.open -= 1
                self._tasks.discard(playing)
            if is_over:
                break
        writer.close()

    async def all_left(self, seconds: float) -> float | None:
        """Wait until nobody is there; return how long it took, None if it took longer than `seconds`."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        while self.open:
            if loop.time() - began > seconds:
                return None
            await asyncio.sleep(0.01)
        return loop.time() - began


@asynccontextmanager
async def backend() -> AsyncIterator[Backend]:
    """Run the backend on a free port."""
    running = Backend()
    listener = await asyncio.start_server(running.take, "127.0.0.1", 0, backlog=4096)
    running.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    try:
        yield running
    finally:
        listener.close()


async def _request(reader: asyncio.StreamReader) -> bytes:
    """Return the body of the next request, which names a behaviour; nothing if there is none."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


async def _left_or_done(reader: asyncio.StreamReader, playing: asyncio.Task[None]) -> bool:
    """Wait for the gateway's leaving (True) or the end of the answer (False)."""
    leaving = asyncio.ensure_future(reader.read(1))
    await asyncio.wait({leaving, playing}, return_when=asyncio.FIRST_COMPLETED)
    for task in (leaving, playing):
        task.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await task
    return not playing.done() or playing.cancelled() or playing.exception() is not None


async def _play(behaviour: bytes, writer: asyncio.StreamWriter) -> None:
    """Answer: whole, in a flood, or in a silence before the headers or after the first event."""
    if behaviour == b"no headers":
        await asyncio.sleep(3600)
    writer.write(_HEADERS + _chunk(_TOKEN % b"Hello"))
    if behaviour == b"silent":
        await asyncio.sleep(3600)
    flood = _chunk(_TOKEN % (b"x" * 1000)) * 16
    while behaviour == b"flood":
        writer.write(flood)
        await writer.drain()
    for _ in range(20):
        writer.write(_chunk(_TOKEN % b"again"))
        await asyncio.sleep(0.01)
    writer.write(_chunk(_DONE) + b"0\r\n\r\n")
    await writer.drain()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
