"""Measure what the console costs: CPU time per event without it, with metadata and with content, and memory.

    python bench/console.py                       twelve rounds; prints tables, ratios to off
    python bench/console.py -s busy -r 3          one load, three rounds
    python bench/console.py -m                    the memory alone

In each round three new gateways run beside each other and get the load in turns, some slices of each load.
The CPU time of a slice is that of the gateway under load, of its serving process and its console's process
together; the fastest slice of a round counts. Two gateways with the same settings differ by up to a tenth for
as long as they run, so what counts is the median of the rounds, and more rounds say more than longer slices.
The console has no viewer. Backend and load client have the other processor. Everything is on 127.0.0.1
(ports 9100 to 9107). Exit status 1: a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.request
from collections.abc import Sequence
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import scenarios
from report import markdown_table
from scenarios import Load, measure_load, processor_seconds, resident_kb, warm_up
from targets import LOAD_CPU, PORT, Target, backend, build_tools, filled, running

LOADS: Final = {
    "flood": scenarios.LOADS["flood"]._replace(warm=0, seconds=1.5),
    "busy": scenarios.LOADS["busy"]._replace(warm=0, seconds=3),
    "long": Load(2, 0, 1.5, "n=20000&burst=32"),
    "short": Load(8, 0, 1.5, "n=100&burst=32"),
}
"""flood and busy: as in `run.py`, streams of 500 events as fast as the gateway can, and 100 streams of 50
events a second. Without limits: long, streams of 20,000 events as fast as the gateway can; short, of 100."""

SLICES: Final = 2
"""The slices of each load in a round."""

LIMITS: Final = {"off": 1.0, "metadata": 1.03, "content": 1.15}
"""The most CPU time per event, as a ratio to `off`."""
LIMITED: Final = ("flood", "busy")
"""The loads for which the limits hold."""
ROW_KB: Final = 2.0
"""The most memory of a row."""

CONSOLE_PORT: Final = 9105
"""Of the first gateway; each has ports of its own."""
TOKEN: Final = "a-token-of-the-benchmark"
CONSOLE: Final = """
console:
  listen: 127.0.0.1:{port}
  token: {token}
  capture: {capture}
  keep: {{streams: {streams}, stream_bytes: 1MiB, total_bytes: {total}}}
"""
ROWS: Final = 20_000
SHORT: Final = Load(8, 0, 6, "n=5&burst=5")
LONG: Final = Load(8, 0, 4, "n=1000&burst=32")

Result = dict[str, Any]


def main() -> int:
    """Run what the command line asks for; return the exit status."""
    options = _arguments()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build_tools(folder)
    os.sched_setaffinity(0, {int(LOAD_CPU)})
    with backend(folder):
        costs = [] if options.memory else _costs(options.scenarios.split(","), options.rounds, folder)
        memory = _memory(folder)
    print()
    for name in dict.fromkeys(row["load"] for row in costs):
        print(_cost_table(name, costs), end="\n\n")
    print(_memory_table(memory))
    exceeded = [*_exceeded(costs), *(f"{row['what']}: {row['is_over']}" for row in memory if row["is_over"])]
    print("\n" + ("\n".join(exceeded) or "within all limits"))
    return bool(exceeded)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-s", "--scenarios", default=",".join(LOADS))
    parser.add_argument("-r", "--rounds", type=int, default=12)
    parser.add_argument("-m", "--memory", action="store_true", help="measure the memory alone")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent / ".tmp")
    return parser.parse_args()


def _target(name: str, folder: Path, *, place: int = 0, streams: int = 2000, total: str = "64MiB") -> Target:
    """Return a gateway without a console (`off`), or with one that keeps `name`; `place` gives its ports."""
    port = PORT + place
    text = filled("gateway.yaml.in", folder, "standard").read_text().replace(f":{PORT}", f":{port}")
    if name != "off":
        text += CONSOLE.format(
            port=CONSOLE_PORT + place, token=TOKEN, capture=name, streams=streams, total=total
        )
    file = folder / f"console-{name}.yaml"
    file.write_text(text)
    command = [sys.executable, "-m", "streamweir_gateway", "serve", str(file)]
    return Target(f"console-{name}", command, f"http://127.0.0.1:{port}/chat", port=port)


# --- CPU time -----------------------------------------------------------------------------------------------


class _Gateway(NamedTuple):
    name: str
    target: Target
    pid: int


def _costs(loads: Sequence[str], rounds: int, folder: Path) -> list[Result]:
    rows: list[Result] = []
    for number in range(rounds):
        print(f"round {number + 1}, load average {os.getloadavg()[0]:.2f}", flush=True)
        with ExitStack() as stack:
            gateways = [_started(name, place, stack, folder) for place, name in enumerate(LIMITS)]
            turn = number % len(gateways)
            in_turn = (*gateways[turn:], *gateways[:turn])
            slices = [_slice(load, one, folder) for load in loads for _ in range(SLICES) for one in in_turn]
        rows += [
            min(
                (row for row in slices if (row["load"], row["target"]) == (load, name)),
                key=itemgetter("cost"),
            )
            for load in loads
            for name in LIMITS
        ]
    return rows


def _started(name: str, place: int, stack: ExitStack, folder: Path) -> _Gateway:
    """Return a new gateway, which has served some streams; `stack` ends it."""
    target = _target(name, folder, place=place)
    pid = stack.enter_context(running(target, folder))
    assert pid is not None, "a gateway is a process"
    _warm_up(target, folder, has_console=name != "off", place=place)
    return _Gateway(name, target, pid)


def _slice(load: str, gateway: _Gateway, folder: Path) -> Result:
    """Return the CPU time per event of one slice of a load, in microseconds, and its wrong events."""
    before = processor_seconds(gateway.pid)
    found = measure_load(gateway.target, folder, None, LOADS[load])
    spent = processor_seconds(gateway.pid) - before
    wrong = sum(found[key] for key in ("lost", "dup", "gaps", "errors"))
    cost = spent / found["all_events"] * 1e6
    print(f"  {load:6} {gateway.name:9} {cost:.3f}", flush=True)
    return {"load": load, "target": gateway.name, "cost": cost, "wrong": wrong}


def _warm_up(target: Target, folder: Path, *, has_console: bool, place: int) -> None:
    """Let the console's process start, and the first rows and captures be made."""
    warm_up(target, folder)
    if has_console:
        _rows(place)
    time.sleep(1)


