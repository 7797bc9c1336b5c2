"""Clients that break HTTP, drip, send too much, ask for elsewhere or leave half-way, on bare sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from loopback import Gateway, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, chunk, upstream

pytestmark = pytest.mark.anyio

POST = b"POST /chat HTTP/1.1\r\nHost: x\r\n"
TWO = b"Content-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def quick_gateway(url: str, *, header_time: str = "300ms", **options: object) -> AsyncIterator[Gateway]:
    """One that does not wait for slow clients."""
    server = {"header_time": header_time, "header_bytes": "4KiB"}
    endpoint = {"upstream": url, "speaks": "legacy", **options}
    async with gateway(settled(endpoints={"/chat": endpoint}, server=server)) as running:
        yield running


async def exchanged(running: Gateway, *pieces: bytes, pause: float = 0.0, half_close: bool = False) -> bytes:
    """All that the gateway sends before it closes the connection."""
    reader, writer = await asyncio.open_connection(*running.address)
    try:
        async with asyncio.timeout(PROMPTLY):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(pause)
            if half_close:
                writer.write_eof()
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.transport.abort()


def refusal(got: bytes) -> tuple[int, str]:
    """Status and code of the only response in `got`."""
    head, _, body = got.partition(b"\r\n\r\n")
    assert got.count(b"HTTP/1.1 ") == 1, got
    assert b"connection: close" in head.lower()
    return int(head.split()[1]), json.loads(body)["error"]["code"]


@pytest.fixture
def nothing_raised(caplog: pytest.LogCaptureFixture) -> object:
    """No traceback is in the log at the end, and nothing of uvicorn's."""
    yield
    assert not [record for record in caplog.records if record.exc_info or record.name.startswith("uvicorn")]


FAULTS = {
    "length twice": POST + b"Content-Length: 2\r\n" + TWO,
    "two lengths": POST + b"Content-Length: 3\r\n" + TWO,
    "a list of lengths": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "negative length": POST + b"Content-Length: -2\r\n\r\n{}",
    "signed length": POST + b"Content-Length: +2\r\n\r\n{}",
    "hexadecimal length": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "huge length": POST + b"Content-Length: 99999999999999999999999\r\n\r\n{}",
    "empty length": POST + b"Content-Length:\r\n\r\n{}",
    "length and chunks": POST + b"Transfer-Encoding: chunked\r\n" + TWO,
    "chunks and length": POST
    + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "unknown coding": POST + b"Transfer-Encoding: xchunked\r\n\r\n{}",
    "identity": POST + b"Transfer-Encoding: identity\r\n\r\n{}",
    "gzip in chunks": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks twice": POST + b"Transfer-Encoding: chunked\r\n" * 2 + b"\r\n2\r\n{}\r\n0\r\n\r\n",
    "hidden chunks": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "space before the colon": POST + b"Transfer-Encoding : chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "chunks in 1.0": b"POST /chat HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "bad chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    "negative chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    "huge chunk size": POST + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff2\r\n{}\r\n0\r\n\r\n",
    "chunk too long": POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}{}\r\n0\r\n\r\n",
    "chunks without CR": POST + b"Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n",
    "folded header": POST + b"X-Long: a\r\n b\r\n" + TWO,
    "folded first header": b"POST /chat HTTP/1.1\r\n Host: x\r\n" + TWO,
    "NUL in a header": POST + b"X-Odd: a\0b\r\n" + TWO,
    "CR in a header": POST + b"X-Odd: a\rb\r\n" + TWO,
    "control character in a header": POST + b"X-Odd: a\x01b\r\n" + TWO,
    "header without a colon": POST + b"X-Odd\r\n" + TWO,
    "header without a name": POST + b": x\r\n" + TWO,
    "space in a name": POST + b"X Odd: x\r\n" + TWO,
    "lines that end in LF": b"POST /chat HTTP/1.1\nHost: x\nContent-Length: 2\n\n{}",
    "no host": b"POST /chat HTTP/1.1\r\n" + TWO,
    "two hosts": POST + b"Host: y\r\n" + TWO,
    "absolute form with a name": b"POST http://me@x/chat HTTP/1.1\r\nHost: x\r\n" + TWO,
    "absolute form of something else": b"POST ftp://x/chat HTTP/1.1\r\nHost: x\r\n" + TWO,
    "absolute form without a host": b"POST http:///chat HTTP/1.1\r\nHost: x\r\n" + TWO,
    "CONNECT": b"CONNECT elsewhere:443 HTTP/1.1\r\nHost: elsewhere:443\r\n\r\nhello",
    "CONNECT with a path": b"CONNECT /chat HTTP/1.1\r\nHost: x\r\n\r\nhello",
    "CONNECT with an upgrade": b"CONNECT / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: y\r\n\r\n",
    "authority form": b"POST elsewhere:443 HTTP/1.1\r\nHost: x\r\n" + TWO,
    "asterisk form": b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
    "HTTP/0.9": b"GET /chat\r\n\r\n",
    "HTTP/1.2": b"POST /chat HTTP/1.2\r\nHost: x\r\n" + TWO,
    "HTTP/2.0 as text": b"POST /chat HTTP/2.0\r\nHost: x\r\n" + TWO,
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "method that is none": b"FR(B /chat HTTP/1.1\r\nHost: x\r\n" + TWO,
    "space in the target": b"POST /ch at HTTP/1.1\r\nHost: x\r\n" + TWO,
}


