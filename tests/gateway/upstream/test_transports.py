"""Broken and odd HTTP, below the gateway: what each transport makes of it, byte for byte."""

import asyncio
import gzip
import socket
import tracemalloc
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

import pytest

from loopback import ask, gateway, one_endpoint
from patience import PATIENCE, let_loop_run
from scripted_upstream import (
    CLOSE_DELIMITED,
    HELLO,
    LAST_CHUNK,
    SSE,
    Call,
    Script,
    Upstream,
    answer,
    chunk,
    upstream,
)
from streamweir_gateway.upstream import connection_pool, lingering
from streamweir_gateway.upstream.client import UpstreamClient
from streamweir_gateway.upstream.dialing import Address
from streamweir_gateway.upstream.failures import (
    ConnectTimedOut,
    InvalidResponse,
    NotConnected,
    Truncated,
    Unreachable,
    UpstreamFailure,
)
from streamweir_gateway.upstream.http1 import HEADER_BYTES
from streamweir_gateway.upstream.http1_transport import Http1Transport
from streamweir_gateway.upstream.httpcore_transport import HttpcoreTransport
from streamweir_gateway.upstream.request import Origin, UpstreamRequest
from streamweir_gateway.upstream.response import UpstreamResponse
from streamweir_gateway.upstream.transport import Transport

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    """Servers run on uvloop, whose transports are not quite the standard library's."""
    return "asyncio", {"use_uvloop": request.param}


TRANSPORTS: dict[str, Callable[[], Transport]] = {"auto": Http1Transport, "httpcore": HttpcoreTransport}
both = pytest.mark.parametrize("transport", TRANSPORTS)


@asynccontextmanager
async def opened(
    server: Upstream | str,
    transport: str = "auto",
    *,
    method: str = "POST",
    body: bytes = b"{}",
    client: UpstreamClient | None = None,
    connect_timeout: float | None = 5.0,
) -> AsyncIterator[UpstreamResponse]:
    url = server if isinstance(server, str) else server.url
    asking = client or UpstreamClient(TRANSPORTS[transport]())
    request = UpstreamRequest(method, Origin.of(url), "/chat?a=%20b", [("X-Name", "caf\xe9")], body)
    try:
        async with (
            asyncio.timeout(PATIENCE),
            asking.open(request, connect_timeout=connect_timeout) as response,
        ):
            yield response
    finally:
        if client is None:
            await asking.aclose()


class Got:
    """What came of a response."""

    def __init__(self) -> None:
        self.status = 0
        self.reads: list[bytes] = []
        self.failure: type[UpstreamFailure] | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self.reads)


async def got_of(script: Script | bytes, transport: str = "auto", *, method: str = "POST") -> Got:
    got = Got()
    async with upstream(script) as server:
        try:
            async with opened(server, transport, method=method) as response:
                got.status = response.status
                while data := await response.read():
                    got.reads.append(data)
        except UpstreamFailure as failure:
            got.failure = type(failure)
    return got


# --- whole responses ----------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "response",
    [
        SSE + chunk(b"one") + chunk(b"two") + LAST_CHUNK,
        SSE + b"003;a=b\r\none\r\n3\r\ntwo\r\n0\r\nX-Trailer: x\r\n\r\n",
        CLOSE_DELIMITED + b"onetwo",
        answer(b"onetwo"),
        b"HTTP/1.0 200 OK\r\n\r\nonetwo",
        b"HTTP/1.1 200\r\nContent-Length: 6\r\n\r\nonetwo",
        b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + answer(b"onetwo"),
    ],
)
async def test_transport_returns_a_whole_response(response: bytes, transport: str) -> None:
    async def by_the_byte(call: Call) -> None:
        await call.send(*(response[index : index + 1] for index in range(len(response))))

    for script in (response, by_the_byte):
        got = await got_of(script, transport)
        assert (got.status, got.body, got.failure) == (200, b"onetwo", None)


