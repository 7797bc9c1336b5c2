"""Clients that wait, leave, or do not read; heartbeats in silence."""

import asyncio
import socket
import sys
import time
from contextlib import AsyncExitStack
from typing import Any

import pytest

from loopback import ask, client, gateway, one_endpoint, relayed
from patience import PROMPTLY, until
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, Script, Upstream, chunk, upstream

pytestmark = pytest.mark.anyio

TOKEN, _, DONE = HELLO


async def left_by_its_client(server: Upstream) -> None:
    """Wait until the upstream's connection is closed: soon after the client has left, or never."""
    async with asyncio.timeout(PROMPTLY):
        await server.call.closed.wait()


def waiting_after(*pieces: bytes) -> Script:
    async def script(call: Call) -> None:
        await call.send(*pieces)
        await call.until_closed()

    return script


@pytest.mark.parametrize(
    ("pieces", "seen"),
    [((), b""), ((SSE,), b""), ((SSE, chunk(b": hi\n\n")), b""), ((SSE, chunk(TOKEN)), b"Hel")],
    ids=["no headers", "headers only", "a comment", "mid-stream"],
)
@pytest.mark.parametrize("heartbeat", ["off", "50ms"])
async def test_upstream_is_left_when_its_client_leaves(
    pieces: tuple[bytes, ...], seen: bytes, heartbeat: str
) -> None:
    script = waiting_after(*pieces)
    async with upstream(script) as server, gateway(one_endpoint(server.url, heartbeat=heartbeat)) as running:
        async with client(running) as connected:
            connected.send()
            async with asyncio.timeout(PROMPTLY):
                await server.called.wait()
            await connected.until(seen)
            await asyncio.sleep(0.05)
            connected.leave()
            await left_by_its_client(server)
        line = await running.log.next_line()
        assert (line["reason"], line["events"]) == ("client_gone", 2 if seen else 0)
        assert len(running.streams) == 0