@pytest.mark.usefixtures("nothing_raised")
@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize("sent", FAULTS.values(), ids=FAULTS.keys())
async def test_request_that_breaks_http_is_refused_before_the_app(sent: bytes, bytewise: bool) -> None:
    pieces = [sent[at : at + 7] for at in range(0, len(sent), 7)] if bytewise else [sent]
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, *pieces, pause=0.001 if bytewise else 0)
        line = await running.log.next_line()
    assert refusal(got) == (400, "BAD_REQUEST")
    assert server.connections == 0
    assert running.log.lines == [line]
    assert (line["event"], line["status"], line["code"]) == ("request", 400, "BAD_REQUEST")
    assert line["client"] == "127.0.0.1"
    assert f'"{line["request_id"]}"'.encode() in got


@pytest.mark.usefixtures("nothing_raised")
@pytest.mark.parametrize(
    "sent",
    [
        POST + b"a:\r\n" * 100_000,
        POST + b"X-Long: " + b"x" * 1_000_000,
        b"POST /" + b"x" * 1_000_000,
        POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Trailer: " + b"x" * 1_000_000,
        POST + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"x" * 1_000_000,
        POST + b"Content-Length: 999999999\r\n\r\n" + b"x" * 3_000_000,
        POST + b"Content-Length: 18446744073709551615\r\n\r\n{}",
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk(b"x" * 10_000) * 300,
    ],
    ids=[
        "headers",
        "header",
        "target",
        "trailer",
        "chunk extension",
        "length",
        "the largest length",
        "chunks",
    ],
)
async def test_request_that_is_too_large_is_refused_before_it_is_read(sent: bytes) -> None:
    async with (
        upstream(WHOLE) as server,
        quick_gateway(server.url, limits={"request_bytes": "1MiB"}) as running,
    ):
        got = await exchanged(running, sent)
    assert refusal(got) == (413, "REQUEST_TOO_LARGE")
    assert server.connections == 0


@pytest.mark.usefixtures("nothing_raised")
@pytest.mark.parametrize(
    "refused",
    [
        POST + b"Content-Length: 18446744073709551615\r\n\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
        POST + b"Transfer-Encoding: chunked\r\n\r\n2;",
        POST + b"X-Long: ",
    ],
    ids=["length", "chunk", "extension", "header"],
)
async def test_bytes_behind_a_refusal_are_read_up_to_a_bound(refused: bytes) -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running, client(running) as connected:
        connected.writer.write(refused)
        async with asyncio.timeout(PROMPTLY):
            taken = await written(connected.writer, up_to=200_000_000)
    # 32 MiB by the gateway, and what two sockets of the system hold.
    assert taken < 100_000_000


async def written(writer: asyncio.StreamWriter, *, up_to: int) -> int:
    """How much can be written until the other side breaks the connection."""
    piece, taken = b"x" * 65_536, 0
    with suppress(ConnectionError):
        while taken < up_to:
            writer.write(piece)
            await writer.drain()
            taken += len(piece)
    return taken


@pytest.mark.usefixtures("nothing_raised")
@pytest.mark.parametrize(
    "pieces",
    [
        (POST,),
        (b"POST /ch", b"at HTTP/1.1\r\n", *[b"X-Drip: 1\r\n"] * 40),
        (POST + b"Content-Length: 200000\r\n\r\n", *[b"x"] * 40),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n", *[b"1\r\nx\r\n"] * 40),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n1;", *[b"x"] * 40),
    ],
    ids=["stops in the headers", "drips headers", "drips a body", "drips chunks", "drips an extension"],
)
async def test_slow_clients_are_not_waited_for(pieces: tuple[bytes, ...]) -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        async with asyncio.timeout(PROMPTLY):
            got = await exchanged(running, *pieces, pause=0.02)
    assert refusal(got) == (400, "BAD_REQUEST")
    assert server.connections == 0


