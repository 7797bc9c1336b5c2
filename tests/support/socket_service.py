"""Services that talk over a WebSocket: by a library, and by hand for what no library sends."""

import asyncio
import base64
import hashlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from websockets.asyncio.server import ServerConnection, serve
from websockets.typing import Subprotocol

from patience import PATIENCE

Handler = Callable[[ServerConnection], Awaitable[None]]
RawHandler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Service:
    """A service on a free port, and what it saw.

    Attributes:
        url: of its WebSocket.
        connections: one for each handshake that was accepted.
        codes: the Close codes that it got (1005: none, 1006: the connection just ended).
    """

    def __init__(self) -> None:
        self.url = ""
        self.connections: list[ServerConnection] = []
        self.codes: asyncio.Queue[int] = asyncio.Queue()

    async def next_code(self) -> int:
        """The code of the next connection that ends."""
        async with asyncio.timeout(PATIENCE):
            return await self.codes.get()


@asynccontextmanager
async def service(
    handler: Handler, *, subprotocols: tuple[str, ...] = (), tls: ssl.SSLContext | None = None
) -> AsyncIterator[Service]:
    """Run `handler` for each connection; messages that it has not read are read once it returns None."""
    found = Service()

    async def handle(connection: ServerConnection) -> None:
        found.connections.append(connection)
        try:
            await handler(connection)
            await connection.wait_closed()
        finally:
            found.codes.put_nowait(connection.close_code or 1006)

    offered = [Subprotocol(name) for name in subprotocols] or None
    choose = (
        (lambda _, names: next((name for name in names if name in subprotocols), None)) if offered else None
    )
    async with serve(
        handle,
        "127.0.0.1",
        0,
        subprotocols=offered,
        select_subprotocol=choose,
        ping_interval=None,
        max_size=None,
        ssl=tls,
    ) as server:
        found.url = f"{'wss' if tls else 'ws'}://127.0.0.1:{server.sockets[0].getsockname()[1]}/chat"
        yield found


@asynccontextmanager
async def raw_service(handler: RawHandler) -> AsyncIterator[str]:
    """Run `handler` for each connection, before any handshake; gives the URL."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handler(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/chat"


async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *headers: str) -> bytes:
    """Answer a handshake as a server has to; return its head."""
    head = await reader.readuntil(b"\r\n\r\n")
    writer.write(switching(head, *headers))
    return head


def switching(head: bytes, *headers: str) -> bytes:
    """The 101 that answers a handshake."""
    key = next(
        line.partition(b":")[2].strip()
        for line in head.split(b"\r\n")
        if line.lower().startswith(b"sec-websocket-key:")
    )
    accept = base64.b64encode(hashlib.sha1(key + GUID, usedforsecurity=False).digest()).decode()
    lines = (
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Accept: {accept}",
        *headers,
    )
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"
