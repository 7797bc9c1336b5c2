"""What `transport: httpcore` is there for: HTTP/2 over TLS, and proxies from the environment."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest
import trustme

from loopback import ask, gateway, settled
from patience import PATIENCE
from scripted_upstream import HELLO, Call, answer, upstream
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.failures import (
    InvalidResponse,
    NotConnected,
    Truncated,
    Unreachable,
    UpstreamFailure,
)
from streamweir_gateway.upstream.httpcore_transport import HttpcoreTransport
from streamweir_gateway.upstream.request import Origin, UpstreamRequest

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Servers run on uvloop, whose transports are not quite the standard library's."""
    return "asyncio", {"use_uvloop": request.param}


AUTHORITY = trustme.CA()


class Stream:
    """One request on an HTTP/2 connection."""

    def __init__(self, connection: "Connection", stream_id: int) -> None:
        self.connection = connection
        self.id = stream_id
        self.headers: dict[str, str] = {}
        self.body = b""

    async def head(self, *headers: tuple[str, str], status: str = "200") -> None:
        self.connection.h2.send_headers(self.id, [(":status", status), *headers])
        await self.connection.flush()

    async def data(self, data: bytes, *, end: bool = False) -> None:
        self.connection.h2.send_data(self.id, data, end_stream=end)
        await self.connection.flush()

    async def reset(self) -> None:
        self.connection.h2.reset_stream(self.id)
        await self.connection.flush()


Script = Callable[[Stream], Awaitable[None]]


class Connection:
    """An HTTP/2 server's side of a connection, which plays a script for each request."""

    def __init__(self, server: "Http2Server", call: Call) -> None:
        self.h2 = h2.connection.H2Connection(
            h2.config.H2Configuration(client_side=False, header_encoding="utf-8")
        )
        self.call = call
        self._server = server
        self._streams: dict[int, Stream] = {}

    async def run(self) -> None:
        self.h2.initiate_connection()
        await self.flush()
        try:
            while data := await self.call.read():
                for event in self.h2.receive_data(data):
                    await self._take(event)
                await self.flush()
        except h2.exceptions.ProtocolError:
            pass
        finally:
            self.call.note_closed()

    async def flush(self) -> None:
        await self.call.send(self.h2.data_to_send())

    async def _take(self, event: h2.events.Event) -> None:
        match event:
            case h2.events.RequestReceived():
                stream = self._streams[event.stream_id] = Stream(self, event.stream_id)
                stream.headers = {str(name): str(value) for name, value in event.headers}
            case h2.events.DataReceived():
                self._streams[event.stream_id].body += event.data
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            case h2.events.StreamEnded():
                stream = self._streams[event.stream_id]
                self._server.streams.append(stream)
                await self._server.script(stream)


class Http2Server:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.url = ""
        self.connections: list[Connection] = []
        self.streams: list[Stream] = []


@asynccontextmanager
async def http2_server(script: Script) -> AsyncIterator[Http2Server]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["h2"])
    AUTHORITY.issue_cert("127.0.0.1").configure_cert(context)
    server = Http2Server(script)

    async def handle(call: Call) -> None:
        server.connections.append(Connection(server, call))
        await server.connections[-1].run()

    async with upstream(handle, reads_request=False, tls=context) as listening:
        server.url = listening.url
        yield server


@asynccontextmanager
async def trusting_client() -> AsyncIterator[UpstreamClient]:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    client = UpstreamClient(HttpcoreTransport(context))
    try:
        yield client
    finally:
        await client.aclose()


async def reads_of(client: UpstreamClient, url: str, reads: list[bytes]) -> None:
    request = UpstreamRequest("POST", Origin.of(url), "/chat?a=%20", [("X-Name", "value")], b"{}")
    async with asyncio.timeout(PATIENCE), client.open(request, connect_timeout=5.0) as response:
        assert response.status == 200
        while data := await response.read():
            reads.append(data)


async def outcome(script: Script) -> tuple[bytes, type[UpstreamFailure] | None]:
    reads: list[bytes] = []
    async with http2_server(script) as server, trusting_client() as client:
        try:
            await reads_of(client, server.url, reads)
        except UpstreamFailure as failure:
            return b"".join(reads), type(failure)
    return b"".join(reads), None


async def hello(stream: Stream) -> None:
    await stream.head(("content-type", "text/event-stream"))
    for event in HELLO:
        await stream.data(event)
    await stream.data(b"", end=True)


async def test_http2_upstream_streams() -> None:
    async with http2_server(hello) as server, trusting_client() as client:
        for _ in range(2):
            reads: list[bytes] = []
            await reads_of(client, server.url, reads)
            assert b"".join(reads) == b"".join(HELLO)
        assert len(server.connections) == 2
        stream = server.streams[0]
        assert stream.headers[":path"] == "/chat?a=%20"
        assert stream.headers[":authority"] == server.url.removeprefix("https://")
        assert (stream.headers["x-name"], stream.body) == ("value", b"{}")
        for connection in server.connections:
            await connection.call.closed.wait()


