"""How the gateway stops: readiness first, streams that can finish do, the others end properly."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loopback import ask, client
from patience import PATIENCE, until
from running_gateway import Running, running_gateway
from scripted_upstream import HELLO, LAST_CHUNK, SSE, Call, Script, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="POSIX signals")]

TOKEN, _, DONE = HELLO


async def endless(call: Call) -> None:
    await call.send(SSE, chunk(TOKEN))
    await call.until_closed()


@asynccontextmanager
async def draining(
    folder: Path, script: Script, *, write: str = "30s", **server: Any
) -> AsyncIterator[Running]:
    async with upstream(script) as backend:
        endpoint = {"upstream": backend.url, "speaks": "legacy", "timeouts": {"write": write}}
        async with running_gateway(folder, endpoints={"/chat": endpoint}, server=server) as running:
            await running.ready()
            yield running


@pytest.mark.parametrize(("sent", "workers"), [(signal.SIGTERM, 1), (signal.SIGTERM, 2), (signal.SIGINT, 1)])
async def test_stop_ends_streams_properly(sent: signal.Signals, workers: int, tmp_path: Path) -> None:
    async with (
        draining(tmp_path, endless, drain="300ms", workers=workers) as running,
        client(running.at) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        running.signal(sent)
        got = (await connected.whole()).assert_valid()
        assert await running.ended() == 0
    assert got.error is not None
    assert (got.error["code"], got.end["reason"]) == ("GATEWAY_DRAINING", "draining")
    line = next(line for line in running.told if line["event"] == "request")
    assert line["reason"] == "draining"
    assert not [line for line in running.told if line["level"] == "error"]


async def is_draining(running: Running) -> bool:
    """Whether no worker is ready; each request may come to any of them."""
    ready = [await ask(running.at, "GET", "/readyz", body=b"") for _ in range(12)]
    return {answer.status for answer in ready} == {503}


@pytest.mark.parametrize("workers", [1, 2])
async def test_stop_lets_streams_finish_and_refuses_other_requests(workers: int, tmp_path: Path) -> None:
    may_end = asyncio.Event()

    async def waiting(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN))
        await may_end.wait()
        await call.send(chunk(DONE), LAST_CHUNK)

    async with (
        draining(tmp_path, waiting, drain="60s", workers=workers) as running,
        client(running.at) as connected,
        client(running.at) as idle,
    ):
        connected.send()
        await connected.until(b"Hel")
        idle.send("GET", "/readyz", body=b"")
        assert (await idle.whole()).status == 200
        running.signal(signal.SIGTERM)
        await until(lambda: is_draining(running))
        alive = await ask(running.at, "GET", "/healthz", body=b"")
        refused = await ask(running.at)
        may_end.set()
        got = (await connected.whole()).assert_valid()
        assert await running.ended() == 0
    assert alive.status == 200
    assert (refused.status, refused.json["error"]["code"]) == (503, "GATEWAY_DRAINING")
    assert refused.header("connection") == "close"
    assert got.end["status"] == "completed"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc")
async def test_workers_without_streams_answer_until_the_streams_of_others_have_ended(tmp_path: Path) -> None:
    async with (
        draining(tmp_path, endless, drain="60s", workers=2) as running,
        client(running.at) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        running.signal(signal.SIGTERM)
        await until(lambda: is_draining(running))
        await asyncio.sleep(0.5)  # the worker without a stream could have ended
        answers = [await ask(running.at, "GET", "/healthz", body=b"") for _ in range(20)]
        assert [answer.status for answer in answers] == [200] * 20
        assert len(running.workers()) == 2
        connected.writer.close()
        assert await running.ended() == 0


@pytest.mark.parametrize("workers", [1, 2])
async def test_with_nothing_under_way_a_stop_is_prompt(workers: int, tmp_path: Path) -> None:
    async with (
        draining(tmp_path, endless, drain="60s", workers=workers) as running,
        client(running.at) as silent,
        client(running.at) as half,
        client(running.at) as idle,
    ):
        idle.send("GET", "/healthz", body=b"")
        await idle.whole()
        half.writer.write(b"POST /chat HTTP/1.1\r\n")
        running.signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE):
            assert await running.ended() == 0
        assert await silent.reader.read() == b""


@pytest.mark.parametrize("workers", [1, 2])
async def test_second_signal_ends_streams_at_once(workers: int, tmp_path: Path) -> None:
    async with (
        draining(tmp_path, endless, drain="60s", workers=workers) as running,
        client(running.at) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        running.signal(signal.SIGTERM)
        await asyncio.sleep(0.3)
        running.signal(signal.SIGTERM)
        got = (await connected.whole()).assert_valid()
        async with asyncio.timeout(PATIENCE):
            assert await running.ended() == 0
    assert got.end["reason"] == "draining"


async def flood(call: Call) -> None:
    await call.send(SSE)
    while True:
        await call.send(chunk(TOKEN * 1000))


@pytest.mark.parametrize("workers", [1, 2])
async def test_client_that_reads_late_gets_the_end(workers: int, tmp_path: Path) -> None:
    async with (
        draining(tmp_path, flood, write="20s", drain="200ms", workers=workers) as running,
        client(running.at) as connected,
    ):
        connected.stop_reading()
        connected.send()
        await asyncio.sleep(0.5)
        running.signal(signal.SIGTERM)
        await asyncio.sleep(3)
        connected.read_on()
        got = (await connected.whole()).assert_valid()
        async with asyncio.timeout(PATIENCE):
            assert await running.ended() == 0
    assert got.error is not None
    assert (got.error["code"], got.end["reason"]) == ("GATEWAY_DRAINING", "draining")


@pytest.mark.parametrize("signals", [1, 2])
async def test_client_that_does_not_read_delays_no_stop_beyond_its_time(signals: int, tmp_path: Path) -> None:
    write = "1s" if signals == 1 else "60s"
    async with (
        draining(tmp_path, flood, write=write, drain="200ms") as running,
        client(running.at) as connected,
    ):
        connected.stop_reading()
        connected.send()
        await asyncio.sleep(0.5)
        for _ in range(signals):
            running.signal(signal.SIGTERM)
            await asyncio.sleep(0.3)
        async with asyncio.timeout(PATIENCE):
            assert await running.ended() == 0
    assert not [line for line in running.told if line["level"] == "error"]


async def test_clients_that_leave_are_no_error_in_the_log(tmp_path: Path) -> None:
    async with draining(tmp_path, endless, drain="200ms") as running:
        async with client(running.at) as connected:
            connected.send()
            await connected.until(b"Hel")
        await running.says("request")
        running.signal(signal.SIGTERM)
        assert await running.ended() == 0
    (line,) = [line for line in running.told if line["event"] == "request"]
    assert (line["reason"], line["level"]) == ("client_gone", "info")
    assert {line["level"] for line in running.told} == {"info"}
