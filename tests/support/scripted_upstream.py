"""An upstream that plays a script on a real socket: the server of all tests, on asyncio and trio alike.

    async with upstream(WHOLE) as server:      # bytes: what every connection gets, which is then closed
        ...
    async with upstream(script) as server:     # or a function, which gets the `Call`
        ...
        assert server.call.header("cookie") is None

Nothing stands between a script and the socket: what was sent is in the system's buffers, what was not read is
not read. Faults that have a name are played by the product's own backend: see `faulty_upstreams`.
"""

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import anyio.lowlevel
from anyio.abc import ByteStream, TaskGroup
from anyio.streams.tls import TLSStream

from patience import PATIENCE

READ_SIZE = 65536

SSE = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
CLOSE_DELIMITED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
HELLO = (
    b'data: {"type": "token", "content": "Hel"}\n\n',
    b'data: {"type": "token", "content": "lo"}\n\n',
    b'data: {"type": "done"}\n\n',
)
LAST_CHUNK = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


WHOLE = SSE + b"".join(map(chunk, HELLO)) + LAST_CHUNK
"""A response that says hello and is done."""


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A whole response with a Content-Length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class SocketStream(ByteStream):
    """A connected socket without a buffer of its own."""

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self.socket = connected
        self.is_blocked = False
        """All buffers up to the reader are full."""

    async def receive(self, max_bytes: int = READ_SIZE) -> bytes:
        while True:
            await anyio.wait_readable(self.socket)
            with contextlib.suppress(BlockingIOError):
                if data := self.socket.recv(max_bytes):
                    return data
                raise anyio.EndOfStream

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()
        rest = memoryview(item)
        while rest:
            try:
                rest = rest[self.socket.send(rest) :]
                self.is_blocked = False
            except BlockingIOError:
                self.is_blocked = True
                await anyio.wait_writable(self.socket)

    async def send_eof(self) -> None:
        self.socket.shutdown(socket.SHUT_WR)

    async def aclose(self) -> None:
        """Close it by FIN: what has come and nobody read would make the system send RST."""
        with contextlib.suppress(OSError):
            while self.socket.recv(READ_SIZE):
                pass
        self.socket.close()


