"""`RedisStore` with each real server that is installed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from patience import PATIENCE, until
from redis_servers import RedisServer, redis_binaries, redis_server
from streamweir import ConfigurationError
from streamweir.runs import RedisStore, RunStore, StoreFull, StoreUnavailable
from streamweir.runs.run_index import RunIndex, index_key
from streamweir.testing import RunStoreConformance

pytestmark = pytest.mark.anyio

_RUN = "0123456789abcdef" * 2


@pytest.fixture(scope="module", params=redis_binaries(), ids=lambda binary: binary.name)
def server(request: pytest.FixtureRequest) -> Iterator[RedisServer]:
    binary: Path = request.param
    with redis_server(binary) as running:
        yield running


@pytest.fixture
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": getattr(request, "param", True)}


class TestRedisStore(RunStoreConformance):
    url: str

    @pytest.fixture(autouse=True)
    def _server(self, server: RedisServer) -> None:
        self.url = server.url

    async def make_store(self) -> RunStore:
        return RedisStore(self.url, lease="1s")

    async def make_two_stores(self) -> tuple[RunStore, RunStore]:
        return RedisStore(self.url, lease="1s"), RedisStore(self.url, lease="1s")


async def test_names_in_the_store_contain_no_byte_of_a_client(server: RedisServer) -> None:
    server.command("FLUSHALL")
    store = RedisStore(server.url, prefix="acme:")
    await store.claim(_RUN, "t", b"{}", ttl=60)
    await store.append(_RUN, "t", 0, [b"1"], ttl=60)
    await store.index(_RUN, ["f" * 32], ttl=60)
    await store.allow("e" * 32, 1, 60)
    await store.put("d" * 32, b"1", ttl=60)
    names = {line for line in server.command("KEYS", "*").decode().split("\r\n") if line.startswith("acme")}
    base = f"acme:run:{{{_RUN}}}"
    assert names == {
        *(f"{base}{part}" for part in ("", ":events", ":owner", ":reader")),
        *(f"acme:find:{{{'f' * 32}}}{part}" for part in ("", ":until")),
        f"acme:rate:{{{'e' * 32}}}",
        f"acme:value:{{{'d' * 32}}}",
    }
    for name in names:
        assert int(server.command("PTTL", name).strip(b":\r\n")) > 0, f"{name} never expires"
    await store.aclose()


async def test_keys_of_a_run_expire_after_its_ttl(server: RedisServer) -> None:
    """Not the marks beside it either, whichever way it ends, and whoever reads it then."""

    def longest() -> int:
        names = [
            name
            for name in server.command("KEYS", "*").decode().split("\r\n")
            if name.startswith("streamweir")
        ]
        left = [int(server.command("PTTL", name).strip(b":\r\n")) for name in names]
        assert all(milliseconds > 0 for milliseconds in left), names
        return max(left)

    store = RedisStore(server.url, lease="2s")
    ttl, key = 30.0, "f" * 32
    for end in ("append", "seize", "discard", "nobody"):
        server.command("FLUSHALL")
        index = RunIndex(store, _RUN, "alice", ttl=ttl)
        await store.claim(_RUN, "t", b"{}", ttl=ttl)
        await index.note_request("req_1", {"thread_id": key})
        await store.append(_RUN, "t", 0, [b"1"], ttl=ttl)
        await store.renew(_RUN, "t", ttl=ttl)
        await store.touch(_RUN)
        assert longest() <= 32_000, end
        if end == "append":
            await store.append(_RUN, "t", 1, [b"2"], ttl=ttl, ends=True)
        elif end == "discard":
            await store.discard(_RUN, "t", ttl=ttl)
        elif end == "seize":
            server.command("DEL", f"streamweir:run:{{{_RUN}}}:owner")
            assert await store.seize(_RUN, 1, [b"2"], ttl=ttl)
        if end != "nobody":
            await index.end()
        await store.touch(_RUN)
        assert longest() <= (32_000 if end == "nobody" else 30_000), end
    await store.aclose()


async def test_reader_counts_as_gone_for_longer_than_its_mark_lives(server: RedisServer) -> None:
    server.command("FLUSHALL")
    store = RedisStore(server.url, lease="2s")
    await store.claim(_RUN, "t", b"{}", ttl=0.2)

    async def is_unread_for_longer() -> bool:
        return (await store.renew(_RUN, "t", ttl=0.2)).unread_for > 0.5

    await until(is_unread_for_longer)
    await store.touch(_RUN)
    assert (await store.renew(_RUN, "t", ttl=0.2)).unread_for < 0.5
    await store.aclose()


async def test_values_of_another_program_are_a_run_that_is_gone(server: RedisServer) -> None:
    base = f"streamweir:run:{{{_RUN}}}"
    breaks: list[tuple[str, ...]] = [
        *(("HSET", base, "n", value) for value in ("", "x", "-1", "1e3", "9" * 400, "2")),
        *(("HSET", base, "end", value) for value in ("", "x", "-1", "9" * 400)),
        *(("HDEL", base, field) for field in ("n", "about")),
        *(("SET", f"{base}{part}", "x") for part in ("", ":events")),
        ("DEL", f"{base}:events"),
    ]
    store = RedisStore(server.url)
    for command in breaks:
        server.command("FLUSHALL")
        await store.claim(_RUN, "t", b"{}", ttl=60)
        await store.append(_RUN, "t", 0, [b"1"], ttl=60, ends=True)
        server.command("DEL", command[1]) if command[0] == "SET" else None
        server.command(*command)
        state = await store.look(_RUN)
        assert state is None or state.state == "gone", command
        assert (state is None) == (command[-1] == "about"), command
    await store.aclose()


async def test_value_of_another_type_is_no_value_and_is_replaced(server: RedisServer) -> None:
    store = RedisStore(server.url)
    name = os.urandom(16).hex()
    for command in (("HSET", "f", "1"), ("RPUSH", "x"), ("ZADD", "1", "m")):
        server.command("DEL", f"streamweir:value:{{{name}}}")
        server.command(command[0], f"streamweir:value:{{{name}}}", *command[1:])
        assert await store.get(name, ttl=60) is None
        assert await store.get_many([name, name], ttl=60) == [None, None]
        await store.put(name, b"1", ttl=60)
        assert await store.get(name, ttl=60) == b"1"
    await store.aclose()


async def test_values_take_one_command_each_and_many_take_one_batch(server: RedisServer) -> None:
    store = RedisStore(server.url)
    names = [os.urandom(16).hex() for _ in range(300)]
    await store.put(names[0], b"1", ttl=60)

    async def commands(of: Awaitable[object]) -> tuple[int, int]:
        reads, count = _reads(server), _commands(server)
        await of
        return _commands(server) - count - 1, _reads(server) - reads

    assert (await commands(store.put(names[1], b"2", ttl=60)))[0] == 1
    assert (await commands(store.get(names[1], ttl=60)))[0] == 1
    assert (await commands(store.drop(names[1])))[0] == 1
    count, reads = await commands(store.get_many(names, ttl=60))
    assert count == len(names)
    assert reads < 10
    await store.aclose()


async def test_value_for_a_full_server_is_refused_and_others_are_still_read(server: RedisServer) -> None:
    binary = Path(server.process.args[0])  # type: ignore[index,arg-type]
    with redis_server(binary, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction") as small:
        store = RedisStore(small.url)
        await store.put("a" * 32, b"1", ttl=60)
        small.command("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(StoreFull):
            await store.put("b" * 32, b"2", ttl=60)
        assert await store.get("a" * 32, ttl=60) == b"1"
        await store.drop("a" * 32)
        assert await store.get("a" * 32, ttl=60) is None
        assert store.is_up, "full is not down"
        await store.aclose()


async def test_find_returns_a_long_run_for_its_ttl_after_its_end(server: RedisServer) -> None:
    store = RedisStore(server.url, lease="1s")
    index = RunIndex(store, _RUN, "alice", ttl=0.2)
    key = index_key("alice", "thread_id", "t1")
    await index.note_request("req_1", {"thread_id": "t1"})
    until = time.monotonic() + 1.6
    while time.monotonic() < until:
        await index.renew()
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.2)
    assert await store.find(key) == [_RUN]
    await store.aclose()


async def test_store_with_many_runs_and_readers_has_at_most_three_connections(server: RedisServer) -> None:
    store = RedisStore(server.url, timeout="30s")  # on a busy machine

    async def one(i: int) -> None:
        run = f"{i:032x}"
        assert await store.claim(run, "t", b"{}", ttl=60)
        await asyncio.gather(*(store.wait(f"{i + 1000:032x}", 0, 0.2) for _ in range(3)))
        await store.append(run, "t", 0, [b"1"], ttl=60, ends=True)
        await store.read(run, 0)

    await asyncio.gather(*(one(i) for i in range(200)))
    clients = re.findall(rb"^.*\bcmd=(\S+)", server.command("CLIENT", "LIST"), re.MULTILINE)
    assert 1 <= sum(not command.startswith(b"client") for command in clients) <= 3
    await store.aclose()


async def test_call_to_a_stopped_server_fails_within_the_timeout_and_later_ones_at_once(
    server: RedisServer,
) -> None:
    with redis_server(Path(server.process.args[0])) as other:  # type: ignore[index,arg-type]
        store = RedisStore(other.url, timeout="3s")
        assert await store.claim(_RUN, "t", b"{}", ttl=60)
        os.kill(other.process.pid, signal.SIGSTOP)
        began = time.monotonic()
        results = await asyncio.gather(
            *(store.append(_RUN, "t", 0, [b"1"], ttl=60) for _ in range(50)), return_exceptions=True
        )
        assert time.monotonic() - began > 2
        assert {type(result) for result in results} == {StoreUnavailable}
        await _is_up(store, False)
        began = time.monotonic()
        with pytest.raises(StoreUnavailable):
            await store.look(_RUN)
        assert time.monotonic() - began < 2
        os.kill(other.process.pid, signal.SIGCONT)
        await _is_up(store, True)
        await store.append(_RUN, "t", 0, [b"1"], ttl=60)  # whether or not the one before arrived
        assert await store.read(_RUN, 0) == [b"1"]
        await store.aclose()


@pytest.mark.parametrize("anyio_backend", [True, False], indirect=True, ids=["uvloop", "asyncio"])
async def test_call_from_a_process_that_slept_returns_the_answer_that_has_arrived(
    server: RedisServer,
) -> None:
    store = RedisStore(server.url, timeout="200ms")
    run = os.urandom(16).hex()
    assert await store.claim(run, "t", b"{}", ttl=60)
    for at in range(3):
        os.kill(server.process.pid, signal.SIGSTOP)
        appending = asyncio.create_task(store.append(run, "t", at, [b"1"], ttl=60))
        await asyncio.sleep(0.02)  # it is on its way
        os.kill(server.process.pid, signal.SIGCONT)
        time.sleep(0.6)  # noqa: ASYNC251 (stopped, or busy with something else)
        await appending
    await store.aclose()


@pytest.mark.parametrize("anyio_backend", [True, False], indirect=True, ids=["uvloop", "asyncio"])
async def test_calls_survive_broken_connections_while_the_server_answers(server: RedisServer) -> None:
    server.command("SCRIPT", "FLUSH")
    store = RedisStore(server.url)
    run = os.urandom(16).hex()
    assert await store.claim(run, "t", b"{}", ttl=60)
    for at in range(100):
        server.command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        await store.append(run, "t", at, [b"%d" % at], ttl=60)
    assert await store.read(run, 0) == [b"%d" % at for at in range(100)]
    await store.aclose()


async def test_wait_survives_a_broken_connection(server: RedisServer) -> None:
    store, other = RedisStore(server.url), RedisStore(server.url)
    run = os.urandom(16).hex()
    assert await store.claim(run, "t", b"{}", ttl=60)
    waiting = asyncio.create_task(other.wait(run, 0, 30))
    for _ in range(5):
        await asyncio.sleep(0.1)
        server.command("CLIENT", "KILL", "TYPE", "pubsub")
    await store.append(run, "t", 0, [b"1"], ttl=60)
    async with asyncio.timeout(PATIENCE):
        await waiting
    await store.aclose()
    await other.aclose()


async def _claimed_soon(store: RedisStore, run: str) -> bool:
    """Return whether a run can be claimed once the server has freed deleted keys, which it does later."""
    async with asyncio.timeout(PATIENCE):
        while True:
            with suppress(StoreFull):
                return await store.claim(run, "t", b"{}", ttl=60)
            await asyncio.sleep(0.02)


async def test_full_server_still_accepts_cancels_and_discards(server: RedisServer) -> None:
    binary = Path(server.process.args[0])  # type: ignore[index,arg-type]
    with redis_server(binary, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction") as small:
        store = RedisStore(small.url)
        assert await store.claim(_RUN, "t", b"{}", ttl=60)
        at = await _filled(store)
        assert 5 < at < 1000
        small.command("CONFIG", "SET", "maxmemory", "1")  # small things have no room either
        with pytest.raises(StoreFull):
            await store.claim("e" * 32, "t", b"{}", ttl=60)
        assert await store.look("e" * 32) is None
        small.command("CONFIG", "SET", "maxmemory", "8mb")
        assert not (await store.renew(_RUN, "t", ttl=60)).cancelled
        await store.ask_to_cancel(_RUN)
        await store.touch(_RUN)
        assert (await store.renew(_RUN, "t", ttl=60)).cancelled
        state = await store.look(_RUN)
        assert state is not None
        assert (state.events, state.owned) == (at, True)
        await store.discard(_RUN, "t", ttl=60)
        assert await _claimed_soon(store, "f" * 32)
        assert store.is_up, "full is not down"
        await store.aclose()


async def test_run_whose_keys_were_evicted_is_gone(server: RedisServer) -> None:
    store = RedisStore(server.url)
    run = os.urandom(16).hex()
    assert await store.claim(run, "t", b"{}", ttl=60)
    await store.append(run, "t", 0, [b"1", b"2"], ttl=60)
    server.command("DEL", f"streamweir:run:{{{run}}}:events")
    state = await store.look(run)
    assert state is not None
    assert state.state == "gone"
    server.command("FLUSHALL")
    assert await store.look(run) is None
    await store.aclose()


async def test_allow_of_several_stores_counts_together(server: RedisServer) -> None:
    stores = [RedisStore(server.url) for _ in range(3)]
    bucket = os.urandom(16).hex()
    waits = [await stores[i % 3].allow(bucket, 5, 1.0) for i in range(9)]
    assert waits[:5] == [0.0] * 5
    assert all(0 < wait <= 2 for wait in waits[5:])
    await stores[0].take_back(bucket)
    assert await stores[1].allow(bucket, 5, 1.0) == 0
    await asyncio.sleep(max(waits) + 1)
    assert await stores[2].allow(bucket, 5, 1.0) == 0
    for store in stores:
        await store.aclose()


async def test_appends_of_many_runs_are_sent_in_few_batches(server: RedisServer) -> None:
    store = RedisStore(server.url)
    runs = [os.urandom(16).hex() for _ in range(100)]
    await asyncio.gather(*(store.claim(run, "t", b"{}", ttl=60) for run in runs))
    reads = _reads(server)
    await asyncio.gather(*(store.append(run, "t", 0, [b"1"], ttl=60) for run in runs))
    assert _reads(server) - reads < 50  # a machine that is busy cuts the row
    await store.aclose()


@pytest.mark.parametrize(
    "url", ["localhost", "http://localhost", "redis://:secret@host:port/", "redis://host/?db=secret"]
)
def test_error_about_an_invalid_url_does_not_show_its_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        RedisStore(url)
    assert "secret" not in str(refused.value)


def test_import_of_runs_does_not_load_redis() -> None:
    code = (
        "import sys, streamweir.runs; assert not any(name.split('.')[0] == 'redis' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


async def _is_up(store: RedisStore, expected: bool) -> None:
    await until(lambda: store.is_up is expected)  # it is asked once a second


async def _filled(store: RedisStore) -> int:
    for at in range(1000):
        try:
            await store.append(_RUN, "t", at, [b"x" * 100_000], ttl=60)
        except StoreFull:
            return at
    return 1000


def _reads(server: RedisServer) -> int:
    return _stat(server, "total_reads_processed")


def _commands(server: RedisServer) -> int:
    return _stat(server, "total_commands_processed")


def _stat(server: RedisServer, name: str) -> int:
    stats = server.command("INFO", "stats").decode()
    return int(next(line for line in stats.split("\r\n") if line.startswith(name)).split(":")[1])
