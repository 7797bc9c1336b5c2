"""What is done to a target, and what is measured: one function per kind of scenario, one JSON object each."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from targets import LOAD_CPU, Target

__all__ = [
    "LOADS",
    "SCENARIOS",
    "Load",
    "measure",
    "measure_load",
    "processor_seconds",
    "resident_kb",
    "warm_up",
]

Row = dict[str, Any]


class Load(NamedTuple):
    """Streams held open at a time, warm-up and counted seconds, and what the backend sends."""

    streams: int
    warm: float
    seconds: float
    backend: str


LOADS: Final = {
    "flood": Load(32, 0.5, 2.5, "n=500&burst=32"),
    "busy": Load(100, 1, 4, "n=100&delay=20000"),
    "paced": Load(20, 1, 4, "n=100&delay=20000"),
    "short": Load(8, 0.5, 2, "n=5&burst=5"),
}
"""flood: as fast as the target can, 32 events a write; busy and paced: 50 events a second and stream, one a
write; short: one answer of five events after another."""

SCENARIOS: Final = (*LOADS, "slow", "idle", "crowd")

IDLE_STREAMS: Final = (200, 1000, 5000)
CROWDS: Final = (10, 5000)
SLOW_READERS: Final = 20


def warm_up(target: Target, folder: Path) -> None:
    """Let caches fill and connections open; nothing is counted."""
    measure_load(target, folder, None, Load(8, 0, 0.5, "n=50&burst=8"))


def measure(scenario: str, target: Target, folder: Path, pid: int | None) -> list[Row]:
    """Return the rows of one scenario."""
    match scenario:
        case "idle":
            return [_idle(target, folder, pid, streams) for streams in IDLE_STREAMS]
        case "crowd":
            return [row for held in CROWDS for row in _crowd(target, folder, pid, held)]
        case "slow":
            return [_slow_readers(target, pid)]
    return [{"scenario": scenario, **measure_load(target, folder, pid, LOADS[scenario])}]


def _command(target: Target, folder: Path, pid: int | None, load: Load, *more: str) -> list[str]:
    command = ["taskset", "-c", LOAD_CPU, str(folder / "load"), "-u", target.url]
    command += ["-c", str(load.streams), "-w", str(load.warm), "-d", str(load.seconds), "-P", load.backend]
    command += [part for header in target.headers for part in ("-H", header)]
    return [*command, *(("-p", str(pid)) if pid else ()), *more]


def measure_load(target: Target, folder: Path, pid: int | None, load: Load, *more: str) -> Row:
    """Return what the load client has measured."""
    done = subprocess.run(
        _command(target, folder, pid, load, *more),
        capture_output=True,
        text=True,
        timeout=load.seconds + load.warm + 120,
        check=False,
    )
    row: Row = json.loads(done.stdout) if done.stdout.strip() else {"failed": done.stderr[-300:]}
    return row


def _idle(target: Target, folder: Path, pid: int | None, streams: int) -> Row:
    """Memory of streams that have had one event and wait for the next."""
    slow = Load(streams, 0, 60, f"n=1000&delay={streams * 1000}")
    row = {"scenario": f"idle {streams}", **measure_load(target, folder, pid, slow, "-I")}
    time.sleep(2)
    return row


def _crowd(target: Target, folder: Path, pid: int | None, held: int) -> Iterator[Row]:
    """Cost per event and per request beside many streams that are open already."""
    with _held_open(target, folder, held):
        for name in ("busy", "short"):
            yield {"scenario": f"crowd {held} {name}", **measure_load(target, folder, pid, LOADS[name])}


@contextmanager
def _held_open(target: Target, folder: Path, streams: int) -> Iterator[None]:
    crowd = Load(streams, 0, 600, "n=1000&delay=60000000")
    with subprocess.Popen(
        _command(target, folder, None, crowd), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            time.sleep(3 + streams / 400)
            yield
        finally:
            process.kill()
            process.wait()
            time.sleep(2)


def _slow_readers(target: Target, pid: int | None) -> Row:
    """What a target keeps of streams that nobody reads, while the backend sends as fast as it may."""
    before = resident_kb(pid)
    clients = [_silent_client(target.url) for _ in range(SLOW_READERS)]
    time.sleep(5)
    kept = (resident_kb(pid) - before) / SLOW_READERS
    for client in clients:
        client.close()
    time.sleep(1)
    return {"scenario": "slow", "kept_kb": kept}


def _silent_client(url: str) -> socket.socket:
    host, _, path = url.removeprefix("http://").partition("/")
    name, _, port = host.partition(":")
    client = socket.create_connection((name, int(port)), 5)
    body = b'{"messages":[{"content":"BENCH[n=2000000&burst=32]"}]}'
    head = f"POST /{path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
    client.sendall(head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body)
    return client


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process and its descendants, to the nanosecond."""
    total = 0.0
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += int((task / "schedstat").read_text().split()[0]) / 1e9
            children = (task / "children").read_text().split()
            total += sum(processor_seconds(int(child)) for child in children)
    return total


def resident_kb(pid: int | None) -> float:
    """Return the resident memory of a process and its children (nginx's worker is one)."""
    if pid is None:
        return 0.0
    total = 0.0
    with suppress(FileNotFoundError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += float(line.split()[1])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        total += sum(resident_kb(int(child)) for child in children)
    return total