async def test_flooding_upstream_is_left_when_its_client_leaves() -> None:
    async def flooding(call: Call) -> None:
        reading = asyncio.create_task(call.until_closed())
        try:
            await call.send(SSE)
            while True:
                await call.send(chunk(TOKEN * 100))
        except ConnectionError:
            call.note_closed()
        finally:
            reading.cancel()

    async with (
        upstream(flooding) as server,
        gateway(one_endpoint(server.url)) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        connected.leave()
        await left_by_its_client(server)


async def test_connection_attempt_ends_when_its_client_leaves() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        full.listen(0)
        waiting = [socket.socket() for _ in range(4)]
        for blocked in waiting:
            blocked.setblocking(False)
            blocked.connect_ex(full.getsockname())
        async with (
            gateway(one_endpoint(f"http://127.0.0.1:{full.getsockname()[1]}")) as running,
            client(running) as connected,
        ):
            connected.send()
            await until(lambda: len(running.streams) == 1)
            connected.leave()
            async with asyncio.timeout(PROMPTLY):
                line = await running.log.next_line()
        for blocked in waiting:
            blocked.close()
    assert (line["reason"], line["events"], line["bytes_out"]) == ("client_gone", 0, 0)


async def test_upstream_that_does_not_read_is_left_when_its_client_leaves() -> None:
    async def deaf(call: Call) -> None:
        await asyncio.sleep(0.8)
        await call.until_closed()

    async with (
        upstream(deaf, reads_request=False) as server,
        gateway(one_endpoint(server.url)) as running,
        client(running) as connected,
    ):
        connected.send(body=b"x" * 9_000_000)
        await asyncio.sleep(0.3)
        connected.leave()
        await left_by_its_client(server)


async def test_many_clients_that_leave_at_once_are_all_released() -> None:
    script = waiting_after(SSE, chunk(TOKEN))
    async with upstream(script) as server, gateway(one_endpoint(server.url)) as running:

        async def visit(delay: float) -> None:
            async with client(running) as connected:
                connected.send()
                await asyncio.sleep(delay)

        await asyncio.gather(*(visit(number % 10 / 50) for number in range(60)))
        async with asyncio.timeout(PROMPTLY):
            for _ in range(60):
                await running.log.next_line()
            await asyncio.gather(*(call.closed.wait() for call in server.calls))
        assert len(running.streams) == 0


async def test_client_that_leaves_within_its_body_is_noticed() -> None:
    async with upstream(b"") as server, gateway(one_endpoint(server.url)) as running:
        async with client(running) as connected:
            connected.writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            await asyncio.sleep(0.05)
            connected.leave()
            assert (await running.log.next_line())["reason"] == "client_gone"
        assert server.connections == 0


# --- clients that do not read -------------------------------------------------------------------------------


async def flood(call: Call) -> None:
    await call.send(SSE)
    piece = chunk(b'data: {"type": "token", "content": "%s"}\n\n' % (b"x" * 60_000))
    while True:
        await call.send(piece)


async def test_client_that_does_not_read_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    timeouts = {"write": "300ms", "idle": "200ms", "first_event": "60s"}
    async with upstream(flood) as server, gateway(one_endpoint(server.url, timeouts=timeouts)) as running:
        async with client(running) as connected:
            connected.stop_reading()
            connected.send()
            async with asyncio.timeout(PROMPTLY):
                line = await running.log.next_line()
            assert line["reason"] == "slow_client"
        assert len(running.streams) == 0
    assert caplog.records == []


async def test_unread_bytes_of_a_dropped_client_are_discarded() -> None:
    timeouts = {"write": "300ms", "first_event": "60s"}
    async with (
        upstream(flood) as server,
        gateway(one_endpoint(server.url, timeouts=timeouts)) as running,
        client(running) as connected,
    ):
        connected.stop_reading()
        connected.send()
        async with asyncio.timeout(PROMPTLY):
            assert (await running.log.next_line())["reason"] == "slow_client"
            await asyncio.sleep(0.1)
            connected.writer.transport.resume_reading()  # type: ignore[attr-defined]
            with pytest.raises(ConnectionResetError):
                await connected.reader.read()


async def test_client_that_does_not_read_a_folded_answer_is_dropped() -> None:
    async def much(call: Call) -> None:
        piece = b'data: {"type": "token", "content": "%s"}\n\n' % (b"x" * 1_000_000)
        await call.send(SSE, *[chunk(piece)] * 20, chunk(DONE), LAST_CHUNK)

    timeouts = {"write": "300ms", "idle": "10s", "first_event": "60s"}
    async with (
        upstream(much) as server,
        gateway(one_endpoint(server.url, timeouts=timeouts)) as running,
        client(running) as connected,
    ):
        connected.stop_reading()
        connected.send(headers=[("Accept", "application/json")])
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
    assert (line["framing"], line["reason"]) == ("json", "slow_client")
    assert line["bytes_out"] < 20_000_000


@pytest.mark.skipif(sys.platform != "linux", reason="only there the system tells how much it still holds")
async def test_client_that_reads_little_of_a_flood_is_kept() -> None:
    timeouts = {"write": "2s", "first_event": "60s"}
    async with upstream(flood) as server, gateway(one_endpoint(server.url, timeouts=timeouts)) as running:
        bare = socket.socket()
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        bare.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(bare, running.address)
        await loop.sock_sendall(bare, b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
        with bare:
            for _ in range(50):  # longer than a client may read nothing
                assert await loop.sock_recv(bare, 2000)
                await asyncio.sleep(0.05)
            assert len(running.streams) == 1
            assert running.log.lines == []


async def small_events_without_a_pause(call: Call) -> None:
    await call.send(SSE)
    while True:
        await call.send(chunk(TOKEN) * 100)


async def test_dropped_clients_leave_no_open_stream() -> None:
    async with (
        upstream(small_events_without_a_pause) as server,
        gateway(one_endpoint(server.url)) as running,
        AsyncExitStack() as stack,
    ):
        clients = [await stack.enter_async_context(client(running)) for _ in range(5)]
        for connected in clients:
            connected.stop_reading()
            connected.send()
        await until(lambda: len(running.streams) == len(clients))
        await asyncio.sleep(0.5)  # every buffer up to the clients is full
        for connected in clients:
            connected.leave()
        await until(lambda: len(running.streams) == 0, PROMPTLY)


async def test_client_that_reads_slowly_is_kept() -> None:
    size = 6_000_000

    async def big(call: Call) -> None:
        piece = b'data: {"type": "token", "content": "%s"}\n\n' % (b"x" * size)
        await call.send(SSE, chunk(piece), chunk(DONE), LAST_CHUNK)

    timeouts = {"write": "2s", "idle": "200ms", "first_event": "60s"}
    async with (
        upstream(big) as server,
        gateway(one_endpoint(server.url, timeouts=timeouts)) as running,
        client(running) as connected,
    ):
        connected.send()
        transport: Any = connected.writer.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        began = time.monotonic()
        while await connected.step():  # noqa: ASYNC110 - a slow reader, no poll
            await asyncio.sleep(0.03)
        connected.answer.assert_valid()
        assert time.monotonic() - began > 2
        assert connected.answer.end["status"] == "completed"


# --- heartbeats ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "beat"), [("text/event-stream", b": ping\n"), ("application/x-ndjson", b"\n")]
)
async def test_heartbeats_are_sent_before_the_first_event_and_in_silence(accept: str, beat: bytes) -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), chunk(DONE), LAST_CHUNK, pause=0.35)

    got = (await relayed(slowly, heartbeat="100ms", headers=[("Accept", accept)])).assert_valid()
    assert got.pieces[0] == beat, "before the first event"
    first = next(number for number, piece in enumerate(got.pieces) if b"Hel" in piece)
    assert beat in got.pieces[first:], "in silence"
    assert got.pieces.count(beat) <= (got.times[-1] - got.times[0]) / 0.1 + 2
    assert got.pieces[-1] != beat


