"""Several worker processes on one address: started, started again, stopped, gone with their parent."""

import asyncio
import hashlib
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from loopback import ask, client
from other_processes import is_alive, kill, sockets_of
from patience import PATIENCE, until
from running_gateway import Running, running_gateway
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, chunk, upstream

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc"),
]


def endpoints(url: str, **options: Any) -> dict[str, Any]:
    return {"/chat": {"upstream": url, "speaks": "legacy", **options}}


async def test_all_workers_serve_and_a_reload_reaches_each_once(tmp_path: Path) -> None:
    async with (
        upstream(WHOLE) as server,
        running_gateway(tmp_path, endpoints=endpoints(server.url), server={"workers": 2}) as running,
    ):
        await running.ready()
        assert len(running.workers()) == 2
        for answer in await asyncio.gather(*[ask(running.at) for _ in range(20)]):
            assert answer.assert_valid().end["status"] == "completed"
        counted = await ask(running.at, "GET", "/metrics", body=b"")
        limits = Path(f"/proc/{running.workers()[0]}/limits").read_text()  # noqa: ASYNC240
        running.signal(signal.SIGTERM)
        assert await running.ended() == 0
    assert re.search(rb'streamweir_streams_total{endpoint="/chat",reason="done".*} 20\.0', counted.body)
    soft, hard = re.findall(r"Max open files +(\w+) +(\w+)", limits)[0]
    assert soft == hard
    assert running.stdout.count(b"listens on") == 1
    told = [line["event"] for line in running.told]
    assert [event for event in told if not event.startswith("drain")] == ["request"] * 20


@contextmanager
def one_processor() -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


async def endless(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]))
    await call.until_closed()


@asynccontextmanager
async def open_streams(running: Running, count: int) -> AsyncIterator[None]:
    """As many streams, each of which has had its first text."""
    opened = [await asyncio.open_connection(*running.at.address) for _ in range(count)]
    for _, writer in opened:
        writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}")
    try:
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*[reader.readuntil(b"Hel") for reader, _ in opened])
        yield
    finally:
        for _, writer in opened:
            writer.transport.abort()


@pytest.mark.parametrize(("workers", "policy"), [(2, "SCHED_BATCH"), (1, "SCHED_OTHER")])
async def test_workers_take_turns_where_they_outnumber_the_processors(
    tmp_path: Path, workers: int, policy: str
) -> None:
    async with upstream(WHOLE) as server:
        with one_processor():
            serving = running_gateway(tmp_path, endpoints=endpoints(server.url), server={"workers": workers})
            async with serving as running:
                await running.ready()
                policies = {os.sched_getscheduler(pid) for pid in running.workers() or [running.pid]}
                assert policies == {getattr(os, policy)}
                assert (await ask(running.at)).assert_valid().end["status"] == "completed"


async def test_worker_beyond_the_processors_accepts_when_the_other_one_does_not(tmp_path: Path) -> None:
    async with upstream(endless) as server:
        with one_processor():
            options = {"workers": 2, "hang_time": "off"}
            async with running_gateway(tmp_path, endpoints=endpoints(server.url), server=options) as running:
                await running.ready()
                first, second = running.workers()
                async with open_streams(running, 20):
                    assert len(sockets_of(first)) > len(sockets_of(second))
                for hanging in (first, second):
                    os.kill(hanging, signal.SIGSTOP)
                    async with open_streams(running, 20):
                        pass
                    os.kill(hanging, signal.SIGCONT)
                running.signal(signal.SIGTERM)
                assert await running.ended() == 0


async def test_every_worker_serves(tmp_path: Path) -> None:
    async with (
        upstream(endless) as server,
        running_gateway(tmp_path, endpoints=endpoints(server.url), server={"workers": 2}) as running,
    ):
        await running.ready()
        async with open_streams(running, 40):
            counts = [len(sockets_of(pid)) for pid in running.workers()]
    assert min(counts) > 12, counts  # of 40 connections and as many to the upstream, and a few of their own


async def test_worker_that_dies_is_started_again(tmp_path: Path) -> None:
    async with (
        upstream(WHOLE) as server,
        running_gateway(tmp_path, endpoints=endpoints(server.url), server={"workers": 2}) as running,
    ):
        await running.ready()
        first, second = running.workers()
        os.kill(first, signal.SIGKILL)
        assert (await running.says("a worker ended"))["exit_code"] == -signal.SIGKILL
        await until(lambda: len(running.workers()) == 2)
        assert second in running.workers()
        for _ in range(10):  # whichever queue they come into: the new worker takes them
            assert (await ask(running.at)).assert_valid().end["status"] == "completed"
        running.signal(signal.SIGTERM)
        assert await running.ended() == 0


async def test_workers_that_keep_dying_end_it_all(tmp_path: Path) -> None:
    async with running_gateway(
        tmp_path, endpoints=endpoints("http://127.0.0.1:9"), server={"workers": 2}
    ) as running:
        await running.ready()
        ending = asyncio.create_task(running.ended())
        while not ending.done():
            if alive := [pid for pid in running.workers() if is_alive(pid)]:
                kill(alive[0])
            await asyncio.wait([ending], timeout=0.2)
        assert await ending == 1
    assert [line["event"] for line in running.told if line["level"] == "error"] == [
        "workers end as soon as they are started: giving up"
    ]


async def test_workers_stop_when_their_parent_dies(tmp_path: Path) -> None:
    async with running_gateway(
        tmp_path, endpoints=endpoints("http://127.0.0.1:9"), server={"workers": 2}
    ) as running:
        await running.ready()
        workers = running.workers()
        os.kill(running.pid, signal.SIGKILL)
        await until(lambda: not any(map(is_alive, workers)))


