"""A request that is relayed without a task gets the same answer and leaves the same record as any other."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple

import anyio
import pytest

from cases import case
from loopback import Gateway, gateway, settled
from patience import PATIENCE
from scripted_upstream import Call, Script, answer, chunk, upstream
from streamweir_gateway.app import build_app
from streamweir_gateway.processes.generations import Generations
from streamweir_gateway.relay import taskless_relays
from streamweir_gateway.upstream.via import Via

pytestmark = pytest.mark.anyio

JSON = "Content-Type: application/json"
OK = answer(b'{"a": 1}', JSON)
MUCH = answer(b"x" * 20_000)
IN_CHUNKS = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(b"one") + chunk(b"two") + b"0\r\n\r\n"
)

GET = b"GET /old/a?b=%20 HTTP/1.1\r\nHost: shop.example:81\r\nCookie: a=b\r\n\r\n"
POST = b"POST /old/a HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine an answer at once takes longer than it would have time for."""
    monkeypatch.setattr(taskless_relays, "LONGEST_SECONDS", 5.0)


class Made(NamedTuple):
    """What became of a request."""

    seen: bytes
    """By the service."""
    answered: bytes
    """To the client."""
    line: dict[str, Any]
    """Of the log."""


class Tasks:
    """The requests that are answered in a task."""

    def __init__(self) -> None:
        self.count = 0
        self.begun = asyncio.Event()

    def make(self, loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        if coroutine.__qualname__ == "HttpExchange.run":
            self.count += 1
            self.begun.set()
        return asyncio.Task(coroutine, loop=loop, **options)


@contextmanager
def counted_tasks() -> Iterator[Tasks]:
    """Count them while the block lasts."""
    loop, tasks = asyncio.get_running_loop(), Tasks()
    loop.set_task_factory(tasks.make)
    try:
        yield tasks
    finally:
        loop.set_task_factory(None)


@asynccontextmanager
async def relaying(script: Script, *, without_task: bool = True, **options: Any) -> AsyncIterator[Gateway]:
    """A gateway that keeps a connection to a service; one that counts requests needs a task for each."""
    limit = {} if without_task else {"rate_limit": "900000/minute"}
    async with upstream(script) as server:
        endpoint = {
            "upstream": f"{server.url}/api",
            "speaks": "legacy",
            "answers": ["legacy"],
            "relay": "all",
            **limit,
            **options,
        }
        config = settled(endpoints={"/old/*": endpoint})
        async with gateway(config, via=Via("00000000")) as running:
            assert b"\r\n\r\nwarm" in await asked(running, GET)
            await running.log.next_line()
            yield running


async def asked(running: Gateway, request: bytes) -> bytes:
    """Send bytes, and return what comes for them until nothing more does."""
    reader, writer = await asyncio.open_connection(*running.address)
    try:
        writer.write(request)
        async with asyncio.timeout(PATIENCE):
            answered = await _one_answer(reader, is_head=request.startswith(b"HEAD"))
    finally:
        writer.transport.abort()
    return answered


async def _one_answer(reader: asyncio.StreamReader, *, is_head: bool) -> bytes:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if head.startswith(b"HTTP/1.1 1"):
            return head + await _one_answer(reader, is_head=is_head)
        if is_head or head[9:12] in (b"204", b"304"):
            return head
        if length := re.search(rb"content-length: (\d+)", head):
            return head + await reader.readexactly(int(length[1]))
        if b"transfer-encoding: chunked" in head:
            return head + await reader.readuntil(b"0\r\n\r\n")
        return head + await reader.read()
    except asyncio.IncompleteReadError as cut:
        return cut.partial + b" (closed)"


def playing(*pieces: bytes, seen: list[bytes]) -> Script:
    """Answer the first request in a way that keeps the connection, and every other with these pieces."""

    async def script(call: Call) -> None:
        await call.send(answer(b"warm"))
        while True:
            head = await call.read_until(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            body = await call.read_until(b"}") if length and int(length[1]) else b""
            seen.append(head + body)
            for piece in pieces:
                await call.send(piece, pause=0.02 if len(pieces) > 1 else 0.0)
            if b"Connection: close" in pieces[0]:
                call.close()
                return

    return script


_CHANGING = re.compile(
    rb"(?i)(req_)[0-9a-f]{32}|(traceparent: 00-)[0-9a-f]{32}-[0-9a-f]{16}"
    rb"|(-)[0-9a-f]{16}(?=-0)|(\ndate: )[^\r]*"
)


def _same(text: bytes) -> bytes:
    """The text without what is never the same: ids, times, and the port of the service."""
    text = re.sub(rb"127\.0\.0\.1:\d+", b"service", text)
    return _CHANGING.sub(lambda match: b"".join(filter(None, match.groups())) + b"*", text)


async def made(request: bytes, pieces: tuple[bytes, ...], *, without_task: bool) -> tuple[Made, bool]:
    """What becomes of a request, and whether it was answered without a task."""
    seen: list[bytes] = []
    async with relaying(playing(*pieces, seen=seen), without_task=without_task) as running:
        with counted_tasks() as tasks:
            answered = await asked(running, request)
            line = await running.log.next_line()
    for changing in ("duration_ms", "trace_id", "span_id", "first_event_ms"):
        line.pop(changing, None)
    line = {name: _same(str(value).encode()) for name, value in line.items()}
    return Made(_same(b"".join(seen)), _same(answered), line), not tasks.count


SERVICE: dict[str, tuple[tuple[bytes, ...], bool]] = {
    "json": ((OK,), True),
    "in chunks": ((IN_CHUNKS,), True),
    "nothing": ((answer(b""),), True),
    "204": ((b"HTTP/1.1 204 No Content\r\n\r\n",), True),
    "304": ((b'HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n',), True),
    "a redirect": ((answer(b"", "Location: /x", status="302 Found"),), True),
    "404": ((answer(b"no", status="404 Not Found"),), True),
    "500": ((answer(b"no", status="500 Internal Server Error"),), True),
    "an odd status": ((answer(b"no", status="299 Fine"),), True),
    "it closes": ((answer(b"bye", "Connection: close"),), True),
    "cookies": (
        (answer(b"x", "Set-Cookie: a=1", "Set-Cookie: b=2", "Date: then", "X-Request-Id: its"),),
        True,
    ),
    "of the connection": ((answer(b"x", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: timeout=2"),), False),
    "kept open": ((answer(b"x", "Connection: keep-alive", "Keep-Alive: timeout=2", "Upgrade: h2c"),), True),
    "closed, and more": ((answer(b"x", "Connection: X-Hop", "X-Hop: 1", "Connection: close"),), False),
    "two types": ((answer(b"data: {}\n\n", "Content-Type: text/event-stream", JSON),), False),
    "204 of a length": ((b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n",), False),
    "304 of a length": ((b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",), True),
    "an interim response": ((b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,), True),
    "one by itself": ((b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n", OK), False),
    "gzip": ((answer(b"\x1f\x8b", "Content-Encoding: gzip"),), True),
    "other events": ((answer(b"data: {}\n\n", "Content-Type: text/event-stream"),), False),
    "an agent stream": ((answer(b'data: {"type": "done"}\n\n', "Content-Type: text/event-stream"),), False),
    "two reads": ((OK[:-3], OK[-3:]), True),
    "three reads": ((OK[:-8], OK[-8:-3], OK[-3:]), True),
    "two reads of much": ((MUCH[:-3], MUCH[-3:]), False),
    "two reads of headers": ((OK[:20], OK[20:]), False),
    "cut": ((OK.replace(b"Content-Type", b"Connection: close\r\nContent-Type")[:-3],), False),
    "until it closes": ((b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall",), False),
    "no HTTP": ((b"Connection: close - nonsense\r\n\r\n",), False),
    "a header that is none": ((answer(b"x", "X-Odd: a\x01b"),), False),
    "a coding that nobody asked for": (
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",),
        False,
    ),
    "more than was asked for": ((OK + OK,), True),
}
"""What a service answers, in pieces, and whether that is relayed without a task."""


@pytest.mark.parametrize("request_", [GET, POST], ids=["get", "post"])
@pytest.mark.slow
async def test_answer_without_a_task_equals_the_answer_with_a_task(request_: bytes) -> None:
    for name, (pieces, is_taskless) in SERVICE.items():
        with case(name):
            plain, _ = await made(request_, pieces, without_task=False)
            taskless, is_direct = await made(request_, pieces, without_task=True)
            assert taskless == plain
            assert is_direct is is_taskless


def _get(*headers: str, line: str = "GET /old/a HTTP/1.1") -> bytes:
    return "\r\n".join([line, "Host: x", *headers]).encode("latin-1") + b"\r\n\r\n"


CLIENT: dict[str, tuple[bytes, bool]] = {
    "an id of its own": (_get("X-Request-Id: mine"), True),
    "an id that is none": (_get("X-Request-Id: m i n e"), True),
    "a trace": (_get(f"traceparent: 00-{'a' * 32}-{'b' * 16}-01", "tracestate: x=1"), True),
    "it closes": (_get("Connection: close"), True),
    "of the connection": (_get("Connection: X-Hop", "X-Hop: 1", "TE: trailers", "Keep-Alive: 1"), True),
    "forwarded": (_get("X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6", "X_Forwarded_For: 6"), True),
    "latin-1": (_get("X-Own: \xe9", "Accept-Encoding: br"), True),
    "a body": (POST, True),
    "a body in chunks": (
        b"POST /old/a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n"
        + b'{"a":1}\r\n0\r\n\r\n',
        True,
    ),
    "another method": (_get(line="DELETE /old/a HTTP/1.1"), True),
    "one for the asking": (_get("Origin: https://x.example", line="OPTIONS /old/a HTTP/1.1"), True),
    "one for the nearest": (_get("Max-Forwards: 0", line="OPTIONS /old/a HTTP/1.1"), False),
    "one for the next": (_get("Max-Forwards: 1", line="OPTIONS /old/a HTTP/1.1"), False),
    "an empty query": (_get(line="GET /old/a? HTTP/1.1"), True),
    "percent": (_get(line="GET /old/a%2Fb/%C3%A9;v=1?c=%zz HTTP/1.1"), True),
    "the root": (_get(line="GET /old/ HTTP/1.1"), True),
    "head": (_get(line="HEAD /old/a HTTP/1.1"), False),
    "1.0": (_get(line="GET /old/a HTTP/1.0"), False),
    "outside": (_get(line="GET /old/%2e%2e/a HTTP/1.1"), False),
    "a tunnel": (_get(line="TRACE /old/a HTTP/1.1"), False),
    "a protocol": (_get("X-Streamweir-Protocol: nonsense"), False),
    "a websocket": (_get("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x"), False),
}
"""What a client asks, and whether that is relayed without a task."""


@pytest.mark.slow
async def test_request_without_a_task_equals_the_request_with_a_task() -> None:
    for name, (request, is_taskless) in CLIENT.items():
        if name == "elsewhere":
            continue
        with case(name):
            plain, _ = await made(request, (OK,), without_task=False)
            taskless, is_direct = await made(request, (OK,), without_task=True)
            assert taskless == plain
            assert is_direct is is_taskless


async def _asked_again(
    request: bytes, pieces: tuple[bytes, ...], times: int
) -> tuple[list[bytes], list[bytes]]:
    """What becomes of a request that is sent several times on one connection, while that is kept."""
    seen, answered = list[bytes](), list[bytes]()
    async with relaying(playing(*pieces, seen=seen)) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        async with asyncio.timeout(PATIENCE):
            for _ in range(times):
                writer.write(request)
                answered.append(_same(await _one_answer(reader, is_head=False)))
        writer.close()
    return [*map(_same, seen)], answered


NOT_KEPT = {"500", "more than was asked for"}
"""After such an answer the service is asked on another connection."""


@pytest.mark.slow
async def test_repeated_request_gets_the_same_answer() -> None:
    exchanges = {
        **{name: (GET, pieces) for name, (pieces, is_taskless) in SERVICE.items() if is_taskless},
        **{name: (request, (OK,)) for name, (request, is_taskless) in CLIENT.items() if is_taskless},
    }
    for name, (request, pieces) in exchanges.items():
        if b"close" in request + pieces[0] or name in NOT_KEPT:
            continue
        with case(name):
            once, _ = await made(request, pieces, without_task=False)
            seen, answered = await _asked_again(request, pieces, times=3)
            assert seen == [once.seen] * 3
            assert answered == [once.answered] * 3


def after_warming(then: Callable[[Call], Awaitable[None]]) -> Script:
    """Answer the first request, and play a script for each that follows on the same connection."""

    async def script(call: Call) -> None:
        await call.send(answer(b"warm"))
        while True:
            await call.read_request()
            await then(call)

    return script


async def test_connection_relays_consecutive_and_pipelined_requests() -> None:
    async def then(call: Call) -> None:
        await call.send(answer(call.target.encode()))

    async with relaying(after_warming(then)) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        for ahead in (1, 1, 5):
            for number in range(ahead):
                writer.write(f"GET /old/{number} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            for number in range(ahead):
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
                assert await reader.readexactly(6) == f"/api/{number}".encode()
        writer.close()


async def test_body_in_a_later_read_needs_a_task() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(call.body or b"warm"))
        await call.until_closed()

    async with relaying(script) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        with counted_tasks() as tasks:
            writer.write(POST[:-3])
            await tasks.begun.wait()
            writer.write(POST[-3:])
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
            assert await reader.readexactly(7) == b'{"a":1}'
        writer.close()


async def test_slow_service_is_awaited_and_not_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(taskless_relays, "LONGEST_SECONDS", 0.05)
    asked_for, has_task = list[str](), list[asyncio.Event]()

    async def then(call: Call) -> None:
        asked_for.append(call.target)
        await has_task[0].wait()
        await call.send(OK)

    async with relaying(after_warming(then)) as running:
        with counted_tasks() as tasks:
            has_task.append(tasks.begun)
            answered = await asked(running, POST)
        assert tasks.count == 1
        line = await running.log.next_line()
    assert answered.endswith(b'{"a": 1}')
    assert (line["attempts"], line["status"], line["reason"]) == (1, 200, "done")
    assert line["duration_ms"] >= 50
    assert asked_for == ["/api/a"]


@pytest.mark.slow
async def test_clock_of_the_answer_counts_from_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taskless_relays, "LONGEST_SECONDS", 0.6)

    async def then(call: Call) -> None:
        await call.until_closed()

    async with relaying(
        after_warming(then), timeouts={"connect": "100ms", "first_event": "1300ms"}
    ) as running:
        answered = await asked(running, GET)
        line = await running.log.next_line()
    assert answered.startswith(b"HTTP/1.1 504 ")
    assert line["code"] == "UPSTREAM_TIMEOUT"
    assert 1300 <= line["duration_ms"] < 1850  # from when it has a task it would be 1900 at least


async def test_client_that_leaves_ends_the_request_at_the_service() -> None:
    left = asyncio.Event()

    async def then(call: Call) -> None:
        reader_gone.set()
        await call.until_closed()
        left.set()

    reader_gone = asyncio.Event()
    async with relaying(after_warming(then)) as running:
        _, writer = await asyncio.open_connection(*running.address)
        writer.write(GET)
        await reader_gone.wait()
        writer.transport.abort()
        async with asyncio.timeout(PATIENCE):
            await left.wait()
        line = await running.log.next_line()
    assert (line["reason"], line["attempts"]) == ("client_gone", 1)
    assert "status" not in line


async def test_service_that_breaks_off_is_asked_again() -> None:
    async def then(call: Call) -> None:
        call.reset()
        raise anyio.EndOfStream

    for request_ in (GET, POST):
        outcomes = []
        for without_task in (False, True):
            async with relaying(after_warming(then), without_task=without_task) as running:
                answered = await asked(running, request_)
                line = await running.log.next_line()
            outcomes.append((answered[9:12], line["attempts"], line["code"], line.get("cause")))
        assert outcomes[0] == outcomes[1]


async def test_gateway_that_stops_ends_taskless_relays() -> None:
    came = asyncio.Event()

    async def then(call: Call) -> None:
        came.set()
        await call.until_closed()

    async with relaying(after_warming(then)) as running:
        asking = asyncio.create_task(asked(running, GET))
        await came.wait()
        running.streams.drain()
        answered = await asking
        line = await running.log.next_line()
    assert answered.startswith(b"HTTP/1.1 503 ")
    assert (line["code"], line["attempts"]) == ("GATEWAY_DRAINING", 1)


async def test_reload_lets_a_taskless_relay_finish_with_its_configuration() -> None:
    came, may_answer = asyncio.Event(), asyncio.Event()

    async def then(call: Call) -> None:
        came.set()
        await may_answer.wait()
        await call.send(OK)

    async with upstream(after_warming(then)) as server:
        config = settled(endpoints={"/old/*": {"upstream": server.url, "relay": "all"}})
        generations = Generations(build_app(config))
        async with gateway(config, generations) as running:
            await asked(running, GET)
            asking = asyncio.create_task(asked(running, POST))
            await came.wait()
            await generations.take_over(
                build_app(settled(endpoints={"/new/*": {"upstream": server.url, "relay": "all"}}))
            )
            may_answer.set()
            assert (await asking).startswith(b"HTTP/1.1 200 ")
            assert (await asked(running, GET)).startswith(b"HTTP/1.1 404 ")
