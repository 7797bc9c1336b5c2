"""`total` and the drain end a run whose client does not read: first the upstream, soon the delivery."""

import asyncio
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from loopback import Client, Gateway, client, gateway, one_endpoint
from patience import PROMPTLY
from scripted_upstream import SSE, Call, Upstream, chunk, upstream
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.runs import live_delivery

pytestmark = pytest.mark.anyio

TOTAL = 0.6


async def flood(call: Call) -> None:
    reading = asyncio.create_task(call.until_closed())
    piece = chunk(b'data: {"type": "token", "content": "%s"}\n\n' % (b"x" * 500_000))
    try:
        await call.send(SSE)
        while True:
            await call.send(piece)
    except ConnectionError:
        call.note_closed()
    finally:
        reading.cancel()


def flooded(url: str, **timeouts: str) -> GatewayConfig:
    given = {"connect": "500ms", "first_event": "500ms", "idle": "500ms", **timeouts}
    return one_endpoint(url, timeouts=given, on_disconnect="continue")


@asynccontextmanager
async def unread(**timeouts: str) -> AsyncIterator[tuple[Upstream, Gateway, Client]]:
    """A client that has stopped reading a flood."""
    async with (
        upstream(flood) as server,
        gateway(flooded(server.url, **timeouts), send_buffer=32_768) as running,
        client(running) as connected,
    ):
        connected.stop_reading()
        connected.send()
        async with asyncio.timeout(PROMPTLY):
            await server.called.wait()
        yield server, running, connected


async def waits_for_client(server: Upstream) -> None:
    """Return when the upstream cannot send any more, because every buffer up to the client is full."""
    async with asyncio.timeout(PROMPTLY):
        blocked = 0
        while blocked < 5:
            await asyncio.sleep(0.02)
            blocked = blocked + 1 if server.call.is_blocked else 0


async def closed(server: Upstream) -> None:
    """Wait until the upstream has been left: at once by the contract."""
    async with asyncio.timeout(PROMPTLY):
        await server.call.closed.wait()


async def test_total_timeout_closes_the_upstream_of_a_client_that_does_not_read() -> None:
    async with unread(total=f"{TOTAL:.1f}s", write="off") as (server, _, __):
        called = time.monotonic()
        await closed(server)
        assert server.call.closed_at - called > TOTAL / 2


async def test_drain_closes_the_upstream_of_a_client_that_does_not_read() -> None:
    async with unread(write="off") as (server, running, _):
        await waits_for_client(server)
        running.streams.drain()
        await closed(server)


async def drained(running: Gateway) -> None:
    running.streams.drain()


async def waits_for_total(_: Gateway) -> None:
    await asyncio.sleep(TOTAL)


ENDINGS: list[Any] = [
    pytest.param(waits_for_total, {"total": f"{TOTAL:.1f}s"}, "UPSTREAM_TIMEOUT", id="total"),
    pytest.param(drained, {}, "GATEWAY_DRAINING", id="drain"),
]


@pytest.mark.parametrize(("end", "timeouts", "code"), ENDINGS)
async def test_rest_without_write_timeout_is_limited_in_time(
    end: Callable[[Gateway], Any], timeouts: dict[str, str], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_delivery, "LEFT_SECONDS", 0.4)
    async with unread(**timeouts, write="off") as (server, running, _):
        await waits_for_client(server)
        await end(running)
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
        await closed(server)
        assert line["reason"] == "slow_client", code
        assert len(running.streams) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only there the system tells how much it still holds")
async def test_rest_is_limited_to_the_write_timeout_even_if_some_is_read() -> None:
    async with (
        upstream(flood) as server,
        gateway(flooded(server.url, total=f"{TOTAL:.1f}s", write="500ms"), send_buffer=32_768) as running,
    ):
        loop, bare = asyncio.get_running_loop(), socket.socket()
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        bare.setblocking(False)
        with bare:
            await loop.sock_connect(bare, running.address)
            await loop.sock_sendall(bare, b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
            began = time.monotonic()
            while not running.log.lines:
                assert time.monotonic() - began < PROMPTLY
                with suppress(ConnectionResetError):
                    await loop.sock_recv(bare, 2000)
                await asyncio.sleep(0.05)
        assert running.log.lines[0]["reason"] == "slow_client"
        assert time.monotonic() - began > TOTAL


@pytest.mark.parametrize(("end", "timeouts", "code"), ENDINGS)
async def test_client_that_reads_on_gets_the_rest_and_the_end(
    end: Callable[[Gateway], Any], timeouts: dict[str, str], code: str
) -> None:
    async with unread(**timeouts, write="off") as (server, running, connected):
        await waits_for_client(server)
        await end(running)
        await closed(server)
        transport = connected.writer.transport
        assert isinstance(transport, asyncio.ReadTransport)
        transport.resume_reading()
        got = (await connected.whole()).assert_valid()
        assert got.error is not None
        assert got.error["code"] == code
        line = await running.log.next_line()
        assert line["code"] == code
        assert line["events"] == len(got.events)
