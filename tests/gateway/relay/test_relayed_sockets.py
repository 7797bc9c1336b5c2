"""WebSockets are relayed: the bytes and the ends of both sides, and the handshakes that are accepted."""

import asyncio
import base64
import gc
import json
import os
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Origin, Subprotocol

from loopback import Gateway, ask, client, gateway, settled
from patience import PATIENCE
from scripted_upstream import answer, upstream
from socket_service import Service, accepted, raw_service, service, switching
from streamweir_gateway.connection.exchange import HttpExchange
from streamweir_gateway.connection.protocol import HttpProtocol
from streamweir_gateway.relay.tunnel import Tunnel, TunnelEnd
from streamweir_gateway.upstream.websocket.connection import WebSocketConnection

pytestmark = pytest.mark.anyio

KEY = "a-key-that-is-long"
PAGES = ["http://127.0.0.1:3000", "http://localhost:3000"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def relaying(url: str, **file: Any) -> Any:
    endpoint = {
        "upstream": url.replace("ws://", "http://").removesuffix("/chat"),
        "relay": "all",
        "speaks": "legacy",
    }
    endpoint |= file.pop("endpoint", {})
    return settled(endpoints={"/app/*": endpoint}, **file)


def place(gate: Gateway, path: str = "/app/chat") -> str:
    return f"ws://{gate.address[0]}:{gate.address[1]}{path}"


@asynccontextmanager
async def through(
    handler: Any, *, subprotocols: tuple[str, ...] = (), **file: Any
) -> AsyncIterator[tuple[Gateway, Service]]:
    async with (
        service(handler, subprotocols=subprotocols) as running,
        gateway(relaying(running.url, **file)) as gate,
    ):
        yield gate, running


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def test_messages_of_every_kind_and_size_go_through_in_both_directions() -> None:
    messages: list[str | bytes] = ["", "Läden 店", b"\x00\xff", "x" * 200_000, os.urandom(3_000_000)]
    async with through(echo) as (gate, _):
        async with connect(place(gate, "/app/chat?a=1"), max_size=None) as page:
            for message in messages:
                await page.send(message)
            assert [await page.recv() for _ in messages] == messages
            await page.send(["in ", "pieces"])
            assert await page.recv() == "in pieces"
            await (await page.ping(b"42"))
        line = await gate.log.next_line()
    assert line["websocket"] is True
    assert (line["status"], line["reason"], line["close_code"]) == (101, "done", 1000)
    assert line["bytes_in"] > 3_000_000 < line["bytes_out"]


async def test_compression_and_subprotocol_are_those_of_the_service() -> None:
    async with through(echo, subprotocols=("v2",)) as (gate, running):
        async with connect(place(gate), subprotocols=[Subprotocol("v1"), Subprotocol("v2")]) as page:
            await page.send("x" * 1000)
            assert await page.recv() == "x" * 1000
            assert page.subprotocol == "v2"
            assert page.protocol.extensions
            assert page.response is not None
            assert page.response.headers["X-Request-Id"].startswith("req_")
        request = running.connections[0].request
    assert request is not None
    assert request.headers["X-Forwarded-For"] == "127.0.0.1"
    assert request.headers["Host"] == f"127.0.0.1:{gate.address[1]}"


@pytest.mark.parametrize("code", [1000, 1001, 1008, 1011, 3000, 4401, 4999])
async def test_close_of_the_service_reaches_the_page_with_code_and_reason(code: int) -> None:
    async def refuse(connection: ServerConnection) -> None:
        await connection.send("one")
        await connection.close(code, "weil")

    async with through(refuse) as (gate, _):
        async with connect(place(gate)) as page:
            assert await page.recv() == "one"
            with pytest.raises(ConnectionClosed) as closed:
                await page.recv()
        line = await gate.log.next_line()
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, closed.value.rcvd.reason) == (code, "weil")
    assert (line["close_code"], line["reason"]) == (code, "done")


@pytest.mark.parametrize("code", [1000, 1001, 4000])
async def test_close_of_the_page_reaches_the_service(code: int) -> None:
    async with through(echo) as (gate, running):
        async with connect(place(gate)) as page:
            await page.close(code, "bye")
        assert await running.next_code() == code