@pytest.mark.parametrize(
    ("pieces", "refused"),
    [
        ((b"Content-Length: 9\r\n\r\nx",), (400, "BAD_REQUEST")),
        ((b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", b"zz\r\n"), (400, "BAD_REQUEST")),
        (
            (b"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", b"1;" + b"x" * 9_000),
            (413, "REQUEST_TOO_LARGE"),
        ),
    ],
    ids=["does not come", "is no HTTP", "has a large extension"],
)
async def test_refused_body_is_answered_once(pieces: tuple[bytes, ...], refused: tuple[int, str]) -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url, header_time="1s") as running:
        got = await exchanged(running, POST + b"X-Request-Id: mine\r\n", *pieces, pause=0.05)
        line = await running.log.next_line()
    assert refusal(got) == refused
    assert b'"request_id":"mine"' in got
    told = [line.get(name) for name in ("request_id", "endpoint", "status", "code", "reason")]
    assert told == ["mine", "/chat", *refused, None]
    assert running.log.lines == [line]
    assert server.connections == 0


async def test_header_value_is_stripped_of_white_space() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        odd = b"X-Request-Id: \t mine \t\r\nX-Streamweir-Protocol: standard \r\nConnection: close\r\n"
        got = await exchanged(running, POST + odd + TWO)
    assert b" 200 " in got
    assert b"x-request-id: mine\r\n" in got
    assert server.call.header("x-request-id") == "mine"


@pytest.mark.parametrize("sent", [b"", b"\r\n", b"\r\n\r\n\r\n"], ids=["nothing", "a line", "lines"])
async def test_connection_without_a_request_is_closed(sent: bytes) -> None:
    async with quick_gateway("http://127.0.0.1:9") as running:
        async with asyncio.timeout(PROMPTLY):
            got = await exchanged(running, sent)
    assert got == b"" if not sent else refusal(got) == (400, "BAD_REQUEST")


async def test_empty_lines_do_not_keep_an_idle_connection() -> None:
    async with quick_gateway("http://127.0.0.1:9") as running:
        async with asyncio.timeout(PROMPTLY):
            got = await exchanged(
                running, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", *[b"\r\n"] * 40, pause=0.02
            )
    assert got.startswith(b"HTTP/1.1 200")


async def test_slow_but_steady_bodies_are_waited_for() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(
            running,
            POST + b"Connection: close\r\nContent-Length: 2000\r\n\r\n",
            *[b"x" * 50] * 40,
            pause=0.02,
        )
    assert b'"status":"completed"' in got
    assert len(server.call.body) == 2000


@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "in pieces"])
@pytest.mark.parametrize(
    "body", [TWO, b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"], ids=["length", "chunks"]
)
async def test_offered_upgrade_is_declined(body: bytes, bytewise: bool) -> None:
    offer = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
    sent = POST + offer + body + LAST_HEALTH
    pieces = [sent[at : at + 7] for at in range(0, len(sent), 7)] if bytewise else [sent]
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, *pieces)
    assert got.startswith(b"HTTP/1.1 200 ")
    assert b'"status":"completed"' in got
    assert got.endswith(b'{"status":"ok"}')
    assert server.call.body == b"{}"


async def test_100_continue_is_sent_only_if_the_body_is_read() -> None:
    expecting = POST + b"Connection: close\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
    async with (
        upstream(WHOLE) as server,
        quick_gateway(server.url, limits={"request_bytes": "1KiB"}) as running,
    ):
        wanted = await exchanged(running, expecting % 2, b"{}", pause=0.1)
        unwanted = await exchanged(running, expecting % 2000)
    assert wanted.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ")
    assert refusal(unwanted) == (413, "REQUEST_TOO_LARGE")
    assert server.connections == 1


@pytest.mark.parametrize("accept", [b"text/event-stream", b"application/json"])
async def test_http_1_0_gets_no_chunks(accept: bytes) -> None:
    sent = b"POST /chat HTTP/1.0\r\nExpect: 100-continue\r\nAccept: " + accept + b"\r\n" + TWO
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        head, _, body = (await exchanged(running, sent)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert b"chunked" not in head
    assert body.count(b"Hel") == 1
    assert body.strip().endswith(b"}")


async def test_trace_is_no_method_here() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(
            running, b"TRACE /chat HTTP/1.1\r\nHost: x\r\nCookie: secret\r\nConnection: close\r\n\r\n"
        )
    assert refusal(got) == (405, "METHOD_NOT_ALLOWED")
    assert b"secret" not in got
    assert server.connections == 0


async def test_trailers_are_no_headers() -> None:
    sent = (
        POST
        + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"2\r\n{}\r\n0\r\nX-Request-Id: from-the-trailer\r\n\r\n"
    )
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, sent)
    assert got.startswith(b"HTTP/1.1 200 ")
    assert b"from-the-trailer" not in got
    assert server.call.header("x-request-id") != "from-the-trailer"


