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
import random
import sys
import time
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from gateway_process import Gateway, gateway

from streamweir_gateway.fake import FakeBackend, Settings, serve_fake

CLIENTS: Final = 100
LEFT_WITHIN: Final = 5.0
"""Seconds after a storm in which the last request to the upstream must be gone, on a busy machine too."""

MEMORY_MB: Final = 4.0
"""How much more than in the first half of the storms the process may take in the second."""

SETTLED: Final = 20
"""Of fewer storms memory says nothing: buffers, pools and the garbage collector's first round still fill."""

DESCRIPTORS: Final = 30
"""The same for file descriptors, by the median: kept-alive connections to the upstream come and go."""

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


def configuration(url: str) -> dict[str, Any]:
    """Return a file with `/chat` before `url`, which may be asked by any number at a time."""
    named = {"soak": {"url": url, "speaks": "legacy", "max_streams": 10_000}}
    patient = {"connect": "1m", "first_event": "2m"}  # hundreds of clients begin at once
    endpoint = {"upstream": "soak", "forward_query": ["fault", "events", "pace"], "timeouts": patient}
    return {"upstreams": named, "endpoints": {"/chat": endpoint}}


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


async def storm(number: int, seed: int, running: Gateway, upstream: FakeBackend) -> State:
    """Send the clients, let them leave, and look at what is left."""
    chance = random.Random(f"{seed}.{number}")
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


async def soak(storms: int, seed: int) -> int:
    """Run all storms, print what was seen, return the exit code."""
    states: list[State] = []
    async with (
        serve_fake(Settings(dialect="legacy")) as upstream,
        gateway(**configuration(upstream.url)) as running,
    ):
        for number in range(storms):
            states.append(await storm(number, seed, running, upstream))
            if number % max(1, storms // 10) == 0 or number == storms - 1:
                print(f"storm {number + 1:4}: {states[-1]}", flush=True)
        reasons = _reasons(running.log)
        print(f"{storms * CLIENTS} clients, {upstream.requests} requests to the upstream; how they ended:")
        print("  " + ", ".join(f"{reason} {count}" for reason, count in reasons.most_common()))
    problems = list(_problems(states, reasons, storms * CLIENTS))
    print("\n".join(problems) or "flat: nothing was kept")
    print(f"memory after {storms * CLIENTS} clients: {_growth(states):+.1f} MB")
    return 1 if problems else 0


def _growth(states: list[State]) -> float:
    """Return how many more megabytes the second half of the storms took at most."""
    half = len(states) // 2
    before, after = states[: half or 1], states[half:]
    return max(state.memory_mb for state in after) - max(state.memory_mb for state in before)


def _reasons(log: Path) -> Counter[str]:
    lines = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    return Counter(line.get("reason") or line.get("code") or line["event"] for line in lines)


def _problems(states: list[State], reasons: Counter[str], clients: int) -> list[str]:
    late = [number for number, state in enumerate(states, 1) if state.left_after is None]
    before, after = states[: len(states) // 2], states[len(states) // 2 :]
    memory = _growth(states)
    descriptors = median(state.descriptors for state in after) - median(state.descriptors for state in before)
    strange = set(reasons) - {"client_gone", "done"}
    found = [
        (late, f"requests to the upstream outlived their clients in the storms {late}"),
        (len(states) >= SETTLED and memory > MEMORY_MB, f"memory grew by {memory:.1f} MB"),
        (descriptors > DESCRIPTORS, f"{descriptors:.0f} more file descriptors"),
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
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of when clients leave")
    given = parser.parse_args()
    return asyncio.run(soak(given.storms, given.seed))


if __name__ == "__main__":
    sys.exit(main())