async def test_reset_of_either_side_reaches_the_other() -> None:
    async with through(echo) as (gate, running):
        page = await connect(place(gate))
        await page.send("one")
        await page.recv()
        reset(page)
        assert await running.next_code() == 1006
        assert (await gate.log.next_line())["reason"] == "client_gone"

    async def vanish(connection: ServerConnection) -> None:
        await connection.recv()
        reset(connection)

    async with through(vanish) as (gate, _):
        page = await connect(place(gate))
        await page.send("one")
        with pytest.raises(ConnectionClosed):
            await page.recv()
        assert (await gate.log.next_line())["reason"] == "truncated"


def reset(connection: ClientConnection | ServerConnection) -> None:
    connected = connection.transport.get_extra_info("socket")
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.transport.abort()


async def test_end_of_one_side_is_passed_on_and_the_other_may_finish() -> None:
    async def finish(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accepted(reader, writer)
        await reader.read(-1)
        writer.write(b"\x81\x04last")

    async with raw_service(finish) as url, gateway(relaying(url)) as gate:
        reader, writer = await opened(gate)
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(-1), PATIENCE) == b"\x81\x04last"
        assert (await gate.log.next_line())["reason"] == "done"
        writer.close()


async def test_end_of_the_client_before_the_101_is_passed_on_behind_its_bytes() -> None:
    got: asyncio.Queue[bytes] = asyncio.Queue()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.1)
        writer.write(switching(head))
        got.put_nowait(await reader.read(-1))
        await asyncio.sleep(0.4)
        writer.write(b"\x81\x04last")

    async with raw_service(late) as url, gateway(relaying(url)) as gate:
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(handshake() + b"early")
        writer.write_eof()
        assert await asyncio.wait_for(got.get(), PATIENCE) == b"early"
        answered = await asyncio.wait_for(reader.read(-1), PATIENCE)
        assert answered.startswith(b"HTTP/1.1 101 ")
        assert answered.endswith(b"\r\n\r\n\x81\x04last")
        assert (await gate.log.next_line())["reason"] == "done"
        writer.close()


Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def opened(gate: Gateway, early: bytes = b"", *headers: str) -> Streams:
    """A WebSocket by hand, its 101 read."""
    reader, writer = await asyncio.open_connection(*gate.address)
    writer.write(handshake(*headers) + early)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
    assert head.startswith(b"HTTP/1.1 101 "), head
    return reader, writer


def handshake(*headers: str, version: str = "13", key: str = base64.b64encode(bytes(16)).decode()) -> bytes:
    lines = [
        "GET /app/chat HTTP/1.1",
        "Host: 127.0.0.1",
        "Connection: keep-alive, Upgrade",
        "Upgrade: WebSocket",
    ]
    lines += [f"Sec-WebSocket-Key: {key}", f"Sec-WebSocket-Version: {version}", *headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"


@pytest.mark.parametrize("size", [1, 1000, 60_000])
async def test_bytes_before_the_101_reach_the_service_behind_it(size: int) -> None:
    early = bytes(range(256)) * (size // 256) + b"e" * (size % 256)
    got: asyncio.Queue[bytes] = asyncio.Queue()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        await asyncio.sleep(0.1)
        assert not reader._buffer  # type: ignore[attr-defined]
        writer.write(switching(head) + b"\x81\x02hi")
        got.put_nowait(await reader.readexactly(size))

    async with raw_service(late) as url, gateway(relaying(url)) as gate:
        reader, writer = await opened(gate, early)
        assert await asyncio.wait_for(reader.readexactly(4), PATIENCE) == b"\x81\x02hi"
        assert await asyncio.wait_for(got.get(), PATIENCE) == early
        writer.close()


async def test_too_many_bytes_before_the_101_are_400() -> None:
    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await reader.read(-1)

    async with raw_service(never) as url, gateway(relaying(url)) as gate:
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(handshake() + bytes(70_000))
        assert (await asyncio.wait_for(reader.read(-1), PATIENCE)).startswith(b"HTTP/1.1 400 ")
        writer.close()


async def test_connections_of_a_closed_socket_are_freed_without_the_collector() -> None:
    """Cycles would keep the buffers of every page that has left until the collector runs."""
    kinds = (HttpProtocol, HttpExchange, TunnelEnd, Tunnel, WebSocketConnection)

    def alive() -> list[str]:
        return [type(each).__name__ for each in gc.get_objects() if issubclass(type(each), kinds)]

    gc.collect()
    gc.disable()
    try:
        async with through(echo) as (gate, _):
            for _ in range(3):
                async with connect(place(gate)) as page:
                    await page.send("x")
                    assert await page.recv() == "x"
                await gate.log.next_line()
            assert alive() == []
    finally:
        gc.enable()


async def test_handshake_as_second_request_of_a_connection_goes_through() -> None:
    async with through(echo) as (gate, _):
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(
            b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + handshake() + b"\x81\x82\0\0\0\0hi"
        )
        data = b""
        while not data.endswith(b"\x81\x02hi"):
            data += await asyncio.wait_for(reader.read(1000), PATIENCE)
        assert data.count(b"HTTP/1.1 ") == 2
        writer.close()


async def test_refused_handshake_goes_through_and_closes_without_a_next_request() -> None:
    body = answer(b"not here", "X-Why: path", "Set-Cookie: a=1", status="403 Forbidden")
    async with upstream(body) as server, gateway(relaying(server.url + "/chat")) as gate:
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(handshake() + b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        data = await asyncio.wait_for(reader.read(-1), PATIENCE)
        writer.close()
    assert data.startswith(b"HTTP/1.1 403 ")
    assert data.count(b"HTTP/1.1 ") == 1
    head = data.partition(b"\r\n\r\n")[0].lower()
    assert {b"x-why: path", b"set-cookie: a=1", b"connection: close"} <= {*head.split(b"\r\n")}
    assert data.endswith(b"not here")


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "302 Found", "304 Not Modified"])
async def test_handshake_answered_without_an_error_gets_that_answer(status: str) -> None:
    body = b"" if status.startswith(("204", "304")) else b"a page"
    page = answer(body, "Location: /login", "Set-Cookie: a=1", status=status)
    async with upstream(page) as server, gateway(relaying(server.url + "/chat")) as gate:
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(handshake())
        data = await asyncio.wait_for(reader.read(-1), PATIENCE)
        writer.close()
    head, _, rest = data.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status[:3].encode())
    assert {b"location: /login", b"set-cookie: a=1", b"connection: close"} <= {*head.lower().split(b"\r\n")}
    assert rest == body


