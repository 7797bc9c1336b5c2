"""A worker that answers nobody is replaced, and the log names what was open in it."""

import asyncio
import json
import multiprocessing
import os
import re
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from loopback import ask, client, settled
from patience import PATIENCE, until
from running_gateway import Running, running_gateway
from scripted_upstream import HELLO, SSE, Call, chunk, upstream
from streamweir_gateway.processes import worker_place
from streamweir_gateway.processes.sockets import Listeners, listeners_of
from streamweir_gateway.processes.worker_board import OpenStreams, SharedAbsence

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform != "linux", reason="looks at processes through /proc"),
]


def place_of(listeners: Listeners) -> worker_place.WorkerPlace:
    """The place of a worker that has no others beside it."""
    context = multiprocessing.get_context("spawn")
    return worker_place.WorkerPlace(listeners, 0, OpenStreams(context, 1), SharedAbsence(context))


async def endless(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]))
    await call.until_closed()


async def replaced(running: Running, times: str) -> bool:
    metrics = await ask(running.at, "GET", "/metrics", body=b"")
    found = re.search(rb'streamweir_workers_replaced_total{reason="hung"} (\S+)', metrics.body)
    assert found
    return found[1].decode() == times


async def test_worker_that_hangs_is_replaced(tmp_path: Path) -> None:
    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        server = {"workers": 2, "hang_time": "2s"}
        async with running_gateway(tmp_path, endpoints=endpoints, server=server) as running:
            await running.ready()
            before = running.workers()
            async with client(running.at) as connected:
                connected.send(headers=[("X-Request-Id", "mine")])
                await connected.until(b"Hel")
                for pid in before:
                    os.kill(pid, signal.SIGSTOP)
                await until(lambda: len(set(running.workers()) - set(before)) == 2)
                await until(lambda: len([line for line in running.told if "hangs" in line["event"]]) == 2)
                lines = [line for line in running.told if "hangs" in line["event"]]
                assert {line["pid"] for line in lines} == set(before)
                assert sorted(line["streams"] for line in lines) == [0, 1]
                assert sorted(line["open"] for line in lines) == ["", "mine /chat"]
                assert not (await connected.whole()).is_whole
            async with client(running.at) as connected:
                connected.send()
                await connected.until(b"Hel")
            await until(lambda: replaced(running, "2.0"))  # each new worker counts itself
            assert not [line for line in running.told if "ended" in line["event"]]


async def test_worker_with_hang_time_off_is_not_replaced(tmp_path: Path) -> None:
    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        server = {"workers": 2, "hang_time": "off"}
        async with running_gateway(tmp_path, endpoints=endpoints, server=server) as running:
            await running.ready()
            before = running.workers()
            os.kill(before[0], signal.SIGSTOP)
            await asyncio.sleep(3)
            assert running.workers() == before
            os.kill(before[0], signal.SIGCONT)
            assert await replaced(running, "0.0")


def padded(file: dict[str, Any]) -> str:
    """A configuration of a megabyte, which no pipe and no socket takes at once."""
    headers = {f"X-{number}": "x" * 8000 for number in range(125)}
    chat = {**file["endpoints"]["/chat"], "headers": headers}
    return json.dumps({**file, "endpoints": {"/chat": chat}})


async def test_reload_while_a_worker_hangs_does_not_stop_the_parent_from_replacing_it(tmp_path: Path) -> None:
    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        server = {"workers": 2, "hang_time": "2s"}
        async with running_gateway(tmp_path, endpoints=endpoints, server=server) as running:
            await running.ready()
            before = running.workers()
            os.kill(before[0], signal.SIGSTOP)
            file = json.loads(running.file.read_text())
            for _ in range(3):
                running.file.write_text(padded(file))
                running.signal(signal.SIGHUP)
                await asyncio.sleep(0.1)
            await until(lambda: before[0] not in running.workers() and len(running.workers()) == 2)
            assert before[1] in running.workers()
            running.signal(signal.SIGTERM)
            assert await running.ended() == 0


async def test_reload_while_a_worker_hangs_does_not_stop_the_parent_from_stopping(tmp_path: Path) -> None:
    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        server = {"workers": 2, "hang_time": "off", "drain": "1s"}
        async with running_gateway(tmp_path, endpoints=endpoints, server=server) as running:
            await running.ready()
            stopped = running.workers()[0]
            os.kill(stopped, signal.SIGSTOP)
            file = json.loads(running.file.read_text())
            running.file.write_text(padded(file))
            running.signal(signal.SIGHUP)
            await asyncio.sleep(0.3)
            running.signal(signal.SIGTERM)
            await asyncio.sleep(0.1)
            running.signal(signal.SIGTERM)  # in a hurry
            async with asyncio.timeout(PATIENCE):
                assert await running.ended() == 0
            assert [line["pid"] for line in running.told if "is killed" in line["event"]] == [stopped]


async def test_large_configuration_reaches_every_worker(tmp_path: Path) -> None:
    async with upstream(endless) as backend:
        chat = {"upstream": backend.url, "speaks": "legacy"}
        server = {"workers": 2, "log_level": "debug"}
        async with running_gateway(tmp_path, endpoints={"/chat": chat}, server=server) as running:
            await running.ready()
            changed = json.loads(running.file.read_text())
            running.file.write_text(padded(changed))
            running.signal(signal.SIGHUP)
            await until(lambda: len([line for line in running.told if "taken over" in line["event"]]) == 2)
            assert len({line["config"] for line in running.told if "taken over" in line["event"]}) == 1


async def test_worker_that_hangs_before_it_is_ready_counts_as_one_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_place, "START_SECONDS", 0.2)
    config = settled(listen="127.0.0.1:0", endpoints={"/chat": {"upstream": "demo:legacy"}})
    (listeners,) = listeners_of(config)
    place = place_of(listeners)
    try:
        place.start(config)
        assert place.process is not None
        assert place.process.pid is not None
        os.kill(place.process.pid, signal.SIGSTOP)
        place.update_silence()
        assert place.hung_seconds < 1
        await asyncio.sleep(1.5)
        place.update_silence()
        assert not place.becomes_ready()
        assert place.hung_seconds > 1
    finally:
        place.kill()
        await until(place.has_ended)
        place.clear()
        listeners.close()


async def test_place_of_a_worker_that_ended_is_not_ready() -> None:
    config = settled(listen="127.0.0.1:0", endpoints={"/chat": {"upstream": "demo:legacy"}})
    (listeners,) = listeners_of(config)
    place = place_of(listeners)
    try:
        place.start(config)
        await until(place.becomes_ready)
        place.kill()
        await until(place.has_ended)
        assert place.is_ready
        place.clear()
        assert not place.is_ready
    finally:
        listeners.close()