# --- requests behind requests -------------------------------------------------------------------------------

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, POST + TWO + HEALTH + POST + TWO + LAST_HEALTH)
    assert got.count(b"HTTP/1.1 200 ") == 4
    assert got.index(b'"status":"completed"') < got.index(b'{"status":"ok"}')
    assert len(server.calls) == 2


@pytest.mark.parametrize(
    "behind",
    [
        b"surplus",
        b"NO HTTP\r\n\r\n",
        HEALTH[:20],
        POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        POST + b"X-Long: " + b"x" * 40_000,
    ],
    ids=["surplus", "no request", "half a request", "a body that is none", "too large headers"],
)
async def test_request_before_a_malformed_one_is_answered(behind: bytes) -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]), pause=0.6)
        await call.send(chunk(HELLO[2]), LAST_CHUNK)

    async with upstream(slowly) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, POST + TWO + behind)
    assert got.count(b"HTTP/1.1 ") == 1
    assert b'"status":"completed"' in got
    assert got.endswith(b"0\r\n\r\n")
    assert len(server.calls) == 1


async def test_too_many_requests_sent_ahead_are_not_taken() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, POST + TWO + HEALTH * 5000)
    assert 2 <= got.count(b"HTTP/1.1 200 ") <= 20
    assert got.endswith(b'{"status":"ok"}')


async def test_large_body_sent_ahead_is_not_buffered() -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]), pause=0.3)
        await call.send(chunk(HELLO[2]), LAST_CHUNK)

    ahead = POST + b"Content-Length: 3000000\r\n\r\n" + b"x" * 3_000_000
    async with upstream(slowly) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, POST + TWO, ahead, pause=0.05)
    assert got.count(b"HTTP/1.1 200 ") == 1
    assert got.endswith(b"0\r\n\r\n")
    assert len(server.calls) == 1


@pytest.mark.parametrize("behind", [b"", HEALTH, POST + TWO], ids=["nothing", "a request", "a stream"])
async def test_client_that_leaves_after_sending_ahead_is_noticed(behind: bytes) -> None:
    async def silent(call: Call) -> None:
        await call.until_closed()

    async with upstream(silent) as server, quick_gateway(server.url) as running:
        _, writer = await asyncio.open_connection(*running.address)
        writer.write(POST + TWO + behind)
        await server.called.wait()
        writer.close()
        async with asyncio.timeout(PROMPTLY):
            await server.call.closed.wait()
    assert len(server.calls) == 1


async def test_bytes_behind_the_last_request_are_not_parsed() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, LAST_HEALTH + POST + TWO)
    assert got.count(b"HTTP/1.1 ") == 1
    assert server.connections == 0


async def test_unread_body_is_not_parsed_as_a_request() -> None:
    hidden = POST + TWO
    sent = b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + hidden
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        got = await exchanged(running, sent, hidden * 10, pause=0.05)
    assert refusal(got) == (404, "ENDPOINT_NOT_FOUND")
    assert server.connections == 0


# --- half a connection --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [b"/healthz", b"/nowhere"])
async def test_half_closed_client_gets_a_quick_answer(target: bytes) -> None:
    async with quick_gateway("http://127.0.0.1:9") as running:
        got = await exchanged(running, b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % target, half_close=True)
    assert got.startswith(b"HTTP/1.1 ")
    assert got.endswith(b"}")


async def test_half_closed_client_of_a_stream_has_left() -> None:
    async def silent(call: Call) -> None:
        await call.until_closed()

    async with upstream(silent) as server, quick_gateway(server.url) as running:
        asking = asyncio.create_task(exchanged(running, POST + TWO, half_close=True))
        await server.called.wait()
        async with asyncio.timeout(PROMPTLY):
            await server.call.closed.wait()
        await asking


async def test_request_cut_within_its_head_is_not_served() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        for sent in (POST, POST + b"Content-Length: 10\r\n\r\n{}"):
            got = await exchanged(running, sent, half_close=True)
            assert b"HTTP/1.1 2" not in got
    assert server.connections == 0


async def test_many_slow_clients_do_not_delay_others() -> None:
    async with upstream(WHOLE) as server, quick_gateway(server.url) as running:
        slow = [socket.create_connection(running.address) for _ in range(300)]
        try:
            for one in slow:
                one.send(b"POST /chat HTTP/1.1\r\n")
            got = await exchanged(running, POST + b"Connection: close\r\n" + TWO)
            assert b'"status":"completed"' in got
            for one in slow:
                one.setblocking(False)
            loop = asyncio.get_running_loop()
            async with asyncio.timeout(PROMPTLY):
                heads = [await loop.sock_recv(one, 12) for one in slow]
        finally:
            for one in slow:
                one.close()
    assert set(heads) == {b"HTTP/1.1 400"}