async def test_handshake_answered_with_a_stream_gets_its_bytes_unchanged() -> None:
    body = b'data: {"type": "token", "content": "a"}\n\ndata: {"type": "done"}\n\n'
    stream = answer(body, "Content-Type: text/event-stream")
    async with upstream(stream) as server, gateway(relaying(server.url + "/chat")) as gate:
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(handshake())
        data = await asyncio.wait_for(reader.read(-1), PATIENCE)
        writer.close()
    assert data.partition(b"\r\n\r\n")[2] == body


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: bm8=\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0\r\n\r\n",
    ],
)
async def test_101_that_does_not_answer_the_handshake_is_502(reply: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(relaying(url)) as gate:
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(handshake())
        data = await asyncio.wait_for(reader.read(-1), PATIENCE)
        writer.close()
    assert data.startswith(b"HTTP/1.1 502 ")
    assert b"UPSTREAM_INVALID_RESPONSE" in data


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (handshake(version="8"), 426),
        (handshake(key="c2hvcnQ="), 400),
        (handshake(key="?" * 24), 400),
        (handshake("Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode()), 400),
        (handshake("Content-Length: 5") + b"hello", 400),
    ],
)
async def test_invalid_handshake_is_refused_before_the_service_is_asked(sent: bytes, status: int) -> None:
    async with through(echo) as (gate, running):
        reader, writer = await asyncio.open_connection(*gate.address)
        writer.write(sent)
        data = await asyncio.wait_for(reader.read(-1), PATIENCE)
        writer.close()
        assert data.startswith(f"HTTP/1.1 {status} ".encode())
        assert (b"sec-websocket-version: 13" in data.lower()) == (status == 426)
        assert not running.connections


async def test_handshake_at_an_endpoint_that_translates_is_501() -> None:
    config = settled(endpoints={"/app/chat": {"upstream": "http://127.0.0.1:9", "speaks": "legacy"}})
    async with gateway(config) as gate:
        with pytest.raises(InvalidStatus) as refused:
            await connect(place(gate))
        assert refused.value.response.status_code == 501
        with pytest.raises(InvalidStatus) as refused:
            await connect(place(gate, "/nothing"))
        assert refused.value.response.status_code == 404


async def test_other_upgrades_are_served_as_plain_requests() -> None:
    async with upstream(answer(b"plain")) as server, gateway(relaying(server.url + "/chat")) as gate:
        for headers in ([("Connection", "Upgrade"), ("Upgrade", "h2c")], [("Upgrade", "websocket")]):
            got = await ask(gate, "GET", "/app/x", headers=headers, body=b"")
            assert (got.status, got.body) == (200, b"plain")
        upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
        got = await ask(gate, "POST", "/app/x", headers=upgrade, body=b"{}")
        assert (got.status, got.body) == (200, b"plain")


class TestPages:
    """Handshakes of pages are accepted by their origin, because browsers send no preflight for them."""

    @pytest.mark.parametrize("origin", [*PAGES, None])
    async def test_page_of_this_machine_and_program_get_in(self, origin: str | None) -> None:
        async with through(echo) as (gate, running):
            async with connect(place(gate), origin=None if origin is None else Origin(origin)) as page:
                await page.send("x")
                assert await page.recv() == "x"
            request = running.connections[0].request
            assert request is not None
            assert request.headers.get("Origin") == origin

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example"])
    async def test_foreign_page_is_403_and_the_message_names_the_setting(self, origin: str) -> None:
        async with through(echo) as (gate, running):
            with pytest.raises(InvalidStatus) as refused:
                await connect(place(gate), origin=Origin(origin))
            assert refused.value.response.status_code == 403
            assert b"cors" in (refused.value.response.body or b"")
            assert not running.connections

    async def test_page_of_the_gateways_own_host_gets_in_if_that_is_a_name_of_it(self) -> None:
        for hosts, expected in (([], 403), (["chat.example"], 101)):
            async with through(echo, server={"hosts": hosts}) as (gate, _):
                reader, writer = await asyncio.open_connection(*gate.address)
                sent = handshake("Origin: http://chat.example").replace(
                    b"Host: 127.0.0.1", b"Host: chat.example"
                )
                writer.write(sent)
                head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)
                assert head.startswith(f"HTTP/1.1 {expected} ".encode())
                writer.close()

    async def test_page_of_a_configured_origin_gets_in(self) -> None:
        app = "https://app.example"
        async with (
            through(echo, cors={"origins": [app]}) as (gate, _),
            connect(place(gate), origin=Origin(app)) as page,
        ):
            await page.send("x")
            assert await page.recv() == "x"