@pytest.mark.parametrize(
    "response",
    [
        b"HTTP/1.1 200 OK\nContent-Length: 6\n\nonetwo",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6 \r\nonetwo\r\n0\r\n\r\n",
        b"HTTP/1.1 103 Hints\r\nConnection: close\r\n\r\n" + answer(b"onetwo"),
        b"HTTP/1.1 200 OK\r\nX-Odd: a\x01b\r\nContent-Length: 6\r\n\r\nonetwo",
        answer(b"onetwo") + b"surplus",
        answer(b"onetwo") + answer(b"nobody asked"),
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nonetwo\r\n\r\n",
    ],
)
async def test_transport_accepts_lenient_responses(response: bytes) -> None:
    got = await got_of(response)
    assert (got.status, got.body, got.failure) == (200, b"onetwo", None)


@pytest.mark.parametrize("coding", ["gzip, chunked", "gzip,\tChunked"])
async def test_transport_decodes_a_transfer_coding(coding: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n".encode()
    got = await got_of(head + chunk(gzip.compress(b"onetwo")) + LAST_CHUNK)
    assert (got.body, got.failure) == (b"onetwo", None)


@both
@pytest.mark.parametrize(
    ("method", "response"),
    [
        ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n"),
        ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_response_without_a_body_is_complete(method: str, response: bytes, transport: str) -> None:
    async def kept_open(call: Call) -> None:
        await call.send(response)
        await call.until_closed()

    got = await got_of(kept_open, transport, method=method)
    assert (got.body, got.failure) == (b"", None)


@both
async def test_transport_writes_the_request(transport: str) -> None:
    async with upstream(answer(b"")) as server:
        async with opened(server, transport, body=b"\x00\xff") as response:
            assert await response.read() == b""
        call = server.call
        assert (call.method, call.target, call.body) == ("POST", "/chat?a=%20b", b"\x00\xff")
        assert call.header("host") == server.url.removeprefix("http://")
        assert [value for name, value in call.headers if name == "content-length"] == ["2"]
        assert call.header("x-name") == "caf\xe9"
        assert {name for name, _ in call.headers} <= {"host", "x-name", "content-length"}


@pytest.mark.parametrize("value", ["a\r\nX-Evil: b", "a\nb", "a\0b"])
async def test_transport_refuses_a_header_with_a_line_end(value: str) -> None:
    async with upstream(answer(b"")) as server:
        client = UpstreamClient()
        request = UpstreamRequest("POST", Origin.of(server.url), "/", [("X-Name", value)], b"")
        with pytest.raises(ValueError, match="headers"):
            async with client.open(request, connect_timeout=1):
                pass
        assert server.connections == 0


@pytest.mark.parametrize("target", ["/a b", "/a HTTP/1.1\r\nX: y", ""])
async def test_transport_refuses_a_target_with_a_line_end(target: str) -> None:
    request = UpstreamRequest("POST", Origin.of("http://127.0.0.1:9"), target, [], b"")
    with pytest.raises(ValueError, match="request"):
        async with UpstreamClient().open(request, connect_timeout=1):
            pass


async def test_headers_that_frame_are_ours_alone() -> None:
    async with upstream(answer(b"")) as server:
        headers = [("Transfer-Encoding", "chunked"), ("content-length", "7"), ("Expect", "100-continue")]
        request = UpstreamRequest("POST", Origin.of(server.url), "/", [*headers, ("Host", "evil")], b"{}")
        client = UpstreamClient()
        async with client.open(request, connect_timeout=5) as response:
            assert response.status == 200
        await client.aclose()
        assert server.call.headers == [
            ("host", server.url.removeprefix("http://")),
            ("content-length", "2"),
        ]


# --- no response --------------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    "junk",
    [
        b"\r\n\r\nhello\r\n\r\n",
        b"<html>hello</html>",
        b"ICY 200 OK\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 099 Low\r\n\r\n",
        b"HTTP/one 200 OK\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 40 + b"\r\n\r\nhello",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100_000,
    ],
)
async def test_transport_given_bytes_that_are_no_http_fails(junk: bytes, transport: str) -> None:
    if transport == "httpcore" and junk[:1] in b"\r<":
        pytest.skip("h11 looks at whole lines: without one, the connection only ended early")
    assert (await got_of(junk, transport)).failure is InvalidResponse


async def test_transport_given_contradicting_lengths_fails() -> None:
    both_said = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + LAST_CHUNK
    assert (await got_of(both_said)).failure is InvalidResponse


def endless(beginning: bytes, piece: bytes) -> Script:
    async def script(call: Call) -> None:
        await call.send(beginning)
        for _ in range(1000):
            await call.send(piece * 1000)
        await call.until_closed()

    return script


@pytest.mark.parametrize(
    ("beginning", "piece"),
    [
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Flood: 1234567890\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x" * 1000),
        (b"HTTP/1.1 200 OK\r\n", b"x" * 1000),
        (b"HTTP/1.1 200 ", b"O" * 1000),
        (SSE + b"1;x=", b"y" * 1000),
        (SSE + b"0\r\n", b"X-Trailer: 1234567890\r\n"),
        (SSE + b"0\r\nX-Trailer: ", b"x" * 1000),
    ],
)
async def test_transport_given_endless_headers_or_framing_fails(beginning: bytes, piece: bytes) -> None:
    tracemalloc.start()
    try:
        got = await got_of(endless(beginning, piece))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert got.failure is InvalidResponse
    assert peak < 8 << 20


@pytest.mark.parametrize("spare", [0, 1])
async def test_transport_with_headers_over_the_limit_fails(spare: int) -> None:
    around = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Long: %b\r\n\r\n"
    length = HEADER_BYTES - len(around) + 2 + 1 - spare
    got = await got_of(around % (b"x" * length) + b"ok")
    assert (got.status, got.failure) == ((200, None) if spare else (0, InvalidResponse))


@both
async def test_transport_to_a_refused_or_unknown_host_fails(transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    for url in (
        f"http://127.0.0.1:{port}",
        "http://does-not-exist.invalid",
        "http://" + "a" * 70 + ".example",
    ):
        with pytest.raises(NotConnected):
            async with opened(url, transport):
                pass


@both
async def test_reset_before_or_after_the_headers_fails(transport: str) -> None:
    async def reset(call: Call) -> None:
        call.reset()

    async def later(call: Call) -> None:
        await call.send(SSE, chunk(b"one"), pause=0.05)
        call.reset()

    assert (await got_of(reset, transport)).failure is Unreachable
    got = await got_of(later, transport)
    assert (got.body, got.failure) == (b"one", Truncated)


@pytest.mark.slow
async def test_silent_address_is_raced_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async def addresses(host: str, port: int) -> list[Address]:
        silent = (socket.AF_INET, full.getsockname())
        return [silent, silent, (socket.AF_INET, ("127.0.0.1", port))]

    monkeypatch.setattr(connection_pool, "resolve", addresses)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = [socket.socket() for _ in range(4)]
        for blocked in waiting:
            blocked.setblocking(False)
            blocked.connect_ex(full.getsockname())
        async with upstream(answer(b"ok")) as server, opened(server) as response:
            assert await response.read() == b"ok"
        with pytest.raises(ConnectTimedOut):
            async with opened(f"http://127.0.0.1:{full.getsockname()[1]}", connect_timeout=0.3):
                pass
        for blocked in waiting:
            blocked.close()


# --- bodies that break --------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize(
    ("ending", "failure"),
    [
        (b"zz\r\n", InvalidResponse),
        (b"-1\r\n", InvalidResponse),
        (b"f" * 30 + b"\r\n", InvalidResponse),
        (b"2\r\nabc\r\n", InvalidResponse),
        (b"5\r\nab", Truncated),
        (b"5", Truncated),
        (b"0\r\n", Truncated),
        (b"", Truncated),
    ],
)
@pytest.mark.parametrize("is_late", [False, True])
async def test_bytes_before_a_fault_are_read(
    ending: bytes, failure: type, transport: str, is_late: bool
) -> None:
    async def script(call: Call) -> None:
        if is_late:
            await call.send(SSE, pause=0.02)
            await call.send(chunk(b"one") + chunk(b"two") + ending)
        else:
            await call.send(SSE + chunk(b"one") + chunk(b"two") + ending)

    got = await got_of(script, transport)
    assert got.body.startswith(b"onetwo")
    assert got.failure is failure


@both
async def test_body_shorter_than_its_length_is_truncated(transport: str) -> None:
    got = await got_of(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonetwo", transport)
    assert (got.body, got.failure) == (b"onetwo", Truncated)


@both
async def test_bytes_before_a_reset_are_read(transport: str) -> None:
    async def script(call: Call) -> None:
        await call.send(SSE + chunk(b"one"))
        call.reset()

    got = await got_of(script, transport)
    assert (got.body, got.failure) == (b"one", Truncated)


async def test_response_before_the_request_was_read_is_returned() -> None:
    async def early(call: Call) -> None:
        await call.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        await asyncio.sleep(0.05)

    body = bytes(32 << 20)
    async with upstream(early, reads_request=False) as server, opened(server, body=body) as response:
        assert response.status == 413
        assert await response.read() == b"no"


# --- connections --------------------------------------------------------------------------------------------


def one_after_another(*responses: bytes) -> Script:
    async def script(call: Call) -> None:
        for response in responses:
            await call.send(response)
            await call.read_request()

    return script


async def connections_of(*responses: bytes, requests: int = 2) -> int:
    async with upstream(one_after_another(*responses)) as server:
        client = UpstreamClient()
        for _ in range(requests):
            async with opened(server, client=client) as response:
                while await response.read():
                    pass
        await client.aclose()
        return server.connections


async def test_connection_after_a_whole_response_is_reused() -> None:
    assert await connections_of(answer(b"a"), SSE + chunk(b"b") + LAST_CHUNK, answer(b"c"), requests=3) == 1


@pytest.mark.parametrize(
    "first",
    [
        answer(b"a", "Connection: close"),
        answer(b"a") + b"surplus",
        answer(b"a") + answer(b"b"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
    ],
)
async def test_connection_after_an_unfinished_response_is_closed(first: bytes) -> None:
    assert await connections_of(first, answer(b"c")) == 2


async def test_bytes_on_an_idle_connection_end_it() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(b"a"))
        await released.wait()
        await call.send(answer(b"smuggled"))
        await call.until_closed()

    released = asyncio.Event()
    async with upstream(script) as server:
        client = UpstreamClient()
        for _ in range(2):
            async with opened(server, client=client) as response:
                assert await response.read() == b"a"
            released.set()
            await server.calls[-1].closed.wait()
        await client.aclose()
        assert server.connections == 2


async def test_connection_closed_while_idle_is_not_used() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(b"a"))

    async with upstream(script) as server:
        client = UpstreamClient()
        for _ in range(20):
            async with opened(server, client=client) as response:
                assert await response.read() == b"a"
        await client.aclose()
        assert server.connections == 20


async def test_request_is_never_sent_twice() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(b"a"))
        await call.read_request()  # and closes without an answer

    async with upstream(script) as server:
        client = UpstreamClient()
        async with opened(server, client=client) as response:
            assert await response.read() == b"a"
        with pytest.raises(Unreachable) as caught:
            async with opened(server, client=client):
                pass
        assert not isinstance(caught.value, NotConnected)
        await client.aclose()
        assert server.connections == 1


async def test_idle_connection_is_closed_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pool, "KEEP_ALIVE_SECONDS", 0.1)

    async def script(call: Call) -> None:
        await call.send(answer(b"a"))
        await call.until_closed()

    async with upstream(script) as server:
        client = UpstreamClient()
        async with opened(server, client=client):
            pass
        async with asyncio.timeout(PATIENCE):
            await server.call.closed.wait()
        await client.aclose()


