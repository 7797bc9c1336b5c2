"""Real HTTP on the loopback interface: the gateway on a free port, and a bare client."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp

from patience import PATIENCE, PROMPTLY
from scripted_upstream import Script, upstream
from streams import events_of
from streamweir.codec.dialects import Dialects
from streamweir.testing import check_stream
from streamweir_gateway.app import build_app
from streamweir_gateway.config import GatewayConfig, parse_config
from streamweir_gateway.observability.metrics import make_metrics
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.processes.server import GatewayServer
from streamweir_gateway.runs.live_streams import LiveStreams
from streamweir_gateway.upstream.via import Via


def settled(dialects: Dialects | None = None, /, **file: Any) -> GatewayConfig:
    """The configuration of a file with these keys, which may name these dialects."""
    dialects = Dialects.built_in() if dialects is None else dialects
    return parse_config(json.dumps(file), name="test.yaml", folder=Path(), dialects=dialects, environ={})


def one_endpoint(url: str, **options: Any) -> GatewayConfig:
    """A gateway with `/chat` before `url`, which speaks the old vocabulary."""
    return settled(endpoints={"/chat": {"upstream": url, "speaks": "legacy", **options}})


class Log:
    """Keeps what the gateway tells of finished requests."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self._unread = asyncio.Queue[dict[str, Any]]()

    def info(self, event: str, /, **fields: Any) -> None:
        self._write({"event": event, "level": "info", **fields})

    def warning(self, event: str, /, **fields: Any) -> None:
        self._write({"event": event, "level": "warning", **fields})

    def _write(self, line: dict[str, Any]) -> None:
        self.lines.append(line)
        self._unread.put_nowait(line)

    async def next_line(self) -> dict[str, Any]:
        """The oldest line that this method has not returned yet, once it is written."""
        async with asyncio.timeout(PATIENCE):
            return await self._unread.get()


class Gateway:
    """The gateway on a free port."""

    def __init__(self, address: tuple[str, int], streams: LiveStreams, log: Log) -> None:
        self.address = address
        self.streams = streams
        self.log = log


@asynccontextmanager
async def gateway(
    config: GatewayConfig,
    app: ASGIApp | None = None,
    *,
    port: int = 0,
    via: Via | None = None,
    taps: Sequence[Any] = (),
    send_buffer: int | None = None,
) -> AsyncIterator[Gateway]:
    """Run the gateway, or `app` in its place, under its own server, without main loop and signal handlers.

    `send_buffer` is how many bytes the system takes for a client that does not read; None: its default.
    """
    streams, log = LiveStreams(), Log()
    metrics = make_metrics()
    server = GatewayServer(
        build_app(config, streams=streams, log=log, metrics=metrics, via=via, taps=taps)
        if app is None
        else app,
        streams,
        observer=Observer(log, metrics),
        settings=config.server,
    )
    async with listening(server, port=port, send_buffer=send_buffer) as address:
        yield Gateway(address, streams, log)


@asynccontextmanager
async def listening(
    server: uvicorn.Server, *, port: int = 0, send_buffer: int | None = None
) -> AsyncIterator[tuple[str, int]]:
    """Run a server without its main loop and its signal handlers; yield where it listens.

    At the end of the block its clients leave, and their requests have to end soon.
    """
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    with socket.create_server(("127.0.0.1", port)) as listener:
        if send_buffer is not None:  # connections inherit it
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        await server.startup([listener])
        try:
            yield listener.getsockname()
        finally:
            for socket_server in server.servers:
                socket_server.close()
            for connection in list(server.server_state.connections):
                connection.transport.abort()
            tasks = list(server.server_state.tasks)
            _, late = await asyncio.wait(tasks, timeout=PROMPTLY) if tasks else ((), ())
            for task in late:
                task.cancel()
            await server.lifespan.shutdown()
            assert not late, "a request outlived its client"