class Call:
    """One connection that reached an upstream, and the request on it.

    Attributes:
        headers: of the request, with names in small letters.
        closed: a script has found the connection closed by its client.
        closed_at: when that was, by the monotonic clock.
    """

    def __init__(self, stream: ByteStream, connected: socket.socket) -> None:
        self.method = self.target = ""
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.closed = anyio.Event()
        self.closed_at = 0.0
        self._stream = stream
        self._socket = connected
        self._ahead = bytearray()

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    async def read_request(self) -> None:
        """Read one request to the end of its body, which has a length.

        Raises:
            EndOfStream: the client has closed the connection before.
        """
        head = (await self.read_until(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.rstrip().split("\r\n")
        self.method, self.target, _ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        self.headers = [(name.lower(), value.strip()) for name, _, value in pairs]
        length = int(self.header("content-length") or 0)
        while len(self._ahead) < length:
            self._ahead += await self._stream.receive()
        self.body = self._taken(length)

    async def read_until(self, end: bytes) -> bytes:
        """Read up to `end` and return what has come, `end` included.

        Raises:
            EndOfStream: it has not come.
        """
        while end not in self._ahead:
            self._ahead += await self._stream.receive()
        return self._taken(self._ahead.index(end) + len(end))

    async def read(self) -> bytes:
        """Read what is there, or comes next; nothing once the client has closed the connection."""
        try:
            return self._taken(len(self._ahead)) or await self._stream.receive()
        except (anyio.EndOfStream, ConnectionError, anyio.BrokenResourceError):
            return b""

    def _taken(self, size: int) -> bytes:
        """Take so many bytes of what has been read."""
        taken = bytes(self._ahead[:size])
        del self._ahead[:size]
        return taken

    async def send(self, *pieces: bytes, pause: float = 0.0) -> None:
        """Write `pieces` one by one, with so many seconds after each."""
        for piece in pieces:
            await self._stream.send(piece)
            if pause:
                await anyio.sleep(pause)

    async def begin(
        self, *headers: str, status: str = "200 OK", content_type: str = "text/event-stream"
    ) -> None:
        """Send the head of a response whose body ends with the connection."""
        lines = [f"HTTP/1.1 {status}", f"Content-Type: {content_type}", "Connection: close", *headers]
        await self.send("\r\n".join(lines).encode() + b"\r\n\r\n")

    @property
    def is_blocked(self) -> bool:
        """Sending waits for room; over TLS that is not known."""
        return isinstance(self._stream, SocketStream) and self._stream.is_blocked

    async def until_closed(self) -> None:
        """Wait until the client has closed the connection."""
        while await self.read():
            pass
        self.note_closed()

    def note_closed(self) -> None:
        self.closed_at = time.monotonic()
        self.closed.set()

    def close(self) -> None:
        """Close the connection, whatever the client has sent and sends."""
        self._socket.close()

    def reset(self) -> None:
        """Break the connection with RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


Script = Callable[[Call], Awaitable[None]]


class Upstream:
    """A server that plays a script on every connection.

    Attributes:
        url: its base URL.
        calls: the requests that came, in order.
        connections: how many there were, also those without a request.
        called: the first request has come.
        finished: a script has come to its end.
    """

    def __init__(self, script: Script | bytes, *, reads_request: bool, tls: ssl.SSLContext | None) -> None:
        self.url = ""
        self.port = 0
        self.calls: list[Call] = []
        self.connections = 0
        self.called = anyio.Event()
        self.finished = anyio.Event()
        self._script = script
        self._reads_request = reads_request
        self._tls = tls

    @property
    def call(self) -> Call:
        """The only request that there was."""
        assert len(self.calls) == 1
        return self.calls[0]

    async def until_finished(self) -> None:
        with anyio.fail_after(PATIENCE):
            await self.finished.wait()

    async def serve(self, connected: socket.socket) -> None:
        """Play the script on one connection, and close it."""
        self.connections += 1
        with connected, contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError, ssl.SSLError):
            async with await self._stream_over(connected) as stream:
                call = Call(stream, connected)
                try:
                    await self._answer(call)
                except ConnectionError:
                    call.note_closed()

    async def _stream_over(self, connected: socket.socket) -> ByteStream:
        stream = SocketStream(connected)
        if self._tls is None:
            return stream
        return await TLSStream.wrap(stream, server_side=True, ssl_context=self._tls)

    async def _answer(self, call: Call) -> None:
        if self._reads_request:
            await call.read_request()
        self.calls.append(call)
        self.called.set()
        if isinstance(self._script, bytes):
            await call.send(self._script)
        else:
            await self._script(call)
        self.finished.set()


@asynccontextmanager
async def upstream(
    script: Script | bytes,
    *,
    reads_request: bool = True,
    tls: ssl.SSLContext | None = None,
    port: int = 0,
) -> AsyncIterator[Upstream]:
    """Listen on the loopback interface and play `script` on every connection, which is closed afterwards.

    Args:
        script: what is sent, or a function that is called with each request.
        reads_request: False: the script begins with the connection.
        tls: the context of a server that speaks TLS.
        port: where to listen; 0: at any free port.
    """
    server = Upstream(script, reads_request=reads_request, tls=tls)
    with socket.create_server(("127.0.0.1", port), backlog=4096) as listener:
        listener.setblocking(False)
        server.port = listener.getsockname()[1]
        server.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.port}"
        async with _unwrapped_task_group() as tasks:
            tasks.start_soon(_accept, listener, server, tasks)
            yield server


async def _accept(listener: socket.socket, server: Upstream, tasks: TaskGroup) -> None:
    while True:
        await anyio.wait_readable(listener)
        connected, _ = listener.accept()
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        tasks.start_soon(server.serve, connected)


@asynccontextmanager
async def _unwrapped_task_group() -> AsyncIterator[TaskGroup]:
    """A group of tasks that ends with its block; what fails in either is raised as it is, alone."""
    try:
        async with anyio.create_task_group() as tasks:
            try:
                yield tasks
            finally:
                tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        if len(group.exceptions) > 1:
            raise
        raise group.exceptions[0] from None
