"""`on_disconnect`: the run ends with its client, goes on, or goes on for a while."""

import asyncio
import time
from typing import Any

import pytest

from loopback import Gateway, client, gateway, one_endpoint, settled
from patience import PROMPTLY
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, Upstream, answer, chunk, upstream

pytestmark = pytest.mark.anyio

TOKEN, _, DONE = HELLO
GOES_ON = pytest.mark.parametrize("on_disconnect", ["continue", {"continue_for": "5s"}])


class Run:
    """A run that ends when the test says so."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        await call.send(SSE, chunk(TOKEN))
        await self.may_end.wait()
        await asyncio.sleep(0.05)
        await call.send(*[chunk(TOKEN)] * 3, chunk(DONE), LAST_CHUNK, pause=0.01)


async def line_after_leaving(running: Gateway, server: Upstream, seen: bytes, run: Run) -> dict[str, Any]:
    async with client(running) as connected:
        connected.send()
        async with asyncio.timeout(PROMPTLY):
            await server.called.wait()
        await connected.until(seen)
        connected.leave()
        await asyncio.sleep(0.2)
        assert len(running.streams) == 1
        run.may_end.set()
        return await running.log.next_line()


@GOES_ON
@pytest.mark.parametrize("seen", [b"Hel", b""], ids=["in the middle", "early"])
async def test_run_continues_without_its_client(on_disconnect: Any, seen: bytes) -> None:
    run = Run()
    async with (
        upstream(run) as server,
        gateway(one_endpoint(server.url, on_disconnect=on_disconnect, heartbeat="50ms")) as running,
    ):
        line = await line_after_leaving(running, server, seen, run)
        assert line["reason"] == "client_gone"
        assert line["events"] == 7
        assert line["bytes_in"] == 4 * len(TOKEN) + len(DONE)
        assert len(running.streams) == 0


async def test_retries_continue_without_the_client() -> None:
    run = Run()
    busy = [answer(b"", status="503 Busy")]

    async def script(call: Call) -> None:
        if busy:
            await asyncio.sleep(0.1)
            await call.send(busy.pop())
        else:
            await run(call)

    async with upstream(script) as server:
        urls = [f"{server.url}/first", f"{server.url}/second"]
        config = settled(
            endpoints={"/chat": {"upstream": urls, "speaks": "legacy", "on_disconnect": "continue"}}
        )
        async with gateway(config) as running:
            line = await line_after_leaving(running, server, b"", run)
            assert (line["reason"], line["attempts"], line["events"]) == ("client_gone", 2, 7)


async def test_run_without_its_client_ends_after_continue_for() -> None:
    async with (
        upstream(Run()) as server,
        gateway(one_endpoint(server.url, on_disconnect={"continue_for": "300ms"})) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        left = time.monotonic()
        connected.leave()
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
        assert line["reason"] == "client_gone"
        assert time.monotonic() - left >= 0.3
        assert len(running.streams) == 0


async def test_timeouts_hold_without_the_client() -> None:
    timeouts = {"connect": "200ms", "first_event": "200ms", "idle": "200ms"}
    async with (
        upstream(Run()) as server,
        gateway(one_endpoint(server.url, on_disconnect="continue", timeouts=timeouts)) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        connected.leave()
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
        assert (line["reason"], line["code"]) == ("client_gone", "UPSTREAM_TIMEOUT")


async def test_drain_ends_a_run_without_its_client() -> None:
    async with (
        upstream(Run()) as server,
        gateway(one_endpoint(server.url, on_disconnect="continue")) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        connected.leave()
        await asyncio.sleep(0.1)
        assert len(running.streams) == 1
        running.streams.drain()
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
        assert line["reason"] == "client_gone"


async def flood(call: Call) -> None:
    await call.send(SSE)
    for _ in range(200):
        await call.send(chunk(b'data: {"type": "token", "content": "%s"}\n\n' % (b"x" * 60_000)))
    await call.send(chunk(DONE), LAST_CHUNK)


async def test_client_that_leaves_during_a_write_is_noticed() -> None:
    async with (
        upstream(flood) as server,
        gateway(one_endpoint(server.url, on_disconnect="continue")) as running,
        client(running) as connected,
    ):
        connected.stop_reading()
        connected.send()
        async with asyncio.timeout(PROMPTLY):
            await server.called.wait()
        await asyncio.sleep(0.3)
        connected.leave()
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
        assert line["reason"] == "client_gone"
        assert line["events"] == 203


async def test_client_that_does_not_read_ends_its_run() -> None:
    timeouts = {"write": "300ms"}
    async with (
        upstream(flood) as server,
        gateway(one_endpoint(server.url, on_disconnect="continue", timeouts=timeouts)) as running,
        client(running) as connected,
    ):
        connected.stop_reading()
        connected.send()
        async with asyncio.timeout(PROMPTLY):
            line = await running.log.next_line()
        assert line["reason"] == "slow_client"
        assert line["events"] < 203
