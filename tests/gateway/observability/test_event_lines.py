"""Lines about breakers, the store, drains and workers: one for each change, from the running command."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from loopback import ask, client
from patience import until
from redis_servers import redis_binaries, redis_server
from running_gateway import Running, running_gateway
from scraped_metrics import samples
from scripted_upstream import HELLO, SSE, WHOLE, Call, answer, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals")]

DOWN = answer(b"", status="500 Internal Server Error")


def lines(running: Running, *events: str) -> list[dict[str, Any]]:
    """The lines with these events, without what every line has."""
    usual = ("timestamp", "logger", "pid")
    return [
        {name: value for name, value in line.items() if name not in usual}
        for line in running.told
        if line["event"] in events
    ]


async def until_said(running: Running, event: str) -> None:
    await running.line(lambda line: bool(line["event"] == event))


async def test_breaker_that_opens_and_closes_gives_one_line_each(tmp_path: Path) -> None:
    is_down = True

    async def now_and_then(call: Call) -> None:
        await call.send(DOWN if is_down else WHOLE)

    async with upstream(now_and_then) as server:
        upstreams = {
            "agent": {"url": server.url, "speaks": "legacy", "breaker": {"failures": 2, "open_for": "300ms"}}
        }
        endpoints = {"/chat": {"upstream": "agent"}}
        async with running_gateway(tmp_path, upstreams=upstreams, endpoints=endpoints) as running:
            await running.ready()
            for _ in range(4):
                await ask(running.at)
            await asyncio.sleep(0.4)
            await ask(running.at)  # the trial fails: the breaker stays open
            is_down = False
            await asyncio.sleep(0.4)
            await ask(running.at)
            await until_said(running, "breaker closed")
            assert lines(running, "breaker opened", "breaker closed") == [
                {"event": "breaker opened", "level": "warning", "upstream": "agent", "failures": 2},
                {"event": "breaker closed", "level": "info", "upstream": "agent"},
            ]


async def test_drain_gives_a_line_at_its_begin_and_at_its_end(tmp_path: Path) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await call.until_closed()

    async with upstream(endless) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        async with (
            running_gateway(tmp_path, endpoints=endpoints, server={"drain": "200ms"}) as running,
        ):
            await running.ready()
            async with client(running.at) as connected:
                connected.send()
                await connected.until(b"Hel")
                running.signal(signal.SIGTERM)
                await connected.whole()
                assert await running.ended() == 0
            begin, end = lines(running, "drain begins", "drain ends")
    assert begin == {"event": "drain begins", "level": "info", "open": 1}
    assert (end["event"], end["open"]) == ("drain ends", 1)
    assert end["seconds"] >= 0.2


async def test_drain_of_several_workers_gives_one_line_each_for_all_of_them(tmp_path: Path) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await call.until_closed()

    async with upstream(endless) as server, AsyncExitStack() as stack:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        options = {"drain": "200ms", "workers": 2}
        running = await stack.enter_async_context(
            running_gateway(tmp_path, endpoints=endpoints, server=options)
        )
        await running.ready()
        clients = [await stack.enter_async_context(client(running.at)) for _ in range(8)]
        for connected in clients:
            connected.send()
            await connected.until(b"Hel")
        running.signal(signal.SIGTERM)
        for connected in clients:
            await connected.whole()
        assert await running.ended() == 0
        begin, end = lines(running, "drain begins", "drain ends")
    assert begin["open"] == end["open"] == 8
    assert end["seconds"] >= 0.2


async def test_worker_that_is_replaced_gives_a_line_with_the_reason(tmp_path: Path) -> None:
    async with upstream(WHOLE) as server:
        endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy"}}
        async with running_gateway(tmp_path, endpoints=endpoints, server={"workers": 2}) as running:
            await running.ready()
            os.kill(running.workers()[0], signal.SIGKILL)
            await until_said(running, "worker replaced")
            assert lines(running, "worker replaced") == [
                {"event": "worker replaced", "level": "warning", "reason": "exited"}
            ]


async def test_store_that_goes_away_and_comes_back_gives_one_line_each(tmp_path: Path) -> None:
    binary = redis_binaries()[0]
    with redis_server(binary) as redis:
        redis.command("CONFIG", "SET", "requirepass", "geheim")
        url = f"redis://:geheim@127.0.0.1:{redis.port}/0"
        async with upstream(WHOLE) as server:
            endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy", "resume": "on"}}
            async with running_gateway(
                tmp_path, endpoints=endpoints, store={"url": url, "timeout": "2s"}
            ) as running:
                await running.ready()
                assert (await ask(running.at)).status == 200
                os.kill(redis.process.pid, signal.SIGSTOP)
                try:
                    for _ in range(3):
                        assert (await ask(running.at)).status == 200
                    await until_said(running, "store away")
                finally:
                    os.kill(redis.process.pid, signal.SIGCONT)
                await until_said(running, "store back")
                away, back = lines(running, "store away", "store back")
    assert away == {"event": "store away", "level": "warning", "store": url.replace(":geheim", "[redacted]")}
    assert (back["event"], back["level"]) == ("store back", "info")
    assert back["seconds"] > 0
    assert "geheim" not in str(running.told)


async def test_store_that_goes_away_from_several_workers_gives_one_line_each(tmp_path: Path) -> None:
    with redis_server(redis_binaries()[0]) as redis:
        async with upstream(WHOLE) as server:
            endpoints = {"/chat": {"upstream": server.url, "speaks": "legacy", "resume": "on"}}
            store = {"url": redis.url, "timeout": "2s"}
            async with running_gateway(
                tmp_path, endpoints=endpoints, store=store, server={"workers": 2}
            ) as running:
                await running.ready()
                await asyncio.gather(*(ask(running.at) for _ in range(16)))
                os.kill(redis.process.pid, signal.SIGSTOP)
                try:
                    await asyncio.gather(*(ask(running.at) for _ in range(16)))
                    await until_said(running, "store away")
                finally:
                    os.kill(redis.process.pid, signal.SIGCONT)
                await until_said(running, "store back")
                await until(lambda: have_a_store(running))
                found = lines(running, "store away", "store back")
    assert [line["event"] for line in found] == ["store away", "store back"]


async def have_a_store(running: Running) -> bool:
    """Whether all workers have noticed that the store answers again."""
    return (await samples(running.at)).get("store_up") == 1
