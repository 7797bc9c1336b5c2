"""Connections that are kept between requests, and upstreams that close them at that very moment."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest

from patience import PATIENCE
from scripted_upstream import Call, Script, Upstream, answer, upstream
from streamweir_gateway.upstream import connection_pool
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.failures import NotSent, Unreachable, UpstreamFailure
from streamweir_gateway.upstream.header_fields import header_fields
from streamweir_gateway.upstream.request import Origin, UpstreamRequest

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Servers run on uvloop, whose transports are not quite the standard library's."""
    return "asyncio", {"use_uvloop": request.param}


async def asked(client: UpstreamClient, url: str, body: bytes = b"{}") -> bytes:
    request = UpstreamRequest("POST", Origin.of(url), "/", [], body)
    async with (
        asyncio.timeout(PATIENCE),
        client.open(request, connect_timeout=PATIENCE) as response,
    ):
        got = await response.read()
        while more := await response.read():
            got += more
    return got


# --- an upstream that closes idle connections after a while -------------------------------------------------


class Closing(asyncio.Protocol):
    """Answers each request, and closes the connection when it has been idle for `age` seconds."""

    def __init__(self, runs: Counter[bytes], age: float, *headers: str) -> None:
        self._runs = runs
        self._age = age
        self._answer = answer(b"ok", *headers)
        self._received = b""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self.connection_lost(None)
        self._received += data
        head, _, body = self._received.partition(b"\r\n\r\n")
        if len(body) == int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0] or b"0") > 0:
            self._runs[body] += 1
            self._received = b""
            self._transport.write(self._answer)
        self._timer = asyncio.get_running_loop().call_later(self._age, self._transport.close)

    def connection_lost(self, _error: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()


@contextmanager
def closing_after(age: float, runs: Counter[bytes], *headers: str) -> Iterator[str]:
    """Run such a server in a thread of its own, so that it closes while the client is busy; yield its URL."""
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()

    async def serve() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        server = await loop.create_server(lambda: Closing(runs, age, *headers), "127.0.0.1", 0, backlog=4096)
        started.set_result((loop, stop, server.sockets[0].getsockname()[1]))
        await stop.wait()
        server.close()

    with ThreadPoolExecutor(1) as thread:
        serving = thread.submit(asyncio.run, serve())
        loop, stop, port = started.result(PATIENCE)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            loop.call_soon_threadsafe(stop.set)
            serving.result(PATIENCE)


@pytest.mark.parametrize("anyio_backend", [("asyncio", {"use_uvloop": True})], ids=["uvloop"])
async def test_request_on_an_aging_connection_is_sent_exactly_once() -> None:
    clients, rounds, age = 400, 10, 1.0
    runs, lost = Counter[bytes](), list[UpstreamFailure]()

    async def visit(number: int) -> None:
        for turn in range(rounds):
            try:
                assert await asked(client, url, b"%d.%d" % (number, turn)) == b"ok"
            except UpstreamFailure as failure:
                lost.append(failure)
            await asyncio.sleep(age * chance.uniform(0.95, 1.01))

    chance, client = random.Random(1), UpstreamClient()
    with closing_after(age, runs, f"Keep-Alive: timeout={age:.0f}") as url:
        await asyncio.gather(*map(visit, range(clients)))
        await client.aclose()
    assert not lost
    assert (len(runs), runs.total()) == (clients * rounds, clients * rounds)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (b"timeout=2", 2.0),
        (b"max=100, Timeout = 3", 3.0),
        (b'timeout="1"', 1.0),
        (b"timeout=0", 0.0),
        (b"timeout=999999999999", 4.0),
        (b"timeout=-1", 4.0),
        (b"max=5", 4.0),
        (b"", 4.0),
    ],
)
async def test_promised_keep_alive_time_is_read_from_the_header(header: bytes, seconds: float) -> None:
    assert min(4.0, header_fields([(b"Keep-Alive", header)]).keep_alive) == seconds


def one_after_another(response: bytes) -> Script:
    async def script(call: Call) -> None:
        while True:
            await call.send(response)
            await call.read_request()

    return script


async def connections_after(pause: float, response: bytes) -> int:
    async with upstream(one_after_another(response)) as server:
        client = UpstreamClient()
        await asked(client, server.url)
        await asyncio.sleep(pause)
        await asked(client, server.url)
        await client.aclose()
        return server.connections


async def test_connection_is_dropped_before_its_announced_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "KEEP_ALIVE_SECONDS", 2.0)
    assert await connections_after(0.1, answer(b"a")) == 1
    assert await connections_after(1.95, answer(b"a")) == 2
    assert await connections_after(0.05, answer(b"a", "Keep-Alive: timeout=0")) == 2


async def test_idle_time_after_which_an_upstream_closed_is_remembered() -> None:
    async def closing(call: Call) -> None:
        await call.send(answer(b"a"))
        with suppress(TimeoutError):
            async with asyncio.timeout(2):
                await call.read_request()
                await call.send(answer(b"b"))

    async def pause_of(seconds: float) -> int:
        await asked(client, server.url)
        await asyncio.sleep(seconds)
        return server.connections

    async with upstream(closing) as server:
        client = UpstreamClient()
        assert await pause_of(3) == 1
        assert await pause_of(1.8) == 2  # long enough to be in danger
        assert await pause_of(0.0) == 3
        assert await pause_of(0.0) == 3
        await client.aclose()


# --- a request that cannot be written -----------------------------------------------------------------------


LARGE = bytes(32 << 20)


def refusing_the_second(server: list[Upstream]) -> Script:
    """Closes its first connection while a second request is being written to it."""

    async def script(call: Call) -> None:
        await call.send(answer(b"a"))
        if server[0].connections == 1:
            await call.read()
            call.reset()

    return script


async def test_request_not_written_whole_is_sent_again() -> None:
    servers: list[Upstream] = []
    async with upstream(refusing_the_second(servers)) as server:
        servers.append(server)
        client = UpstreamClient()
        assert await asked(client, server.url) == b"a"
        assert await asked(client, server.url, LARGE) == b"a"
        await client.aclose()
        assert [len(call.body) for call in server.calls] == [2, len(LARGE)]


async def test_fresh_connection_that_ends_is_not_retried() -> None:
    async def script(call: Call) -> None:
        await call.read()
        call.reset()

    async with upstream(script, reads_request=False) as server:
        client = UpstreamClient()
        with pytest.raises(NotSent):
            await asked(client, server.url, LARGE)
        await client.aclose()
        assert server.connections == 1


async def test_request_written_whole_is_not_sent_again() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(b"a"))
        await call.read_request()
        call.reset()

    async with upstream(script) as server:
        client = UpstreamClient()
        assert await asked(client, server.url) == b"a"
        with pytest.raises(Unreachable) as caught:
            await asked(client, server.url)
        assert not isinstance(caught.value, NotSent)
        await client.aclose()
        assert server.connections == 1


@pytest.mark.parametrize(("status", "connections"), [("200 OK", 1), ("404 Not Found", 1), ("500 Oh", 2)])
async def test_connection_after_a_server_error_is_closed(status: str, connections: int) -> None:
    """Which closes it without announcing that, if it is uvicorn and its application has raised."""

    async def script(call: Call) -> None:
        await call.send(answer(b"x", status=status))
        while await call.read():
            await call.send(answer(b"x", status=status))

    async with upstream(script) as server:
        client = UpstreamClient()
        for _ in range(2):
            assert await asked(client, server.url) == b"x"
        await client.aclose()
    assert server.connections == connections