def _of(rows: Sequence[Result], load: str, target: str) -> list[float]:
    return [row["cost"] for row in rows if (row["load"], row["target"]) == (load, target)]


def _ratios(rows: Sequence[Result], load: str, target: str) -> tuple[float, float]:
    """Return the ratio of the fastest rounds, and the ratio of the medians of the rounds."""
    base, own = _of(rows, load, "off"), _of(rows, load, target)
    return min(own) / min(base), median(own) / median(base)


def _cost_table(load: str, rows: Sequence[Result]) -> str:
    def line(name: str) -> list[str]:
        costs, (fastest, middle) = _of(rows, load, name), _ratios(rows, load, name)
        wrong = sum(row["wrong"] for row in rows if (row["load"], row["target"]) == (load, name))
        limit = f"{LIMITS[name]:.2f}" if load in LIMITED else "-"
        return [
            name,
            f"{min(costs):.2f}",
            f"{median(costs):.2f}",
            f"{fastest:.3f}",
            f"{middle:.3f}",
            limit,
            f"{wrong}",
        ]

    head = ["console", "CPU us per event", "median", "x off, fastest", "x off, median", "limit", "wrong"]
    return f"### {load}\n\n{markdown_table(head, map(line, LIMITS))}"


def _exceeded(rows: Sequence[Result]) -> list[str]:
    return [
        f"{load}, {name}: {ratio:.3f} times the CPU time of off, more than {limit:.2f}"
        for load in dict.fromkeys(row["load"] for row in rows)
        for name, limit in LIMITS.items()
        if load in LIMITED and (ratio := _ratios(rows, load, name)[1]) > limit
    ]


# --- memory -------------------------------------------------------------------------------------------------


def _memory(folder: Path) -> list[Result]:
    """Measure a row without its capture, and the captures of short and of long streams."""
    return [
        _grown(_target("metadata", folder, streams=ROWS, total="1KiB"), folder, SHORT, "a row", ROW_KB),
        _grown(
            _target("content", folder, streams=ROWS, total="1GiB"),
            folder,
            SHORT,
            "a row and the capture of 5 events",
        ),
        _grown(
            _target("content", folder, streams=ROWS, total="1GiB"),
            folder,
            LONG,
            "a row and the capture of 1000 events",
        ),
    ]


def _grown(target: Target, folder: Path, load: Load, what: str, limit: float | None = None) -> Result:
    """Return by how much all processes grow for each further row."""
    with running(target, folder) as pid:
        measure_load(target, folder, None, load._replace(seconds=1.5))
        before, count = _settled_kb(pid), _rows()
        measure_load(target, folder, None, load)
        grown, rows = _settled_kb(pid) - before, _rows() - count
    each = grown / rows
    over = f"{each:.2f} kB, more than {limit:.2f}" if limit is not None and each > limit else ""
    return {"what": what, "rows": rows, "each": each, "limit": limit, "is_over": over}


def _settled_kb(pid: int | None) -> float:
    time.sleep(1.5)
    return resident_kb(pid)


def _rows(place: int = 0) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{CONSOLE_PORT + place}/api/v1/streams?limit=1",
        headers={"Authorization": f"Bearer {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return int(json.load(answer)["total"])


def _memory_table(rows: Sequence[Result]) -> str:
    def line(row: Result) -> list[str]:
        limit = "-" if row["limit"] is None else f"{row['limit']:.2f}"
        return [row["what"], f"{row['rows']}", f"{row['each']:.2f}", limit]

    return "### memory\n\n" + markdown_table(["of", "rows", "kB each", "limit"], map(line, rows))


if __name__ == "__main__":
    sys.exit(main())
