"""Measure what kept turns cost: `turns` beside `turns: off`, interleaved, in one gateway process.

    python bench/turns.py                   three minutes; prints tables
    python bench/turns.py --rounds 3        fewer rounds

The CPU time is that of the gateway's process alone. A number with a limit has it beside it (`at most`). The
machine may be doing something else, so of CPU times the fastest ones are compared. The last lines name
the numbers that are beyond their limits; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from report import markdown_table

from redis_servers import RedisServer, redis_binaries, redis_server
from running_gateway import Running, running_gateway
from streamweir.runs import MemoryStore

EVENTS: Final = 2000
PER_WRITE: Final = 32
BATCH: Final = 3
"""Streams of one measurement: so short that some of many are not disturbed."""
PER_ROUND: Final = 6
"""Measurements of each endpoint in a round."""

HISTORIES: Final = (25, 50, 100, 200)
STORED: Final = 5000
TURN_BYTES: Final = 4000
HEAD: Final = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
MUSTS: Final = {
    ("mapped", "text"): 1.03,
    ("mapped", "thinking and a call"): 1.15,
    ("passthrough", "text"): 1.03,
    ("template", "text"): 1.03,
}
"""By the request of an endpoint and the answer: the most CPU time with turns, as a ratio to `turns: off`.

Endpoints without a mapped request keep no turns: their ratio is that of the same work, up to the noise.
"""
LATENCIES: Final = {"memory": 0.2, "Redis": 2.0}
"""The most milliseconds that the store adds to the last event."""
KILOBYTES: Final = 1.5
"""The most CPU time for a kilobyte of the longest history, as a ratio to that of the shortest."""


def _frame(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()


def _block(index: int, block: dict[str, Any], deltas: list[dict[str, Any]]) -> Iterator[bytes]:
    yield _frame("content_block_start", index=index, content_block=block)
    yield from (_frame("content_block_delta", index=index, delta=delta) for delta in deltas)
    yield _frame("content_block_stop", index=index)


def answer(kind: str, events: int = EVENTS) -> list[bytes]:
    """Return the frames of one answer of Anthropic's, of about so many events."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    frames = [_frame("message_start", message=message)]
    texts = [f"word{number} " for number in range(events)]
    if kind == "text":
        deltas: list[dict[str, Any]] = [{"type": "text_delta", "text": text} for text in texts]
        frames += _block(0, {"type": "text", "text": ""}, deltas)
    else:
        deltas = [{"type": "thinking_delta", "thinking": text} for text in texts[: events // 2]]
        signed = {"type": "signature_delta", "signature": "c2ln" * 100}
        frames += _block(0, {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signed])
        pieces = ['{"text": "', *texts[: events // 2], '"}']
        call = {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}}
        frames += _block(1, call, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])
    frames.append(_frame("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 1}))
    return [*frames, _frame("message_stop")]


class Backend:
    """Sends the answer that is set, some frames a write; notes when its end left."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.pause = 0.0
        self.ended_at = 0.0

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.lower().split(b"\r\n") if line[:15] == b"content-length:"
        )
        await reader.readexactly(length)
        writer.write(HEAD)
        body, last = self.frames[:-2], self.frames[-2:]
        for at in range(0, len(body), PER_WRITE):
            writer.write(b"".join(body[at : at + PER_WRITE]))
            await writer.drain()
        await asyncio.sleep(self.pause)
        self.ended_at = time.perf_counter()
        writer.write(b"".join(last))
        await writer.drain()
        writer.close()


async def ask(port: int, path: str, body: bytes) -> float:
    """Read one answer to its end; return when its last bytes came."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    writer.write(head.encode() + b"\r\nConnection: close\r\n\r\n" + body)
    answered, at = b"", 0.0
    while piece := await reader.read(1 << 16):
        answered = (answered + piece)[-4096:] if answered else piece
        if b"[DONE]" in answered and not at:
            at = time.perf_counter()
    writer.close()
    assert at, answered
    return at


QUESTION: Final = json.dumps(
    {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
).encode()


REQUESTS: Final[Mapping[str, Any]] = {
    "passthrough": "passthrough",
    "template": {"body": {"model": "m", "stream": True, "messages": "${{ messages }}"}},
}


def endpoints(url: str) -> dict[str, Any]:
    """Return the same endpoint with and without turns, and endpoints that keep no turns."""
    same = {"upstream": url, "speaks": "anthropic", "answers": ["openai-chat"]}
    mapped = {f"/{turns}": {**same, "request": "mapped", "turns": turns} for turns in ("on", "off")}
    return {**mapped, **{f"/{name}": {**same, "request": request} for name, request in REQUESTS.items()}}


def cpu_seconds(pid: int) -> float:
    """Return the processor time of a process, by its own clock: see clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


async def cost(running: Running, action: Callable[[], Awaitable[Any]], times: int) -> float:
    """Return the gateway's processor seconds for so many actions."""
    before = cpu_seconds(running.pid)
    for _ in range(times):
        await action()
    return cpu_seconds(running.pid) - before


class Pair(NamedTuple):
    """Two endpoints that differ in `turns` alone, each as the gateway that has it and its path."""

    on: tuple[Running, str]
    off: tuple[Running, str]


async def ratios(pairs: Mapping[str, Pair], backend: Backend, rounds: int) -> list[dict[str, Any]]:
    """CPU per event with turns, as a ratio to `turns: off`, of the fastest rounds."""
    rows: list[dict[str, Any]] = []
    for (request, kind), must in MUSTS.items():
        backend.frames = answer(kind)
        found: dict[str, list[float]] = {"on": [], "off": []}
        for number in range(PER_ROUND * rounds):
            for turns in ("on", "off") if number % 2 else ("off", "on"):
                running, path = getattr(pairs[request], turns)
                found[turns].append(
                    await cost(running, partial(ask, running.at.address[1], path, QUESTION), BATCH)
                )
        rows.append(
            {
                "request": request,
                "answer": kind,
                "off, us per event": f"{1e6 * min(found['off']) / BATCH / len(backend.frames):.2f}",
                "ratio": f"{min(found['on']) / min(found['off']):.3f}",
                "at most": must,
            }
        )
    return rows


async def latencies(running: Running, backend: Backend, store: str, rounds: int) -> dict[str, Any]:
    """Milliseconds between the end of an answer at the upstream and at the client, on less off."""
    port = running.at.address[1]
    backend.frames, backend.pause = answer("thinking and a call", 20), 0.01
    found: dict[str, list[float]] = {"on": [], "off": []}
    for _ in range(40 * rounds):
        for turns, values in found.items():
            at = await ask(port, f"/{turns}", QUESTION)
            values.append(1000 * (at - backend.ended_at))
    backend.pause = 0.0
    added = median(found["on"]) - median(found["off"])
    return {"store": store, "added ms, median": f"{added:.3f}", "at most": LATENCIES[store]}


def history(rounds: int) -> bytes:
    """Return a request with so many rounds of calls and results."""
    messages: list[dict[str, Any]] = []
    for number in range(rounds):
        function = {"name": "write", "arguments": json.dumps({"text": "word " * 50})}
        call = {"id": f"toolu_{number}", "type": "function", "function": function}
        messages += [
            {"role": "user", "content": "x" * 50},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "y" * 100},
        ]
    messages.append({"role": "user", "content": "x"})
    return json.dumps({"model": "m", "stream": True, "messages": messages}).encode()


async def long_histories(running: Running, backend: Backend, rounds: int) -> list[dict[str, Any]]:
    """CPU per request of a long conversation, by its bytes."""
    port = running.at.address[1]
    rows: list[dict[str, Any]] = []
    backend.frames = answer("text", 6)
    for number in HISTORIES:
        body = history(number)
        spent = await cost(running, partial(ask, port, "/on", body), 20 * rounds)
        each = 1000 * spent / (20 * rounds)
        rows.append(
            {
                "rounds": number,
                "bytes": len(body),
                "ms": f"{each:.2f}",
                "us per kB": f"{1e6 * each / len(body):.1f}",
            }
        )
    first, last = float(rows[0]["us per kB"]), float(rows[-1]["us per kB"])
    rows[-1] |= {"ratio": f"{last / first:.2f}", "at most": KILOBYTES}
    return rows


def commands(redis: RedisServer) -> dict[str, int]:
    """Return how often each command was called."""
    info = redis.command("INFO", "commandstats").decode()
    lines = [line.partition(":") for line in info.split("\r\n") if line.startswith("cmdstat_")]
    return {name[8:]: int(rest.split("calls=")[1].split(",")[0]) for name, _, rest in lines}


async def command_counts(running: Running, backend: Backend, redis: RedisServer) -> list[dict[str, Any]]:
    """Commands of the store for an answer with a call, and for a request with 50 turns."""
    port, rows = running.at.address[1], []
    for name, kind, body in (
        ("a turn", "thinking and a call", QUESTION),
        ("a request with 50 turns", "text", history(50)),
    ):
        backend.frames = answer(kind)
        before = commands(redis)
        for _ in range(10):
            await ask(port, "/on", body)
        after = commands(redis)
        spent = {word: count - before.get(word, 0) for word, count in after.items() if word != "info"}
        shown = ", ".join(f"{word} {count / 10:g}" for word, count in spent.items() if count >= 10)
        rows.append({"for": name, "commands each": shown})
    return rows


async def memory() -> list[dict[str, Any]]:
    """Bytes of memory for each turn in the memory store."""
    store = MemoryStore(max_bytes="1GiB")
    tracemalloc.start()
    begin = tracemalloc.get_traced_memory()[0]
    for number in range(STORED):
        await store.put(f"{number:032x}", os.urandom(TURN_BYTES), ttl=3600)
    each = (tracemalloc.get_traced_memory()[0] - begin) / STORED
    tracemalloc.stop()
    return [
        {"turn": f"{TURN_BYTES} bytes", "memory": f"{each:.0f}", "at most": f"{1.3 * TURN_BYTES + 1024:.0f}"}
    ]


class Report:
    """Prints tables, and notes the numbers that are beyond their limits.

    Attributes:
        exceeded: a line for each of these.
    """

    def __init__(self) -> None:
        self.exceeded: list[str] = []

    def show(self, title: str, rows: list[dict[str, Any]]) -> None:
        """Print a table. The column before `at most` has the number that the limit is for."""
        columns = [*rows[-1]]
        cells = [[str(row.get(column, "")) for column in columns] for row in rows]
        print(f"\n{title}\n\n{markdown_table(columns, cells)}", flush=True)
        if "at most" not in columns:
            return
        number = columns[columns.index("at most") - 1]
        for row in rows:
            if "at most" in row and float(row[number]) > float(row["at most"]):
                about = ", ".join(str(value) for value in [*row.values()][: columns.index(number)])
                self.exceeded.append(f"{title} ({about}): {row[number]} is more than {row['at most']}")


@asynccontextmanager
async def gateway_of(url: str, **file: Any) -> AsyncIterator[Running]:
    """Run a gateway with all endpoints."""
    with tempfile.TemporaryDirectory() as folder:
        async with running_gateway(Path(folder), endpoints=endpoints(url), **file) as running:
            await running.ready()
            yield running


async def measure(rounds: int, redis: RedisServer) -> list[str]:
    """Measure everything, and print it; return a line for each number beyond its limit."""
    backend, report = Backend(), Report()
    async with await asyncio.start_server(backend, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        added = []
        async with gateway_of(url) as on, gateway_of(url, defaults={"turns": "off"}) as off:
            added.append(await latencies(on, backend, "memory", rounds))
            pairs = {name: Pair((on, f"/{name}"), (off, f"/{name}")) for name in REQUESTS}
            pairs["mapped"] = Pair((on, "/on"), (on, "/off"))
            report.show("CPU per event", await ratios(pairs, backend, rounds))
            report.show("Long conversations", await long_histories(on, backend, rounds))
        async with gateway_of(url, store={"url": redis.url}) as shared:
            added.append(await latencies(shared, backend, "Redis", rounds))
            report.show("Commands of Redis", await command_counts(shared, backend, redis))
        report.show("The last event", added)
    report.show("Memory", await memory())
    return report.exceeded


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    with redis_server(redis_binaries()[0]) as redis:
        exceeded = asyncio.run(measure(options.rounds, redis))
    print("\n" + ("\n".join(exceeded) or "within all limits"))
    return bool(exceeded)


if __name__ == "__main__":
    sys.exit(main())