async def test_ctrl_c_in_a_terminal_is_one_stop(tmp_path: Path) -> None:
    """A terminal sends it to parent and workers: the workers must not take both for two."""

    async def a_second(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await asyncio.sleep(1)
        await call.send(chunk(HELLO[2]), LAST_CHUNK)

    async with (
        upstream(a_second) as server,
        running_gateway(tmp_path, endpoints=endpoints(server.url), server={"workers": 2}) as running,
    ):
        await running.ready()
        async with client(running.at) as connected:
            connected.send()
            await connected.until(b"Hel")
            for pid in (running.pid, *running.workers()):
                os.kill(pid, signal.SIGINT)
            got = (await connected.whole()).assert_valid()
        assert await running.ended() == 0
    assert got.end["status"] == "completed"
    told = [line["event"] for line in running.told]
    assert not [event for event in told if event != "request" and not event.startswith("drain")]


async def test_address_in_use_is_reported_once(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with running_gateway(
            tmp_path, endpoints=endpoints("http://127.0.0.1:9"), server={"workers": 2}, listen=address
        ) as running:
            _, told = await running.process.communicate()
    assert running.process.returncode == 1
    assert told.decode() == f"streamweir: cannot listen on {address}: Address already in use\n"


async def test_two_gateways_do_not_share_an_address(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"endpoints": endpoints("http://127.0.0.1:9"), "server": {"workers": 2}}
    (tmp_path / "second").mkdir()
    async with running_gateway(tmp_path, **keys) as first:
        await first.ready()
        address = f"127.0.0.1:{first.at.address[1]}"
        async with running_gateway(tmp_path / "second", listen=address, **keys) as second:
            await second.process.communicate()
    assert second.process.returncode == 1


# --- a changed file -----------------------------------------------------------------------------------------


def rewritten(running: Running, text: str | None = None, **keys: Any) -> None:
    """Exchange the file as editors do it."""
    other = running.file.with_suffix(".new")
    other.write_text(text or json.dumps({"listen": "127.0.0.1:0", **keys}))
    other.replace(running.file)


async def answers(running: Running, target: str, status: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            got = [(await ask(running.at, target=target)).status for _ in range(4)]
            if got == [status] * 4:
                return
            await asyncio.sleep(0.1)


async def config_in_readiness(running: Running) -> str:
    return str((await ask(running.at, "GET", "/readyz", body=b"")).json["config"])


async def served_file(running: Running, *, refused: int) -> str:
    """Return the hash of the file, as readiness and metrics show it; `refused` reloads have been counted."""
    hashed = f"sha256:{hashlib.sha256(running.file.read_bytes()).hexdigest()}"
    async with asyncio.timeout(PATIENCE):
        while await config_in_readiness(running) != hashed:  # noqa: ASYNC110 - another process is watched
            await asyncio.sleep(0.1)
        shown = (await ask(running.at, "GET", "/metrics", body=b"")).body.decode()
    assert re.findall(r'streamweir_config_info\{hash="([^"]+)".*\} 1\.0', shown) == [hashed]
    counted = re.findall(r'streamweir_config_reloads_total\{outcome="refused".*\} (\S+)', shown)
    assert counted == [f"{refused}.0"]
    return hashed


@pytest.mark.parametrize("workers", [1, 2])
async def test_changed_file_is_taken_over(workers: int, tmp_path: Path) -> None:
    async def waiting(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await asyncio.wait_for(goes_on.wait(), PATIENCE)
        await call.send(chunk(HELLO[2]), LAST_CHUNK)

    goes_on = asyncio.Event()
    server = {"workers": workers}
    async with upstream(waiting) as backend, upstream(WHOLE) as other:
        keys: dict[str, Any] = {"endpoints": endpoints(backend.url), "server": server}
        async with running_gateway(tmp_path, **keys) as running:
            await running.ready()
            first = await served_file(running, refused=0)
            async with client(running.at) as connected:
                connected.send()
                await connected.until(b"Hel")
                rewritten(running, "endpoints: {/chat: {upstrem: x}}")
                running.signal(signal.SIGHUP)
                assert "not taken over" in (await running.says("upstrem"))["event"]
                new = {"/new": endpoints(other.url)["/chat"]}
                rewritten(running, endpoints=new, server={"workers": 3, "drain": "200ms"})
                running.signal(signal.SIGHUP)
                await answers(running, "/new", 200)
                await answers(running, "/chat", 404)
                assert await served_file(running, refused=1) != first
                goes_on.set()
                assert (await connected.whole()).assert_valid().end["status"] == "completed"
            running.signal(signal.SIGTERM)
            assert await running.ended() == 0
    assert [line["event"] for line in running.told].count("configuration taken over") == workers
    assert [line for line in running.told if "server.workers needs a restart" in line["event"]]


async def test_watched_file_needs_no_signal(tmp_path: Path) -> None:
    async with (
        upstream(WHOLE) as server,
        running_gateway(tmp_path, "--reload", endpoints=endpoints(server.url)) as running,
    ):
        await running.ready()
        new = {"/new": endpoints(server.url)["/chat"]}

        async def is_taken_over() -> bool:
            rewritten(running, endpoints=new)  # again and again: the watcher starts beside the gateway
            await asyncio.sleep(0.5)
            return (await ask(running.at, target="/new")).status == 200

        await until(is_taken_over)
        running.signal(signal.SIGTERM)
        assert await running.ended() == 0