@both
@pytest.mark.parametrize("beginning", [b"", SSE, SSE + chunk(b"one")])
async def test_leaving_closes_the_connection(beginning: bytes, transport: str) -> None:
    async def script(call: Call) -> None:
        await call.send(beginning)
        await call.until_closed()

    async with upstream(script) as server:
        client = UpstreamClient(TRANSPORTS[transport]())

        async def ask() -> None:
            async with opened(server, client=client) as response:
                while await response.read():
                    pass

        task = asyncio.create_task(ask())
        await server.called.wait()
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()  # some cancel twice
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PATIENCE):
            await server.call.closed.wait()
        await client.aclose()


@both
async def test_closing_the_client_closes_every_connection(transport: str) -> None:
    async def script(call: Call) -> None:
        await call.send(SSE, chunk(b"one"))
        await call.until_closed()

    async with upstream(script) as server:
        client = UpstreamClient(TRANSPORTS[transport]())
        async with opened(server, client=client) as response:
            assert await response.read() == b"one"
            await client.aclose()
            with pytest.raises(UpstreamFailure):
                await response.read()
        async with asyncio.timeout(PATIENCE):
            await server.call.closed.wait()


async def left_at_the_last_event(ending: Script, *, lets_end: bool) -> tuple[int, Call]:
    """Ask twice, leaving each time when one event has come; return how many connections there were."""

    async def script(call: Call) -> None:
        while True:
            await call.send(SSE, chunk(b"last"))
            await ending(call)
            await call.read_request()

    async with upstream(script) as server:
        client = UpstreamClient()
        for _ in range(2):
            async with opened(server, client=client) as response:
                assert (await response.read()).startswith(b"last")
                if lets_end:
                    response.let_end()
            await let_loop_run(0.2)
        call = server.calls[0]
        await client.aclose()
        return server.connections, call