async def test_heartbeat_is_not_sent_while_events_come() -> None:
    async def steadily(call: Call) -> None:
        await call.send(SSE, *[chunk(TOKEN)] * 25, chunk(DONE), LAST_CHUNK, pause=0.1)

    got = (await relayed(steadily, heartbeat="2s")).assert_valid()
    assert b"ping" not in got.body


async def test_headers_leave_with_the_first_heartbeat() -> None:
    async with (
        upstream(waiting_after()) as server,
        gateway(one_endpoint(server.url, heartbeat="100ms")) as running,
        client(running) as connected,
    ):
        connected.send()
        async with asyncio.timeout(PROMPTLY):
            await connected.step()
        assert connected.answer.status == 200


async def test_failure_after_a_heartbeat_is_an_error_event() -> None:
    async def late(call: Call) -> None:
        await asyncio.sleep(0.25)
        await call.send(b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n")

    got = (await relayed(late, heartbeat="100ms")).assert_valid()
    assert b"ping" in got.body
    assert got.error is not None


async def test_folded_answer_has_no_heartbeats() -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), chunk(DONE), LAST_CHUNK, pause=0.15)

    got = (await relayed(slowly, heartbeat="50ms", headers=[("Accept", "application/json")])).assert_valid()
    assert len(got.pieces) == 1


async def test_requests_do_not_wait_for_each_other() -> None:
    async def pausing(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), pause=0.3)
        await call.send(chunk(DONE), LAST_CHUNK)

    async with upstream(pausing) as server, gateway(one_endpoint(server.url)) as running:
        async with asyncio.timeout(PROMPTLY):
            answers = await asyncio.gather(*(ask(running) for _ in range(150)))
    assert {got.assert_valid().text for got in answers} == {"Hel"}
    assert len({got.header("x-request-id") for got in answers}) == 150
