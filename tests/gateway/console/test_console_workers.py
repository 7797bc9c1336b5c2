"""Several serving processes behind one console."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from capture_checks import assert_whole, body_of, of_kind
from console_client import Console, console_of
from loopback import Answer, client
from other_processes import sockets_of
from patience import PATIENCE
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

TWO = {"server": {"workers": 2}, "console": {"capture": "content"}}


async def crowd(console: Console, count: int) -> list[Answer]:
    """Answers of clients on connections of their own, which the processes share."""
    return await asyncio.gather(*(console.call("/chat") for _ in range(count)))


async def test_rows_plots_and_captures_of_all_workers_are_shown_as_one(tmp_path: Path) -> None:
    async def slow(call: Call) -> None:
        await call.send(SSE, *map(chunk, HELLO), pause=0.05)
        await call.send(LAST_CHUNK)

    async with upstream(slow) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with (
            console_of(tmp_path, endpoints=endpoints, **TWO) as console,
            console.feed(since=0) as feed,
        ):
            answers: list[Answer] = []
            while {row["worker"] for row in await console.rows()} != {1, 2}:
                answers += await crowd(console, 10)
                await asyncio.sleep(0.1)
            ids = {answer.header("x-request-id") for answer in answers}
            async with asyncio.timeout(PATIENCE):
                while len(rows := await console.rows(state="ended", limit=2000)) < len(answers):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
            assert {row["request_id"] for row in rows} == ids
            assert len({row["id"] for row in rows}) == len(rows)
            began = [row["began"] for row in rows]
            assert began == sorted(began, reverse=True)
            for worker in (1, 2):
                row = next(row for row in rows if row["worker"] == worker)
                lines = await console.capture(row["id"])
                assert_whole(lines)
                assert body_of(of_kind(lines, "read")) == b"".join(HELLO)
                assert (await console.get(f"streams/{row['id']}"))["attempts"][0]["ended"] == "eof"
            told = {(await feed.row(state="ended"))["id"] for _ in rows}
            assert told == {row["id"] for row in rows}
            async with asyncio.timeout(PATIENCE):
                while sum((await console.get("plots"))["reasons"].get("done", [])) < len(answers):  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            plots = await console.get("plots", endpoint="/chat")
            assert sum(plots["reasons"]["done"]) == len(answers) == sum(plots["started"])
            assert (await console.get("info"))["workers"] == 2
            states = (await console.get("config"))["upstreams"]
            assert len(states) == 1
            assert states[0]["open"] == 0


async def test_open_rows_of_a_killed_worker_end_as_lost(tmp_path: Path) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await call.until_closed()

    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints, **TWO) as console:
            async with client(console.running.at) as one:
                one.send()
                await one.until(b"Hel")
                row = await console.row(state="streaming")
                os.kill(serving(console), signal.SIGKILL)
                lost = await console.row(id=row["id"], state="ended")
                assert (lost["reason"], lost["capture"]) == ("lost", "none")
            async with client(console.running.at) as other:
                other.send()
                await other.until(b"Hel")
                await console.row(state="streaming")


async def test_capture_of_a_worker_that_does_not_answer_is_kept(tmp_path: Path) -> None:
    async with upstream(WHOLE) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with console_of(tmp_path, endpoints=endpoints, **TWO) as console:
            async with client(console.running.at) as one:
                one.send()
                row = await console.row(state="ended")
                stopped = serving(console)
                os.kill(stopped, signal.SIGSTOP)
                try:
                    answer = await console.request(f"/api/v1/streams/{row['id']}/capture")
                finally:
                    os.kill(stopped, signal.SIGCONT)
                assert (answer.status, answer.json["error"]["code"]) == (503, "OVERLOADED")
                assert "does not answer" in answer.json["error"]["message"]
            assert (await console.capture(row["id"]))[-1]["kind"] == "end"


def serving(console: Console) -> int:
    """The process that has the only connection of a client (Linux)."""
    port = f"{console.running.at.address[1]:04X}"
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {line[9] for line in lines if line[1].endswith(f":{port}") and line[3] == "01"}
    for pid in console.running.workers():
        if not inodes.isdisjoint(sockets_of(pid)):
            return pid
    raise AssertionError("no process serves")


async def test_reload_takes_settings_over_and_names_those_for_a_restart(tmp_path: Path) -> None:
    async with upstream(SSE) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with (
            console_of(tmp_path, endpoints=endpoints, **TWO) as console,
            console.feed() as feed,
        ):
            await feed.ping()
            text = console.running.file.read_text()
            assert '"capture": "content"' in text
            changed = text.replace('"capture": "content"', '"capture": "metadata", "hosts": ["c.example"]')
            console.running.file.write_text(changed)
            console.running.signal(signal.SIGHUP)
            info = await feed.next("info")
            assert info["capture"] == "metadata"
            assert (await console.request("/api/v1/info", host="c.example")).status == 200
            console.running.file.write_text(changed.replace("a-token-of", "another-token-of"))
            console.running.signal(signal.SIGHUP)
            line = await console.running.says("restart")
            assert "console.token" in str(line)
            assert (await console.request("/api/v1/info")).status == 200
            console.running.file.write_text("endpoints: {no: 1}")
            console.running.signal(signal.SIGHUP)
            async with asyncio.timeout(PATIENCE):
                while "reload_error" not in (shown := await console.get("config")):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            assert shown["reload_error"]["problems"]
            assert shown["file_hash"] != shown["running_hash"]