async def ends_later(call: Call) -> None:
    await asyncio.sleep(0.05)
    await call.send(chunk(b"more"), LAST_CHUNK)


@pytest.mark.slow
async def test_response_that_ends_after_its_stream_keeps_the_connection() -> None:
    assert (await left_at_the_last_event(ends_later, lets_end=True))[0] == 1
    assert (await left_at_the_last_event(ends_later, lets_end=False))[0] == 2


@pytest.mark.slow
async def test_finished_stream_waits_for_the_end_of_its_response() -> None:
    async def script(call: Call) -> None:
        while True:
            await call.send(SSE, b"".join(map(chunk, HELLO)))
            await ends_later(call)
            await call.read_request()

    async with upstream(script) as server, gateway(one_endpoint(server.url)) as running:
        for _ in range(2):
            assert (await ask(running)).assert_valid().text == "Hello"
            await let_loop_run(0.3)
        assert server.connections == 1


@pytest.mark.slow
async def test_response_without_an_end_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(call: Call) -> None:
        await call.until_closed()

    async def floods(call: Call) -> None:
        while True:
            await call.send(chunk(bytes(10_000)))

    monkeypatch.setattr(lingering, "SECONDS", 0.1)
    for ending in (never, floods):
        connections, call = await left_at_the_last_event(ending, lets_end=True)
        assert connections == 2
        assert call.closed.is_set()


