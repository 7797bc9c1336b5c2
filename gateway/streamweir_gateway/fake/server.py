"""The sockets of a backend: reads requests, and executes the steps of the responses."""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeAlias

from streamweir_gateway.fake.request import BadRequest, Request, read_request
from streamweir_gateway.fake.steps import Break, Pause, Raw, Send, Steps

__all__ = ["Answer", "FakeBackend", "serve_steps"]

Answer: TypeAlias = Callable[[Request], Steps]

_BUFFER: Final = 256 << 10
_RESET: Final = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with a time of 0, so that closing sends a reset (RST)."""


class FakeBackend:
    """A running backend.

    Attributes:
        address: the address at which the backend listens, or refuses connections.
        requests: the number of requests that were read.
        connections: the number of open connections.
        playing: the number of unfinished responses.
        last: the last request.
    """

    def __init__(self, address: tuple[str, int], answer: Answer | None) -> None:
        self.address = address
        self.requests = 0
        self.connections = 0
        self.playing = 0
        self.last: Request | None = None
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base URL of the backend."""
        host, port = self.address
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection in order, until the connection ends."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            if self._answer is not None:
                await self._serve(self._answer, reader, writer)
        except (ConnectionError, BadRequest, asyncio.CancelledError):
            pass  # faults are meant to make clients leave
        finally:
            self.connections -= 1
            self._tasks.discard(task)
            writer.close()

    async def stop(self) -> None:
        """Close all connections."""
        running = tuple(self._tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _serve(
        self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        early = b""
        while (request := await read_request(reader, writer, early)) is not None:
            self.requests += 1
            self.last = request
            self.playing += 1
            try:
                played, early = await _until_left(_play(answer(request), writer), reader)
            finally:
                self.playing -= 1
            if not (played and request.keeps_connection):
                return


async def _until_left(playing: Coroutine[Any, Any, bool], reader: asyncio.StreamReader) -> tuple[bool, bytes]:
    """Execute all steps, unless the client leaves.

    Returns:
        Whether the connection can be reused, and the first byte of the next request if it has arrived.
    """
    play, watch = asyncio.ensure_future(playing), asyncio.ensure_future(_early_byte(reader))
    try:
        await asyncio.wait((play, watch), return_when=asyncio.FIRST_COMPLETED)
        early = watch.result() if watch.done() else b""
        has_left = watch.done() and not early
        return not has_left and await play, early
    finally:
        play.cancel()
        watch.cancel()
        await asyncio.gather(play, watch, return_exceptions=True)


async def _early_byte(reader: asyncio.StreamReader) -> bytes:
    """Wait for the next request and return its first byte; return nothing if the client has left."""
    with suppress(ConnectionError):
        return await reader.read(1)
    return b""


async def _play(steps: Steps, writer: asyncio.StreamWriter) -> bool:
    """Execute `steps`; return False if they end the connection."""
    for step in steps:
        match step:
            case Raw(data) | Send(data):
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(0)  # give a client in this process the time to read, and to leave
            case Pause(seconds):
                await asyncio.sleep(seconds) if seconds < math.inf else await asyncio.Event().wait()
            case Break("reset"):
                _reset(writer)
                return False
            case Break():
                return False
    return True


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()


@asynccontextmanager
async def serve_steps(
    answer: Answer | None, *, host: str = "127.0.0.1", port: int = 0, listens: bool = True
) -> AsyncIterator[FakeBackend]:
    """Run a backend at `host` and `port` (0: any free one).

    Args:
        answer: called with each request; None: connections are closed when they are accepted.
        listens: False: the port is bound but not listened on, so that connections are refused.

    Raises:
        OSError: the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only if the protocol is given; then each write leaves at once.
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind((host, port))
        backend = FakeBackend(taken.getsockname()[:2], answer)
        if not listens:
            yield backend
            return
        server = await asyncio.start_server(backend.serve_connection, sock=taken, limit=_BUFFER)
        try:
            yield backend
        finally:
            server.close()
            await backend.stop()
