"""Let a gateway meet each fault of `streamweir fake`, in every dialect, and see how much memory that takes.

    python tests/soak/faults.py                     all faults, two minutes
    python tests/soak/faults.py nested long-line    only these; `--dialects 3` in three dialects by chance

Each fault gets a gateway process of its own with `event_bytes: 1MiB`. That has served a run without a fault
in every dialect, streamed and folded, and now serves one with it; its growth is the most that was resident
meanwhile above what was before. The last line is the largest growth; exit code 1 if it is more than 16 MB, or
if the gateway did not answer. Needs Linux (/proc); everything is on 127.0.0.1 and ends by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, Final
from urllib.parse import urlencode

from gateway_process import Gateway, gateway

from streamweir.codec.registry import process_dialects
from streamweir_gateway.fake import FAULTS, Settings, serve_fake

GROWTH_MB: Final = 16.0
SECONDS: Final = 60.0
"""How long one answer may take."""

NOT_ASKED_FOR: Final = frozenset({"refused", "accept-close"})
"""Faults of a whole server, of which a request cannot ask for one."""

WORST: Final[Mapping[str, Sequence[str]]] = {
    "comments": ["comments@0:20"],
    "drip": ["drip@20:1ms"],
    "drip-headers": ["drip-headers:1ms"],
    "stall": ["stall@20:1s"],
    "nested": ["nested@10:95", "nested@10:150000"],
    "burst": ["burst@20:20000"],
    **{f"{coding}-bomb": [f"{coding}-bomb@5:300MiB"] for coding in ("gzip", "deflate", "br")},
    "long-line": ["long-line@10:1000KiB", "long-line@10:64MiB"],
    "open-tools": ["open-tools@10:990", "open-tools@10:20000"],
    "many-headers": ["many-headers:100", "many-headers:100000"],
    "long-header": ["long-header:24KiB", "long-header:64MiB"],
    "garbage": ["garbage@10:1000KiB", "garbage@10:64MiB"],
}
"""In place of the example of the table: bounds from both sides, and nothing that takes long."""

ACCEPTED: Final = ("text/event-stream", "application/json")
TIMEOUTS: Final = {"connect": "1s", "first_event": "1500ms", "idle": "1500ms"}
AT_ONCE: Final = 2
"""Gateways that run side by side."""


def configuration(url: str, dialects: Sequence[str], seed: int) -> dict[str, Any]:
    """Return a file with an endpoint for each dialect; a request says which fault it wants."""
    upstreams = {
        dialect: {
            "url": f"{url}/?{urlencode({'dialect': dialect, 'pace': 'off', 'seed': seed})}",
            "speaks": dialect,
            "breaker": "off",
            "timeouts": TIMEOUTS,
        }
        for dialect in dialects
    }
    endpoint = {"forward_query": ["fault"], "limits": {"event_bytes": "1MiB"}}
    return {
        "upstreams": upstreams,
        "endpoints": {f"/{dialect}": {"upstream": dialect, **endpoint} for dialect in upstreams},
    }


async def ask(port: int, dialect: str, accept: str, fault: str | None = None) -> bool:
    """Ask for a run and read it; did it come, and without a fault with the status 200?"""
    query = urlencode({"fault": fault}) if fault else ""
    head = f"POST /{dialect}?{query} HTTP/1.1\r\nHost: soak\r\nAccept: {accept}\r\n"
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    begins = b"HTTP/1.1 " if fault else b"HTTP/1.1 200 "
    first = b""
    with closing(writer.transport), suppress(TimeoutError):
        writer.write(head.encode() + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}")
        async with asyncio.timeout(SECONDS):
            while data := await reader.read(1 << 16):
                first = first or data
            return first.startswith(begins)
    return False


async def every_answer(running: Gateway, dialects: Sequence[str], fault: str | None = None) -> list[str]:
    """Have it answered in each dialect, streamed and folded; return where nothing came."""
    asked = [(dialect, accept) for dialect in dialects for accept in ACCEPTED]
    return [
        f"{fault} in {dialect}: no answer"
        for dialect, accept in asked
        if not await ask(running.port, dialect, accept, fault)
    ]


async def growth(url: str, fault: str, dialects: Sequence[str], seed: int) -> tuple[float, list[str]]:
    """Return how many megabytes a gateway grows by, and what it did not answer."""
    async with gateway(**configuration(url, dialects, seed)) as running:
        missing = await every_answer(running, dialects)
        before = running.memory_mb()
        running.forget_peak()
        missing += await every_answer(running, dialects, fault)
        return running.peak_mb() - before, missing


def faults_of(names: Sequence[str]) -> Iterator[str]:
    """Yield the faults to be asked for."""
    for name in names or FAULTS:
        if name not in NOT_ASKED_FOR:
            yield from WORST.get(name, [FAULTS[name].example])


async def meet_all(names: Sequence[str], dialects: Sequence[str], seed: int) -> int:
    """Meet one fault after the other, print the growth of each, return the exit code."""
    grown: dict[str, float] = {}
    problems: list[str] = []
    async with serve_fake(Settings()) as fake:
        turns = asyncio.Semaphore(AT_ONCE)

        async def meet(fault: str) -> None:
            async with turns:
                grown[fault], missing = await growth(fake.url, fault, dialects, seed)
                problems.extend(missing)
                print(f"{fault:26}{grown[fault]:6.1f} MB", flush=True)

        await asyncio.gather(*map(meet, faults_of(names)))
    worst = max(grown, key=grown.__getitem__)
    problems += [
        f"{fault}: grew by more than {GROWTH_MB:.0f} MB" for fault in grown if grown[fault] > GROWTH_MB
    ]
    print("\n".join(problems), end="\n" if problems else "")
    print(f"largest growth of {len(grown)} faults: {grown[worst]:.1f} MB ({worst})")
    return 1 if problems else 0


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("faults", nargs="*", metavar="FAULT", help="by name; all where none is given")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of what is random in a fault")
    parser.add_argument("--dialects", type=int, metavar="N", help="so many of them; all if not given")
    given = parser.parse_args()
    if unknown := [name for name in given.faults if name not in FAULTS]:
        parser.error(f"unknown fault {unknown[0]}; streamweir fake --list prints all")
    dialects = [*process_dialects().writable]
    if given.dialects is not None:
        dialects = random.Random(given.seed).sample(dialects, given.dialects)
    with suppress(KeyboardInterrupt):
        return asyncio.run(meet_all(given.faults, dialects, given.seed))
    return 1


if __name__ == "__main__":
    sys.exit(main())