# --- bounds -------------------------------------------------------------------------------------------------


def sends_until_stuck(piece: bytes, sent: list[int]) -> Script:
    async def script(call: Call) -> None:
        await call.send(SSE)
        while True:
            await call.send(piece)
            sent.append(len(piece))

    return script


@pytest.mark.parametrize("piece", [chunk(b"x" * (1 << 20)), chunk(b"data: {}\n\n") * 100_000])
async def test_unread_response_slows_the_upstream(piece: bytes) -> None:
    sent: list[int] = []
    async with upstream(sends_until_stuck(piece, sent)) as server:
        async with opened(server) as response:
            before = -1
            while before != len(sent):
                before = len(sent)
                await let_loop_run(0.2)
            largest = max([len(await response.read()) for _ in range(50)])
        assert largest <= (64 << 10) + (256 << 10)
        assert sum(sent) < 64 << 20  # what the kernel's buffers take


@pytest.mark.slow
@both
async def test_compressed_bomb_is_returned_in_bounded_pieces(transport: str) -> None:
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    bomb = packer.compress(bytes(1 << 26)) + packer.flush()
    assert len(bomb) < 1 << 20
    total = largest = 0
    async with upstream(answer(bomb, "Content-Encoding: gzip")) as server:
        tracemalloc.start()
        try:
            async with opened(server, transport) as response:
                while total < 32 << 20:
                    data = await response.read()
                    total, largest = total + len(data), max(largest, len(data))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert largest <= 256 << 10
    assert peak < 8 << 20