def offered(key: str = KEY) -> Subprotocol:
    return Subprotocol("streamweir.key." + base64.urlsafe_b64encode(key.encode()).decode().rstrip("="))


class TestKeys:
    """Keys are read from headers, and for pages from the subprotocols."""

    FILE: Any = {"auth": {"keys": {"page": KEY, "other": "another-key-that-is-long"}}}  # noqa: RUF012

    async def test_key_among_the_subprotocols_counts_and_is_not_sent_to_the_service(self) -> None:
        for theirs in ([], [Subprotocol("v2")]):
            async with through(echo, subprotocols=("v2",), **self.FILE) as (gate, running):
                names = [Subprotocol("streamweir"), offered(), *theirs]
                async with connect(
                    place(gate), subprotocols=names, origin=Origin("https://any.example")
                ) as page:
                    await page.send("x")
                    assert await page.recv() == "x"
                    assert page.subprotocol == (theirs[0] if theirs else "streamweir")
                line = await gate.log.next_line()
                request = running.connections[0].request
            assert request is not None
            assert request.headers.get("Sec-WebSocket-Protocol") == (theirs[0] if theirs else None)
            assert line["key"] == "page"
            assert KEY not in json.dumps(line, default=str)
            assert offered() not in json.dumps(line, default=str)

    async def test_key_in_a_header_counts_before_it(self) -> None:
        async with through(echo, **self.FILE) as (gate, running):
            headers = {"Authorization": f"Bearer {KEY}"}
            names = [Subprotocol("streamweir"), offered("another-key-that-is-long")]
            async with connect(place(gate), subprotocols=names, additional_headers=headers) as page:
                await page.send("x")
                await page.recv()
            assert (await gate.log.next_line())["key"] == "page"
            request = running.connections[0].request
            assert request is not None
            assert "Authorization" not in request.headers

    @pytest.mark.parametrize(
        ("names", "status"),
        [
            ([], 401),
            ([Subprotocol("v2")], 401),
            ([offered("a-wrong-key-that-is-long")], 401),
            ([Subprotocol("streamweir.key.")], 401),
            ([Subprotocol("streamweir.key.~~~")], 401),
            ([offered(), offered("another-key-that-is-long")], 400),
        ],
    )
    async def test_missing_or_wrong_key_is_refused(self, names: list[Subprotocol], status: int) -> None:
        async with through(echo, **self.FILE) as (gate, running):
            with pytest.raises(InvalidStatus) as refused:
                await connect(place(gate), subprotocols=names or None)
            assert refused.value.response.status_code == status
            assert not running.connections


