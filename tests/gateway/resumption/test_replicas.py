"""Several replicas with one store: each of them serves every run, also after the death of another."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loopback import ask, client
from patience import PATIENCE
from redis_servers import RedisServer, redis_binaries, redis_server
from running_gateway import Running, running_gateway
from scripted_upstream import LAST_CHUNK, SSE, WHOLE, Call, Script, Upstream, chunk, upstream
from streamweir.testing import check_stream

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

WORDS = 30


async def slowly(call: Call) -> None:
    """Send a word every 50 ms until the gateway closes the connection."""
    await words(call, goes_on=None)


async def words(call: Call, goes_on: asyncio.Event | None) -> None:
    """Send the words one by one; wait for `goes_on` in the middle."""
    left = asyncio.create_task(call.until_closed())
    try:
        await call.send(SSE, chunk(b'data: {"type": "tool_call", "tool_name": "t", "tool_id": "c"}\n\n'))
        for i in range(WORDS):
            await asyncio.wait([left], timeout=0.05)
            if left.done():
                return
            await call.send(chunk(b'data: {"type": "token", "content": "word %d "}\n\n' % i))
            if goes_on is not None and i == 5:
                await goes_on.wait()
        await call.send(chunk(b'data: {"type": "done"}\n\n'), LAST_CHUNK)
    finally:
        left.cancel()


@asynccontextmanager
async def replicas(
    folder: Path,
    number: int,
    *,
    server: RedisServer | None = None,
    script: Script | bytes = slowly,
    **file: Any,
) -> AsyncIterator[tuple[list[Running], Upstream]]:
    async with AsyncExitStack() as stack:
        store = server or stack.enter_context(redis_server(redis_binaries()[0]))
        backend = await stack.enter_async_context(upstream(script))
        endpoint = {
            "upstream": backend.url,
            "speaks": "legacy",
            "resume": "on",
            "answers": ["standard", "openai-chat"],
        }
        running = []
        for i in range(number):
            place = folder / str(i)
            place.mkdir()
            file = {**file, "store": {"url": store.url, "lease": "1s"}, "endpoints": {"/chat": endpoint}}
            running.append(await stack.enter_async_context(running_gateway(place, **file)))
        await asyncio.gather(*(replica.ready() for replica in running))
        yield running, backend


async def test_run_is_read_on_at_another_replica(tmp_path: Path) -> None:
    async with replicas(tmp_path, 2) as ((first, second), server):
        async with client(first.at) as reader:
            reader.send()
            await reader.until(b"word 5 ")
            handle = reader.answer.header("x-streamweir-run")
            reader.leave()
        seen = reader.answer.body.rpartition(b"\n\n")[0] + b"\n\n"
        last = re.findall(rb"^id: (\S+)$", seen, re.M)[-1].decode()
        rest = await ask(second.at, "GET", f"/-/runs/{handle}", headers=[("Last-Event-ID", last)], body=b"")
        assert rest.status == 200
        assert check_stream(seen + rest.body) == []
        assert rest.end["status"] == "completed"
        assert len(server.calls) == 1


async def test_run_of_a_killed_replica_ends_once_for_all_readers(tmp_path: Path) -> None:
    async with replicas(tmp_path, 3) as ((first, second, third), server):
        async with client(first.at) as reader:
            reader.send()
            await reader.until(b"word 3 ")
            handle = reader.answer.header("x-streamweir-run")
            reading = [
                asyncio.create_task(ask(replica.at, "GET", f"/-/runs/{handle}", body=b""))
                for replica in (second, third, second, third)
            ]
            await asyncio.sleep(0.2)  # most of them have begun to read
            first.signal(signal.SIGKILL)
            async with asyncio.timeout(PATIENCE):
                answers = await asyncio.gather(*reading)
        assert len({answer.body for answer in answers}) == 1
        answer = answers[0]
        assert check_stream(answer.body) == []
        assert answer.error is not None
        assert (answer.error["code"], answer.end["reason"]) == ("RUN_LOST", "lost")
        failed = [event for event in answer.events if event["type"] == "tool_call_end"]
        assert [event["data"]["tool_id"] for event in failed] == ["c"]
        assert len(server.calls) == 1


async def test_cancel_at_another_replica_stops_the_run(tmp_path: Path) -> None:
    async with replicas(tmp_path, 2) as ((first, second), server), client(first.at) as reader:
        reader.send()
        await reader.until(b"word 1 ")
        handle = reader.answer.header("x-streamweir-run")
        answer = await ask(second.at, "POST", f"/-/runs/{handle}/cancel", body=b"")
        assert (answer.status, answer.json["run"]["reason"]) == (200, "cancelled")
        whole = await reader.whole()
        assert whole.end["reason"] == "cancelled"
        async with asyncio.timeout(PATIENCE):
            await server.call.closed.wait()


async def test_slow_replica_whose_run_was_seized_is_fenced(tmp_path: Path) -> None:
    async with replicas(tmp_path, 2) as ((first, second), server), client(first.at) as reader:
        reader.send()
        await reader.until(b"word 3 ")
        handle = reader.answer.header("x-streamweir-run")
        first.signal(signal.SIGSTOP)
        lost = await ask(second.at, "GET", f"/-/runs/{handle}", body=b"")
        assert lost.error is not None
        assert lost.error["code"] == "RUN_LOST"
        first.signal(signal.SIGCONT)
        whole = await reader.whole()
        assert whole.body == lost.body
        assert len(server.calls) == 1


async def test_slow_replica_whose_run_was_not_seized_continues(tmp_path: Path) -> None:
    async with replicas(tmp_path, 2) as ((first, second), _), client(first.at) as reader:
        reader.send()
        await reader.until(b"word 3 ")
        handle = reader.answer.header("x-streamweir-run")
        reading = asyncio.create_task(ask(second.at, "GET", f"/-/runs/{handle}", body=b""))
        first.signal(signal.SIGSTOP)
        await asyncio.sleep(1.2)  # longer than its lease, and than what its store is given to answer
        first.signal(signal.SIGCONT)
        whole = await reader.whole()
        assert whole.end["status"] == "completed"
        assert (await reading).body == whole.body


async def test_full_store_cuts_readers_at_other_replicas_short(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def held(call: Call) -> None:
        await words(call, goes_on)

    with redis_server(redis_binaries()[0], "--maxmemory-policy", "noeviction") as store:
        async with (
            replicas(tmp_path, 2, server=store, script=held) as ((first, second), _),
            client(first.at) as reader,
        ):
            reader.send()
            await reader.until(b"word 3 ")
            handle = reader.answer.header("x-streamweir-run")
            headers = [("X-Streamweir-Protocol", "openai-chat")]
            async with client(second.at) as one, client(second.at) as two:
                for reading, extra in ((one, []), (two, headers)):
                    reading.send("GET", f"/-/runs/{handle}", headers=extra, body=b"")
                    await reading.until(b"word 1 ")
                store.command("CONFIG", "SET", "maxmemory", "1")
                goes_on.set()
                whole = await reader.whole()
                assert whole.end["status"] == "completed"
                assert whole.body.count(b"RESUME_LOST") == 1
                short, other = await one.whole(), await two.whole()
            assert whole.body.startswith(short.body)
            assert other.body.endswith(b'"code":"RUN_LOST"}}\n\n')


async def test_many_clients_that_reconnect_often_get_every_byte_once(tmp_path: Path) -> None:
    async with replicas(tmp_path, 2) as (running, server):

        async def one(number: int) -> None:
            target, method, handle, body = "/chat", "POST", "", b""
            headers: list[tuple[str, str]] = []
            for attempt in range(6):
                wanted = b"word %d " % (5 * attempt + number % 5)
                if attempt < 5 and wanted in body:
                    continue  # the connection before was read further than it had to be
                async with client(running[(number + attempt) % 2].at) as reader:
                    reader.send(method, target, headers=headers, body=b"{}" if method == "POST" else b"")
                    if attempt < 5:
                        while wanted not in body + reader.answer.body and await reader.step():
                            pass
                    else:
                        await reader.whole()
                assert reader.answer.status in (200, 204), reader.answer.body
                handle = reader.answer.header("x-streamweir-run") or handle
                if reader.answer.status == 204:
                    break
                part = reader.answer.body
                body += part[: part.rfind(b"\n\n") + 2] if b"\n\n" in part else b""
                method, target = "GET", f"/-/runs/{handle}"
                last = re.findall(rb"^id: (\S+)$", body, re.M)
                headers = [("Last-Event-ID", last[-1].decode())] if last else []
            assert check_stream(body) == []

        await asyncio.gather(*(one(number) for number in range(20)))
        assert len(server.calls) == 20


async def test_rate_limit_holds_over_all_replicas_and_per_replica_without_the_store(tmp_path: Path) -> None:
    async with replicas(tmp_path, 2, script=WHOLE, rate_limit="5/minute") as (running, _):
        statuses = [
            (await ask(running[i % 2].at, headers=[("Accept", "application/json")], target="/chat")).status
            for i in range(4)
        ]
        assert statuses == [200] * 4
        target = f"/-/runs/run_{'0' * 32}"
        reads = [(await ask(running[i % 2].at, "GET", target, body=b"")).status for i in range(7)]
        assert reads == [404] * 5 + [429] * 2
        removed = await ask(running[0].at, "DELETE", target, body=b"")
        assert removed.status == 404, "never limited"
        last = [await ask(running[i % 2].at) for i in range(3)]
        assert [answer.status for answer in last] == [200, 429, 429]
        assert last[1].header("retry-after")
