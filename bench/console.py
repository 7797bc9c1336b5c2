"""Measure what the console costs: CPU time per event without it, with metadata and with content, and memory.

    python bench/console.py                       seven rounds, interleaved; prints tables, ratios to off
    python bench/console.py -s busy -r 3          one load, three rounds
    python bench/console.py -m                    the memory alone

The CPU time is that of the serving process and of the console's process together, once the console has
started. Backend and load client have the other processor. Everything is on 127.0.0.1 (ports 9100 to 9102).
Exit status 1: a limit is exceeded.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from report import markdown_table
from scenarios import Load, measure_load, resident_kb, warm_up
from targets import LOAD_CPU, Target, backend, build_tools, filled, running

LOADS: Final = {
    "flood": Load(2, 0.5, 2.5, "n=20000&burst=32"),
    "busy": Load(100, 1, 4, "n=100&delay=20000"),
    "short": Load(8, 0.5, 2.5, "n=100&burst=32"),
}
"""flood: two streams as fast as the gateway can, 32 events a write; busy: 100 streams of 50 events a second,
one a write; short: one stream of 100 events after another, for the cost of a row. It has no limit."""

LIMITS: Final = {"off": 1.0, "metadata": 1.03, "content": 1.15}
"""The most CPU time per event, as a ratio to `off`."""
ROW_KB: Final = 2.0
"""The most memory of a row."""

CONSOLE_PORT: Final = 9102
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
    for name in dict.fromkeys(row["scenario"] for row in costs):
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
    parser.add_argument("-r", "--rounds", type=int, default=7)
    parser.add_argument("-m", "--memory", action="store_true", help="measure the memory alone")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent / ".tmp")
    return parser.parse_args()


def _target(name: str, folder: Path, *, streams: int = 2000, total: str = "64MiB") -> Target:
    """Return a gateway without a console (`off`), or with one that keeps `name`."""
    text = filled("gateway.yaml.in", folder, "standard").read_text()
    if name != "off":
        text += CONSOLE.format(port=CONSOLE_PORT, token=TOKEN, capture=name, streams=streams, total=total)
    file = folder / f"console-{name}.yaml"
    file.write_text(text)
    return Target(f"console-{name}", [sys.executable, "-m", "streamweir_gateway", "serve", str(file)])


# --- CPU time -----------------------------------------------------------------------------------------------


def _costs(scenarios: Sequence[str], rounds: int, folder: Path) -> list[Result]:
    rows: list[Result] = []
    for number in range(1, rounds + 1):
        print(f"round {number}, load average {os.getloadavg()[0]:.2f}", flush=True)
        names = [*LIMITS] if number % 2 else [*reversed(LIMITS)]
        for name in names:
            target = _target(name, folder)
            with running(target, folder) as pid:
                _warm_up(target, folder, has_console=name != "off")
                for scenario in scenarios:
                    row = {
                        "scenario": scenario,
                        "target": name,
                        **measure_load(target, folder, pid, LOADS[scenario]),
                    }
                    rows.append(row)
                    print(f"  {scenario:6} {name:9} {row.get('cpu_s_per_mevent', row)}", flush=True)
    return rows


def _warm_up(target: Target, folder: Path, *, has_console: bool) -> None:
    """Let the console's process start, and the first rows and captures be made."""
    for _ in range(3):
        warm_up(target, folder)
    if has_console:
        _rows()
    time.sleep(1)


def _of(rows: Sequence[Result], scenario: str, target: str, key: str) -> float:
    return median(row[key] for row in rows if (row["scenario"], row["target"]) == (scenario, target))


def _ratio(rows: Sequence[Result], scenario: str, target: str) -> float:
    """Return the median of the ratios of each round."""
    key = "cpu_s_per_mevent"
    base, own = (
        [row[key] for row in rows if (row["scenario"], row["target"]) == (scenario, name)]
        for name in ("off", target)
    )
    return median(found / without for found, without in zip(own, base, strict=True))


def _cost_table(scenario: str, rows: Sequence[Result]) -> str:
    def line(name: str) -> list[str]:
        wrong = sum(
            row[key]
            for row in rows
            if (row["scenario"], row["target"]) == (scenario, name)
            for key in ("lost", "dup", "gaps", "errors")
        )
        cost = _of(rows, scenario, name, "cpu_s_per_mevent")
        limit = "-" if scenario == "short" else f"{LIMITS[name]:.2f}"
        return [name, f"{cost:.2f}", f"{_ratio(rows, scenario, name):.3f}", limit, f"{wrong}"]

    head = ["console", "CPU us per event", "x off", "limit", "wrong"]
    return f"### {scenario}\n\n{markdown_table(head, map(line, LIMITS))}"


def _exceeded(rows: Sequence[Result]) -> list[str]:
    return [
        f"{scenario}, {name}: {ratio:.3f} times the CPU time of off, more than {limit:.2f}"
        for scenario in dict.fromkeys(row["scenario"] for row in rows)
        for name, limit in LIMITS.items()
        if scenario != "short" and (ratio := _ratio(rows, scenario, name)) > limit
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


def _rows() -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{CONSOLE_PORT}/api/v1/streams?limit=1",
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
