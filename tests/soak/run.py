"""Open and abort streams, storm by storm, and watch what the gateway keeps of them: it should be nothing.

    python tests/soak/run.py              100 storms of 100 clients, two to four minutes
    python tests/soak/run.py --storms 20

In each storm the clients leave while the gateway connects, while it waits for the headers, while the upstream
is silent, in the midst of events, or without having read any of a flood; some stay to the end. After it no
request to the upstream may be left (within a second), and memory and file descriptors must stay flat. Exit
code 1 if not. Needs Linux (/proc); everything is on 127.0.0.1 and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from streamweir_gateway.fake import FakeBackend, Settings, serve_fake

CLIENTS: Final = 100
LEFT_WITHIN: Final = 1.0
"""Seconds after a storm in which the last request to the upstream must be gone."""

MEMORY_MB: Final = 4.0
"""How much more than in the first half of the storms the process may take in the second."""

SETTLED: Final = 20
"""Of fewer storms memory says nothing: buffers, pools and the garbage collector's first round still fill."""

DESCRIPTORS: Final = 30
"""The same for file descriptors: kept-alive connections to the upstream come and go."""

BREATH: Final = 0.2
"""Seconds after a storm in which the last client's connection must be gone too."""

BEHAVIOURS: Final = {
    "no headers": "fault=no-headers",
    "silent": "fault=stall@1",
    "flood": "events=10000000&pace=0",
    "whole": "events=20&pace=10ms",
}
"""What the backend is asked for in the query."""


class State(NamedTuple):
    """What the gateway holds between two storms."""

    memory_mb: float
    descriptors: int
    left_after: float | None
    """Seconds until the upstream was left by all; None: not in time."""

    def __str__(self) -> str:
        left = "not left" if self.left_after is None else f"left after {self.left_after:.2f} s"
        return f"{self.memory_mb:6.1f} MB, {self.descriptors:4} descriptors, upstream {left}"


class Gateway:
    """The gateway's process and the address that it listens on."""

    def __init__(self, process: asyncio.subprocess.Process, port: int, log: Path) -> None:
        self.port = port
        self.log = log
        self._process = process
        self._proc = Path(f"/proc/{process.pid}")

    def memory_mb(self) -> float:
        """Return its resident memory."""
        pages = int((self._proc / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def descriptors(self) -> int:
        """Return how many file descriptors it has open."""
        return len(os.listdir(self._proc / "fd"))


@asynccontextmanager
async def gateway(upstream: str) -> AsyncIterator[Gateway]:
    """Run `streamweir serve` with one endpoint before `upstream`."""
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder, "soak.yaml"), Path(folder, "log")
        named = {"soak": {"url": upstream, "speaks": "legacy", "max_streams": 10_000}}
        endpoint = {"upstream": "soak", "forward_query": ["fault", "events", "pace"]}
        file.write_text(json.dumps({"upstreams": named, "endpoints": {"/chat": endpoint}}), encoding="utf-8")
        with log.open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "streamweir_gateway", "serve", str(file), "--listen", "127.0.0.1:0"),
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
            )
        try:
            assert process.stdout is not None
            greeting = (
                await process.stdout.readline()
            ).decode()  # "... listens on http://127.0.0.1:PORT ..."
            port = greeting.partition("http://127.0.0.1:")[2].partition(" ")[0]
            if not port:
                sys.exit(f"the gateway did not start:\n{log.read_text(encoding='utf-8')}")
            yield Gateway(process, int(port), log)
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


async def client(port: int, behaviour: str, stays: float | None) -> None:
    """Ask for a stream and leave after `stays` seconds, or at its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /chat?{BEHAVIOURS[behaviour]} HTTP/1.1\r\nHost: soak\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Length: 2\r\n\r\n{{}}".encode())
    try:
        if stays is not None:
            await asyncio.sleep(stays)
            return
        body = await reader.read()
        assert b'"reason":"done"' in body, f"a whole answer ended otherwise: {body[-300:]!r}"
    finally:
        writer.transport.abort()


async def left_by_all(upstream: FakeBackend) -> float | None:
    """Wait until nobody is there; return how long it took, None if it took too long."""
    began = time.monotonic()
    while upstream.playing:
        if time.monotonic() - began > LEFT_WITHIN:
            return None
        await asyncio.sleep(0.01)
    return time.monotonic() - began


async def storm(number: int, running: Gateway, upstream: FakeBackend) -> State:
    """Send the clients, let them leave, and look at what is left."""
    chance = random.Random(number)
    longest = (0.0, 0.05, 0.3, 1.0)[number % 4]
    clients = []
    for index in range(CLIENTS):
        behaviour = [*BEHAVIOURS][index % len(BEHAVIOURS)]
        stays = None if behaviour == "whole" and number % 2 else chance.uniform(0, longest)
        clients.append(client(running.port, behaviour, stays))
    await asyncio.gather(*clients)
    left_after = await left_by_all(upstream)
    await asyncio.sleep(BREATH)
    return State(running.memory_mb(), running.descriptors(), left_after)


async def soak(storms: int) -> int:
    """Run all storms, print what was seen, return the exit code."""
    states: list[State] = []
    async with serve_fake(Settings(dialect="legacy")) as upstream, gateway(upstream.url) as running:
        for number in range(storms):
            states.append(await storm(number, running, upstream))
            if number % max(1, storms // 10) == 0 or number == storms - 1:
                print(f"storm {number + 1:4}: {states[-1]}", flush=True)
        reasons = _reasons(running.log)
        print(f"{storms * CLIENTS} clients, {upstream.requests} requests to the upstream; how they ended:")
        print("  " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
    problems = list(_problems(states, reasons, storms * CLIENTS))
    print("\n".join(problems) or "flat: nothing was kept")
    return 1 if problems else 0


def _reasons(log: Path) -> Counter[str]:
    lines = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    return Counter(line.get("reason") or line.get("code") or line["event"] for line in lines)


def _problems(states: list[State], reasons: Counter[str], clients: int) -> list[str]:
    late = [number for number, state in enumerate(states, 1) if state.left_after is None]
    before, after = states[: len(states) // 2], states[len(states) // 2 :]
    memory = max(state.memory_mb for state in after) - max(state.memory_mb for state in before)
    descriptors = max(state.descriptors for state in after) - max(state.descriptors for state in before)
    strange = set(reasons) - {"client_gone", "done"}
    found = [
        (late, f"requests to the upstream outlived their clients in the storms {late}"),
        (len(states) >= SETTLED and memory > MEMORY_MB, f"memory grew by {memory:.1f} MB"),
        (descriptors > DESCRIPTORS, f"{descriptors} more file descriptors"),
        (strange, f"ends that nobody expected: {', '.join(sorted(strange))}"),
        (reasons.total() != clients, f"{reasons.total()} lines in the log for {clients} requests"),
    ]
    return [text for is_so, text in found if is_so]


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--storms", type=int, default=100, metavar="N", help=f"of {CLIENTS} clients each")
    return asyncio.run(soak(parser.parse_args().storms))


if __name__ == "__main__":
    sys.exit(main())
