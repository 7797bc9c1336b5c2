"""Stores that are full, out of reach, silent, or that return anything: conversations go on, in time."""

import asyncio
import json
import logging
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from forgetful_clients import CLIENTS, ProtocolClient, StandardClient
from loopback import Gateway, ask, gateway, settled
from redis_servers import RedisServer, redis_binaries, redis_server
from scripted_upstream import upstream
from strict_upstreams import STEPS, StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MODELS: Mapping[str, tuple[str, Any, Callable[[], StrictModel]]] = {
    "anthropic": (
        "anthropic",
        {"mapped": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
        lambda: StrictAnthropic(compares_input=False),
    ),
    "gemini": ("gemini", "mapped", lambda: StrictGemini(compares_args=False)),
    "deepseek": ("openai-chat", "mapped", lambda: StrictChat(compares_arguments=False)),
    "responses": (
        "openai-responses",
        {"mapped": {"store": False, "include": ["reasoning.encrypted_content"]}},
        lambda: StrictResponses(compares_arguments=False),
    ),
}
TIMEOUT = 0.3
"""Seconds of `store.timeout`."""

TURN_WITHIN = 30.0
"""Seconds for one turn: some timeouts of the store, on a busy machine."""


async def garbled(redis: RedisServer, rng: random.Random) -> None:
    """Overwrite each value of the store: other bytes, another type, a cut value."""
    for word in redis.command("KEYS", "*").split(b"\r\n"):
        if not word.startswith(b"streamweir:"):
            continue
        match rng.randrange(4):
            case 0:
                redis.command("SET", word, rng.randbytes(rng.randrange(200)))
            case 1:
                redis.command("DEL", word)
                redis.command("LPUSH", word, b"x")
            case 2:
                redis.command("SETRANGE", word, "5", b"\xff\x00")
            case 3:
                redis.command("SET", word, b'["x", [], [], {"role": "assistant"}]')


class Fault:
    """A store, and the fault that it is given before each turn.

    Args:
        name: of the fault.
        url: of the store.
        redis: the server, if it is one.
    """

    def __init__(self, name: str, url: str, redis: RedisServer | None = None) -> None:
        self.name = name
        self.url = url
        self.redis = redis
        self.rng = random.Random(7)

    @property
    def store(self) -> dict[str, Any]:
        if self.url == "memory":
            return {"url": "memory", "max_bytes": "1KiB"}
        return {"url": self.url, "timeout": f"{round(TIMEOUT * 1000)}ms"}

    async def strike(self) -> None:
        """Let the store fail from now on."""
        if self.redis is None:
            return
        match self.name:
            case "stopped":
                os.kill(self.redis.process.pid, signal.SIGSTOP)
            case "killed":
                self.redis.process.kill()
                self.redis.process.wait()
            case "garbage":
                await garbled(self.redis, self.rng)
            case "full":
                self.redis.command("CONFIG", "SET", "maxmemory", "1")
            case "read-only":
                self.redis.command("REPLICAOF", "127.0.0.1", "1")
            case "emptied":
                self.redis.command("FLUSHALL")


FAULTS = ("full memory", "no Redis", "stopped", "killed", "garbage", "full", "read-only", "emptied")
AWAY = {"no Redis", "stopped", "killed"}
"""Faults of a store that does not answer at all."""


async def answer_junk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer as a server of another protocol."""
    while await reader.read(1 << 16):
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\n*\xff")
        await writer.drain()
    writer.close()


@asynccontextmanager
async def failing_store(name: str) -> AsyncIterator[Fault]:
    if name == "full memory":
        yield Fault(name, "memory")
        return
    if name == "no Redis":
        async with await asyncio.start_server(answer_junk, "127.0.0.1", 0) as server:
            yield Fault(name, f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0")
        return
    with redis_server(redis_binaries()[0]) as redis:
        try:
            yield Fault(name, redis.url, redis)
        finally:
            if redis.process.poll() is None:
                os.kill(redis.process.pid, signal.SIGCONT)


@asynccontextmanager
async def slow_store(redis: RedisServer, seconds: float) -> AsyncIterator[str]:
    """Run a way to a server on which each of its answers takes so many seconds more; yield its URL."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, delay: float) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await asyncio.sleep(delay)
                writer.write(data)
                await writer.drain()
        writer.close()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = await asyncio.open_connection("127.0.0.1", redis.port)
        await asyncio.gather(carry(reader, server[1], 0.0), carry(server[0], writer, seconds))

    async with await asyncio.start_server(connect, "127.0.0.1", 0) as way:
        yield f"redis://127.0.0.1:{way.sockets[0].getsockname()[1]}/0"


def lines_about(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The lines that say that the store is away, and every line above INFO."""
    return [
        record.message
        for record in caplog.records
        if record.name.startswith("streamweir") and record.levelno > logging.INFO
    ]


async def turn(running: Gateway, client: ProtocolClient) -> float:
    """Send the history and take the answer; return the seconds that it took."""
    began = time.monotonic()
    headers = [
        ("Content-Type", "application/json"),
        ("Accept", client.accept),
        ("X-Streamweir-Protocol", client.protocol),
    ]
    async with asyncio.timeout(TURN_WITHIN):
        answer = await ask(running, headers=headers, body=json.dumps(client.body()).encode())
    assert answer.status == 200, answer.body
    client.take(answer)
    client.add_results()
    return time.monotonic() - began


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", MODELS)
async def test_conversation_before_a_failing_store_is_answered(
    name: str, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    dialect, request, make = MODELS[name]
    clients = [client() for client in CLIENTS]
    async with failing_store(fault) as store, AsyncExitStack() as stack:
        model = make()
        server = await stack.enter_async_context(upstream(model))
        endpoint = {
            "upstream": server.url,
            "speaks": dialect,
            "answers": [client.protocol for client in clients],
            "request": request,
        }
        config = settled(endpoints={"/chat": endpoint}, store=store.store)
        running = await stack.enter_async_context(gateway(config))
        for client in clients:
            client.ask("How warm is it?")
            await turn(running, client)
        await store.strike()
        for _ in range(len(STEPS) - 1):
            for client in clients:
                await turn(running, client)
        assert all(client.text == STEPS[-1].text for client in clients)
        statuses = {line.get("status") for line in running.log.lines if "status" in line}
    assert not {status for status in statuses if isinstance(status, int) and status >= 500}
    assert lines_about(caplog) == (["store away"] if fault in AWAY else []), "one line, however many turns"


@pytest.mark.parametrize("name", MODELS)
async def test_conversation_before_a_slow_store_keeps_its_turns(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    dialect, request, make = MODELS[name]
    with redis_server(redis_binaries()[0]) as redis:
        async with slow_store(redis, 0.1) as url, upstream(make()) as server:
            endpoint = {
                "upstream": server.url,
                "speaks": dialect,
                "answers": ["standard"],
                "request": request,
            }
            store = {"url": url, "timeout": "3s"}
            async with gateway(settled(endpoints={"/chat": endpoint}, store=store)) as running:
                client = StandardClient()
                client.ask("How warm is it?")
                for _ in STEPS:
                    assert await turn(running, client) > 0.1, (
                        "the turn is in the store before the client has its end"
                    )
                    await running.log.next_line()
                lines = [line for line in running.log.lines if line["event"] == "request"]
    assert client.text == STEPS[-1].text
    assert [line.get("turns", {}) for line in lines] == [
        {"restored": n} if n else {} for n in range(len(STEPS))
    ]
    assert lines_about(caplog) == []