async def test_gateway_reaches_an_http2_upstream(tmp_path: object) -> None:
    ca = f"{tmp_path}/ca.pem"
    AUTHORITY.cert_pem.write_to_path(ca)
    async with http2_server(hello) as server:
        file = {
            "upstreams": {
                "far": {"url": server.url, "speaks": "legacy", "transport": "httpcore", "tls": {"ca": ca}}
            },
            "endpoints": {"/chat": {"upstream": "far"}},
        }
        async with gateway(settled(**file)) as running:
            got = (await ask(running)).assert_valid()
            assert (got.text, got.end["status"]) == ("Hello", "completed")


async def test_leaving_ends_the_connection() -> None:
    async def waiting(stream: Stream) -> None:
        await stream.head()
        await stream.data(b"one")

    async with http2_server(waiting) as server, trusting_client() as client:
        reads: list[bytes] = []
        task = asyncio.create_task(reads_of(client, server.url, reads))
        async with asyncio.timeout(PATIENCE):
            while not reads:  # noqa: ASYNC110 - nothing says when it has come
                await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await server.connections[0].call.closed.wait()


async def test_http2_connection_that_breaks_is_a_failure() -> None:
    async def resets(stream: Stream) -> None:
        await stream.head()
        await stream.data(b"one")
        await asyncio.sleep(0.05)
        await stream.reset()

    async def resets_at_once(stream: Stream) -> None:
        await stream.reset()

    async def hangs_up(stream: Stream) -> None:
        await stream.head()
        await stream.data(b"one")
        await asyncio.sleep(0.05)
        stream.connection.call.close()

    async def goes_away(stream: Stream) -> None:
        stream.connection.h2.close_connection(error_code=11)
        await stream.connection.flush()

    async def talks_nonsense(stream: Stream) -> None:
        await stream.head()
        await stream.connection.call.send(b"\x00\x00\x01\x00\x00\x00\x00\x00\x09x")
        await asyncio.sleep(0.05)

    assert await outcome(resets) == (b"one", Truncated)
    assert await outcome(resets_at_once) == (b"", Unreachable)
    assert await outcome(hangs_up) == (b"one", Truncated)
    assert await outcome(goes_away) == (b"", Unreachable)
    assert (await outcome(talks_nonsense))[1] in (InvalidResponse, Truncated)


# --- proxies ------------------------------------------------------------------------------------------------


class ForwardProxy:
    """A proxy that tunnels, or answers itself where it is asked in the clear."""

    def __init__(self, refusal: bytes = b"") -> None:
        self.url = ""
        self.heads: list[bytes] = []
        self._refusal = refusal

    async def handle(self, call: Call) -> None:
        head = await call.read_until(b"\r\n\r\n")
        self.heads.append(head)
        if self._refusal:
            await call.send(self._refusal)
        elif head.startswith(b"CONNECT "):
            await self._tunnel(head.split()[1].decode(), call)
        else:
            await call.send(answer(b"from the proxy"))

    async def _tunnel(self, to: str, call: Call) -> None:
        host, _, port = to.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        await call.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        back = asyncio.create_task(copied(lambda: reader.read(65536), call.send))
        try:
            await copied(call.read, lambda data: sent(writer, data))
        finally:
            writer.close()
        await back


async def sent(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


async def copied(read: Callable[[], Awaitable[bytes]], send: Callable[[bytes], Awaitable[None]]) -> None:
    with suppress(OSError):
        while data := await read():
            await send(data)


@asynccontextmanager
async def forward_proxy(refusal: bytes = b"") -> AsyncIterator[ForwardProxy]:
    proxy = ForwardProxy(refusal)
    async with upstream(proxy.handle, reads_request=False) as listening:
        proxy.url = listening.url
        yield proxy


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)


async def test_proxy_for_https_is_a_tunnel(monkeypatch: pytest.MonkeyPatch) -> None:
    async with http2_server(hello) as server, forward_proxy() as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//user:secret@"))
        async with trusting_client() as client:
            reads: list[bytes] = []
            await reads_of(client, server.url, reads)
        assert b"".join(reads) == b"".join(HELLO)
        assert b"Proxy-Authorization: Basic dXNlcjpzZWNyZXQ=" in proxy.heads[0]
        assert b"X-Name" not in proxy.heads[0]


async def test_proxy_for_http_gets_the_whole_url(monkeypatch: pytest.MonkeyPatch) -> None:
    async with forward_proxy() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.removeprefix("http://"))
        async with trusting_client() as client:
            reads: list[bytes] = []
            await reads_of(client, "http://far.example", reads)
        assert reads == [b"from the proxy"]
        assert proxy.heads[0].startswith(b"POST http://far.example/chat?a=%20 HTTP/1.1\r\n")


async def test_host_in_no_proxy_is_reached_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    async with upstream(answer(b"direct")) as server, forward_proxy() as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        async with trusting_client() as client:
            reads: list[bytes] = []
            await reads_of(client, server.url, reads)
        assert (reads, proxy.heads) == ([b"direct"], [])


async def test_proxy_that_refuses_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = answer(b"", status="407 Proxy Authentication Required")
    async with forward_proxy(refusal) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        async with trusting_client() as client:
            with pytest.raises(NotConnected):
                await reads_of(client, "https://far.example", [])


async def test_own_transport_uses_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with upstream(answer(b"direct")) as server:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        client = UpstreamClient()
        reads: list[bytes] = []
        await reads_of(client, server.url, reads)
        await client.aclose()
        assert reads == [b"direct"]
