"""Workers of an application with one Redis: each serves every run, even if the first is killed."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from kept_app import WORDS
from kept_workers import KeptWorker, kept_worker
from loopback import Answer, ask, client
from patience import PATIENCE
from redis_servers import RedisServer, redis_binaries, redis_server
from streamweir.testing import check_stream

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


@asynccontextmanager
async def workers(folder: Path) -> AsyncIterator[tuple[KeptWorker, KeptWorker, RedisServer]]:
    async with AsyncExitStack() as stack:
        store = stack.enter_context(redis_server(redis_binaries()[0]))
        first, second = [
            await stack.enter_async_context(kept_worker(store.url, folder / name)) for name in ("one", "two")
        ]
        yield first, second, store


STANDARD = ("X-Streamweir-Protocol", "standard")


async def read(worker: KeptWorker, handle: str | None, last: str = "", protocol: str = "standard") -> Answer:
    headers = [("X-Streamweir-Protocol", protocol), *([("Last-Event-ID", last)] if last else [])]
    return await ask(worker.at, "GET", f"/-/runs/{handle}", headers=headers, body=b"")


@pytest.mark.parametrize("protocol", ["standard", "openai-chat", "ag-ui"])
async def test_run_can_be_read_on_at_any_worker_after_any_id(tmp_path: Path, protocol: str) -> None:
    async with workers(tmp_path) as (first, second, _):
        whole = await ask(first.at, headers=[("X-Streamweir-Protocol", protocol)])
        handle = whole.header("x-streamweir-run")
        ends = [(match[1], whole.body.index(b"\n\n", match.end()) + 2)
                for match in re.finditer(rb"^id: (\S+)$", whole.body, re.M)]  # fmt: skip
        assert len(ends) > WORDS
        for last, end in ends:
            rest = await read(second, handle, last.decode(), protocol)
            assert rest.body == whole.body[end:]
            assert rest.status == (200 if rest.body else 204)
        assert (first.said(), second.said()) == (["began", "ended"], [])


async def test_runs_of_a_killed_worker_end_once(tmp_path: Path) -> None:
    async with workers(tmp_path) as (first, second, _), client(first.at) as reader:
        reader.send()
        await reader.until(b"word 3 ")
        handle = reader.answer.header("x-streamweir-run")
        reading = [asyncio.create_task(read(second, handle)) for _ in range(3)]
        await asyncio.sleep(0.3)
        first.process.send_signal(signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            answers = await asyncio.gather(*reading)
        assert len({answer.body for answer in answers}) == 1
        answer = answers[0]
        assert check_stream(answer.body) == []
        assert answer.error is not None
        assert (answer.error["code"], answer.end["status"], answer.end["reason"]) == (
            "RUN_LOST", "error", "lost",
        )  # fmt: skip
        failed = [event["data"]["tool_id"] for event in answer.events if event["type"] == "tool_call_end"]
        assert failed == ["c"]
        assert (await read(second, handle)).body == answer.body
        assert second.said() == []


async def test_cancel_at_one_worker_ends_the_generator_of_another(tmp_path: Path) -> None:
    async with workers(tmp_path) as (first, second, _), client(first.at) as reader:
        reader.send()
        await reader.until(b"word 3 ")
        handle = reader.answer.header("x-streamweir-run")
        stopped = await ask(second.at, "POST", f"/-/runs/{handle}/cancel", body=b"")
        assert (stopped.status, stopped.json["run"]["reason"]) == (200, "cancelled")
        assert (await reader.whole()).end["reason"] == "cancelled"
        async with asyncio.timeout(PATIENCE):
            while first.said() != ["began", "ended"]:  # noqa: ASYNC110 (another process says it)
                await asyncio.sleep(0.05)


async def test_store_that_stops_costs_the_first_client_only_the_resuming(tmp_path: Path) -> None:
    async with workers(tmp_path) as (first, second, store), client(first.at) as reader:
        reader.send()
        await reader.until(b"word 3 ")
        handle = reader.answer.header("x-streamweir-run")
        async with client(second.at) as reading:
            reading.send("GET", f"/-/runs/{handle}", headers=[STANDARD], body=b"")
            await reading.until(b"word 1 ")
            store.process.send_signal(signal.SIGSTOP)
            try:
                whole = await reader.whole()
                other = await reading.whole()
            finally:
                store.process.send_signal(signal.SIGCONT)
        assert check_stream(whole.body) == []
        assert whole.end["status"] == "completed"
        assert b"word %d " % (WORDS - 1) in whole.body
        assert whole.body.count(b"RESUME_LOST") == 1
        assert whole.body.startswith(other.body)
        assert b"session_end" not in other.body