async def test_small_members_of_a_compressed_body_leave_the_loop_its_turns() -> None:
    members = [gzip.compress(b"%d" % (number % 10)) for number in range(2000)]
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with (
        upstream(answer(b"".join(members), "Content-Encoding: gzip")) as server,
        opened(server) as response,
    ):
        counting = asyncio.create_task(count_turns())
        pieces: Counter[int] = Counter()
        while await response.read():
            pieces[turns] += 1
        counting.cancel()
    assert pieces.total() == len(members)
    assert max(pieces.values()) <= 16


@both
@pytest.mark.parametrize("coding", ["gzip", "deflate", "br"])
async def test_compressed_event_is_returned_when_its_bytes_are_there(coding: str, transport: str) -> None:
    import brotli

    def flushed(data: bytes) -> bytes:
        if coding == "br":
            return bytes(brotli_packer.process(data) + brotli_packer.flush())
        return packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)

    async def script(call: Call) -> None:
        await call.send(f"HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n".encode())
        for event in (b"data: 1\n\n", b"data: 2\n\n"):
            await call.send(flushed(event))
            await taken.wait()
            taken.clear()

    brotli_packer = brotli.Compressor()
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS + (16 if coding == "gzip" else 0))
    taken = asyncio.Event()
    async with upstream(script) as server, opened(server, transport) as response:
        for event in (b"data: 1\n\n", b"data: 2\n\n"):
            assert await response.read() == event
            taken.set()
        with pytest.raises(Truncated):
            await response.read()


# --- reads that are relayed without waking a task -----------------------------------------------------------


class StepByStep:
    """Sends `a`, `b` and `c` for each request of a connection, each when `go` says so."""

    def __init__(self) -> None:
        self._steps: asyncio.Queue[None] = asyncio.Queue()

    def go(self) -> None:
        self._steps.put_nowait(None)

    async def __call__(self, call: Call) -> None:
        while True:
            await call.send(SSE)
            for piece in (b"a", b"b", b"c"):
                await self._steps.get()
                await call.send(chunk(piece))
            await self._steps.get()
            await call.send(LAST_CHUNK)
            await call.read_request()


async def relayed(response: UpstreamResponse, take: Callable[[bytes], bool]) -> None:
    relaying = response.relay(take)
    assert relaying is not None
    await relaying


async def test_reads_are_relayed_in_the_context_of_their_request() -> None:
    script, asking = StepByStep(), UpstreamClient()
    request: ContextVar[int] = ContextVar("request")
    taken = []

    def take(data: bytes) -> bool:
        taken.append((request.get(), data))
        script.go()
        return True

    async with upstream(script) as server:
        for number in range(2):
            request.set(number)
            async with opened(server, client=asking) as response:
                script.go()
                assert await response.read() == b"a"
                script.go()
                await relayed(response, take)
                assert await response.read() == b""
                assert response.is_over()
        assert server.connections == 1
        await asking.aclose()
    assert taken == [(0, b"b"), (0, b"c"), (1, b"b"), (1, b"c")]


async def test_bytes_after_a_stopped_relay_are_read() -> None:
    script = StepByStep()
    taken = []

    def take_one(data: bytes) -> bool:
        taken.append(data)
        return False

    async with upstream(script) as server, opened(server) as response:
        script.go()
        assert await response.read() == b"a"
        script.go()
        await relayed(response, take_one)
        script.go()
        assert await response.read() == b"c"
        assert not response.is_over()
    assert taken == [b"b"]


async def test_cancelled_relay_loses_no_bytes() -> None:
    script = StepByStep()

    def take(data: bytes) -> bool:
        raise AssertionError(data)

    async with upstream(script) as server, opened(server) as response:
        script.go()
        assert await response.read() == b"a"
        relaying = asyncio.create_task(relayed(response, take))
        await asyncio.sleep(0)
        relaying.cancel()
        script.go()
        with pytest.raises(asyncio.CancelledError):
            await relaying
        assert await response.read() == b"b"


async def test_error_of_a_relay_is_raised_in_the_task() -> None:
    script = StepByStep()

    def take(data: bytes) -> bool:
        raise LookupError(data)

    async with upstream(script) as server, opened(server) as response:
        script.go()
        assert await response.read() == b"a"
        script.go()
        with pytest.raises(LookupError):
            await relayed(response, take)
        script.go()
        assert await response.read() == b"c"
