"""A server on the loopback interface that plays a script, on asyncio and trio alike."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio.abc import SocketAttribute, SocketStream

PATIENCE = 10.0
"""Seconds after which a test has hung."""


class Connection:
    """One request that arrived, and what is done with its connection."""

    def __init__(self, stream: SocketStream) -> None:
        self.stream = stream
        self.method = self.target = ""
        self.headers: dict[str, str] = {}
        self.body = b""

    async def read_request(self) -> None:
        received = b""
        while b"\r\n\r\n" not in received:
            received += await self.stream.receive()
        head, _, self.body = received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = first.split(" ")
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        while len(self.body) < int(self.headers.get("content-length", 0)):
            self.body += await self.stream.receive()

    async def begin(
        self, *headers: str, status: str = "200 OK", content_type: str = "text/event-stream"
    ) -> None:
        """Send the head of an answer whose body ends with the connection."""
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", "Connection: close", *headers]
        await self.stream.send("\r\n".join(lines).encode() + b"\r\n\r\n")

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            await self.stream.send(piece)

    async def until_closed(self) -> None:
        """Wait until the client has closed the connection."""
        try:
            while True:
                await self.stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass


Script = Callable[[Connection], Awaitable[None]]


class Server:
    """What a test wants to know of the server."""

    def __init__(self) -> None:
        self.url = ""
        self.calls: list[Connection] = []
        self.finished = anyio.Event()
        """The script has come to its end."""

    async def until_finished(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self.finished.wait()


@asynccontextmanager
async def serving(script: Script) -> AsyncIterator[Server]:
    """Play `script` on every connection, then close it."""
    server = Server()

    async def handle(stream: SocketStream) -> None:
        async with stream:
            connection = Connection(stream)
            try:
                await connection.read_request()
                server.calls.append(connection)
                await script(connection)
                server.finished.set()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        server.url = f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}/chat"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, handle)
            try:
                with anyio.fail_after(PATIENCE):
                    yield server
            finally:
                tasks.cancel_scope.cancel()