class Answer:
    """A response as the client got it."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: list[tuple[str, str]] = []
        self.pieces: list[bytes] = []
        self.times: list[float] = []
        self.is_whole = False

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name), None)

    @property
    def framing(self) -> str:
        kind = (self.header("content-type") or "").partition(";")[0]
        return {"text/event-stream": "sse", "application/x-ndjson": "ndjson"}.get(kind, "json")

    @property
    def events(self) -> list[dict[str, Any]]:
        if self.framing == "ndjson":
            return events_of(self.body)
        lines = self.body.split(b"\n")
        return [json.loads(line[6:]) for line in lines if line.startswith(b"data: ")]

    @property
    def types(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def text(self) -> str:
        return "".join(event["data"]["content"] for event in self.events if event["type"] == "content")

    @property
    def error(self) -> dict[str, Any] | None:
        return next((event["data"] for event in self.events if event["type"] == "error"), None)

    @property
    def end(self) -> dict[str, Any]:
        last = self.events[-1]
        assert last["type"] == "session_end"
        return dict(last["data"])

    def assert_valid(self) -> "Answer":
        """It came whole, and keeps the protocol."""
        assert self.is_whole
        breaches = check_stream(self.body, framing=self.framing, headers=dict(self.headers))
        assert not breaches, breaches
        return self


class Client:
    """One connection to the gateway."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.answer = Answer()
        self._connection = h11.Connection(h11.CLIENT)

    def send(
        self,
        method: str = "POST",
        target: str = "/chat",
        *,
        headers: Sequence[tuple[str, str]] = (),
        body: bytes = b"{}",
    ) -> None:
        """Send a whole request; what is not ASCII in a header goes out as UTF-8."""
        given = [("Host", "gateway"), ("Content-Length", str(len(body))), *headers]
        sent = [(name.encode(), value.encode()) for name, value in given]
        data = self._connection.send(h11.Request(method=method, target=target, headers=sent)) or b""
        data += self._connection.send(h11.Data(data=body)) or b""
        self._connection.send(h11.EndOfMessage())
        self.writer.write(data)

    def announce(self, target: str, length: int, *, headers: Sequence[tuple[str, str]] = ()) -> None:
        """Send the head of a POST whose body has `length` bytes, and none of them."""
        given = [("Host", "gateway"), ("Content-Length", str(length)), *headers]
        sent = [(name.encode(), value.encode()) for name, value in given]
        self.writer.write(
            self._connection.send(h11.Request(method="POST", target=target, headers=sent)) or b""
        )

    def expect(self, method: str) -> None:
        """Let the next answer be one to a request that was written past this client."""
        self._connection.send(h11.Request(method=method, target="/", headers=[("Host", "written")]))
        self._connection.send(h11.EndOfMessage())

    async def event(self) -> Any:
        """The next event of h11."""
        while (event := self._connection.next_event()) is h11.NEED_DATA:
            try:
                self._connection.receive_data(await self.reader.read(65536))
            except ConnectionError:
                return h11.ConnectionClosed()
        return event

    async def step(self) -> bool:
        """Take in the next event; False at the end."""
        try:
            event = await self.event()
        except h11.RemoteProtocolError:
            return False
        match event:
            case h11.Response():
                self.answer.status = event.status_code
                self.answer.headers = [(name.decode(), value.decode()) for name, value in event.headers]
            case h11.Data():
                self.answer.pieces.append(bytes(event.data))
                self.answer.times.append(time.monotonic())
            case h11.EndOfMessage():
                self.answer.is_whole = True
                return False
            case h11.ConnectionClosed():
                return False
        return True

    async def whole(self) -> Answer:
        """Read to the end."""
        async with asyncio.timeout(PATIENCE):
            while await self.step():
                pass
        return self.answer

    async def until(self, text: bytes) -> None:
        """Read until the body holds `text`."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.answer.body:
                assert await self.step(), f"no {text!r} in {self.answer.body!r}"

    def stop_reading(self) -> None:
        """Take nothing more from the socket."""
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.pause_reading()

    def read_on(self) -> None:
        """Take what the socket has again."""
        transport = self.writer.transport
        assert isinstance(transport, asyncio.Transport)
        transport.resume_reading()

    def leave(self) -> None:
        """Close the connection."""
        self.writer.transport.abort()


@asynccontextmanager
async def client(running: Gateway) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_connection(*running.address)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


async def ask(
    running: Gateway,
    method: str = "POST",
    target: str = "/chat",
    *,
    headers: Sequence[tuple[str, str]] = (),
    body: bytes = b"{}",
) -> Answer:
    """Send one request and read its whole answer."""
    async with client(running) as connected:
        connected.send(method, target, headers=headers, body=body)
        return await connected.whole()


async def relayed(
    script: Script | bytes, *, headers: Sequence[tuple[str, str]] = (), **options: Any
) -> Answer:
    """What a client gets of an upstream that plays `script`."""
    async with upstream(script) as server, gateway(one_endpoint(server.url, **options)) as running:
        return await ask(running, headers=headers)