class TestClocks:
    """Clocks, drains and slow clients end a relayed WebSocket."""

    async def test_total_and_idle_end_it_with_1001_between_frames(self) -> None:
        total, idle = {"total": "1500ms", "idle": "1s"}, {"idle": "300ms"}
        for clocks, reason in ((total, "total_timeout"), (idle, "idle_timeout")):
            timeouts = {"first_event": "1s", "connect": "1s", **clocks}
            async with through(echo, endpoint={"timeouts": timeouts}) as (gate, running):
                async with connect(place(gate)) as page:
                    with pytest.raises(ConnectionClosed) as closed:
                        await talk(page, pause=0.1 if reason == "total_timeout" else 0.5)
                assert closed.value.rcvd is not None
                assert closed.value.rcvd.code == 1001
                assert await running.next_code() == 1001
                assert (await gate.log.next_line())["reason"] == reason

    async def test_service_that_does_not_answer_the_handshake_is_504(self) -> None:
        async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            del writer
            await reader.read(-1)

        timeouts = {"timeouts": {"first_event": "200ms", "connect": "200ms"}}
        async with raw_service(never) as url, gateway(relaying(url, endpoint=timeouts)) as gate:
            with pytest.raises(InvalidStatus) as refused:
                await connect(place(gate))
            assert refused.value.response.status_code == 504

    async def test_drain_takes_no_new_one_and_ends_the_open_ones_with_1012(self) -> None:
        async with through(echo) as (gate, running):
            page = await connect(place(gate))
            await page.send("x")
            await page.recv()
            gate.streams.refuse()
            with pytest.raises(InvalidStatus) as refused:
                await connect(place(gate))
            assert refused.value.response.status_code == 503
            await page.send("y")
            assert await page.recv() == "y"
            gate.streams.drain()
            with pytest.raises(ConnectionClosed) as closed:
                await page.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012
            assert await running.next_code() == 1001
            lines = [line for line in gate.log.lines if line.get("reason") == "draining"]
            assert lines or (await gate.log.next_line())["reason"] == "draining"

    async def test_client_that_does_not_read_stops_the_service_and_is_slow(self) -> None:
        sent = 0

        async def flood(connection: ServerConnection) -> None:
            nonlocal sent
            while True:
                await connection.send(bytes(64 << 10))
                sent += 64 << 10

        timeouts = {"timeouts": {"write": "500ms"}}
        async with through(flood, endpoint=timeouts) as (gate, running):
            reader, writer = await opened(gate)
            transport = writer.transport
            assert isinstance(transport, asyncio.Transport)
            transport.pause_reading()
            assert await running.next_code() in (1001, 1006)
            assert (await gate.log.next_line())["reason"] == "slow_client"
            writer.close()
            del reader
        assert sent < 32 << 20


async def talk(page: ClientConnection, *, pause: float) -> None:
    """Send messages until the connection ends."""
    while True:
        await page.send("x")
        await page.recv()
        await asyncio.sleep(pause)


async def test_ordinary_requests_of_a_websocket_endpoint_are_relayed() -> None:
    async with (
        upstream(answer(b"page", "Content-Type: text/html")) as server,
        gateway(relaying(server.url + "/chat")) as gate,
        client(gate) as connected,
    ):
        connected.send("GET", "/app/index.html", body=b"")
        got = await connected.whole()
    assert (got.status, got.body) == (200, b"page")


@pytest.mark.parametrize("limited", ["upstream", "key"])
async def test_open_socket_counts_as_a_stream_until_it_is_closed(limited: str) -> None:
    async with service(echo) as running:
        base = running.url.replace("ws://", "http://").removesuffix("/chat")
        config = settled(
            upstreams={"old": {"url": base, "max_streams": 1 if limited == "upstream" else 100}},
            endpoints={"/app/*": {"upstream": "old", "relay": "all", "speaks": "legacy"}},
            auth={"keys": {"page": {"key": KEY, **({"max_streams": 1} if limited == "key" else {})}}},
        )
        async with gateway(config) as gate:
            names = [Subprotocol("streamweir"), offered()]
            async with connect(place(gate), subprotocols=names):
                with pytest.raises(InvalidStatus) as refused:
                    await connect(place(gate), subprotocols=names)
                assert refused.value.response.status_code == 503
                assert len(gate.streams) == 1
            while (await gate.log.next_line())["status"] != 101:
                pass
            async with connect(place(gate), subprotocols=names) as page:
                await page.send("x")
                assert await page.recv() == "x"
