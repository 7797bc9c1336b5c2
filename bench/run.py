"""Measure the gateway beside its peers: the same work through every target, rounds interleaved, medians.

    python bench/run.py                          everything, five rounds; writes docs/performance.md
    python bench/run.py --quick                  flood, busy, short; three rounds; prints only
    python bench/run.py -t nginx,streamweir -s flood -r 5
    python bench/run.py --add 'other|http://127.0.0.1:9101/chat|COMMAND'

The target runs on one processor, backend and load client on the other; everything is on 127.0.0.1. A command
that is added must listen on port 9101 and forward to $UPSTREAM.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
from pathlib import Path
from typing import Any, Final

from gateway_targets import GATEWAYS, ONLY
from report import tables, write_into
from scenarios import SCENARIOS, measure, warm_up
from targets import BACKEND, Target, backend, build_tools, running, targets

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
USUAL: Final = ("direct", "nginx", "starlette+httpx", "starlette+aiohttp", "go", *GATEWAYS)
ONCE: Final = ("slow", "idle", "crowd")
"""Scenarios of one round: memory hardly moves between rounds, and they take long."""

NOT_CROWDED: Final = ("direct", "starlette+httpx")
"""Left out of `crowd`: httpx's pool takes minutes to open 5,000 streams."""


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-t", "--targets", help=f"default: {','.join(USUAL)}")
    parser.add_argument("-s", "--scenarios", help=f"default: {','.join(SCENARIOS)}")
    parser.add_argument("-r", "--rounds", type=int)
    parser.add_argument("--quick", action="store_true", help="under three minutes; prints, writes nothing")
    parser.add_argument("--add", action="append", default=[], metavar="NAME|URL|COMMAND")
    parser.add_argument("--folder", type=Path, default=Path(__file__).resolve().parent / ".tmp")
    parser.add_argument("--print", action="store_true", dest="only_print", help="write nothing into the page")
    return parser.parse_args()


def main() -> None:
    """Run what the command line asks for."""
    options = _arguments()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build_tools(folder)
    known = targets(folder)
    for added in options.add:
        name, url, command = added.split("|", 2)
        known[name] = Target(name, shlex.split(command), url, {"UPSTREAM": BACKEND})
    chosen = (
        options.targets.split(",") if options.targets else [*USUAL, *(a.split("|")[0] for a in options.add)]
    )
    scenarios = (options.scenarios or ("flood,busy,short" if options.quick else ",".join(SCENARIOS))).split(
        ","
    )
    rounds = options.rounds or (3 if options.quick else 5)
    if options.quick and not options.targets:
        chosen = [name for name in chosen if name not in ("direct", "nginx") and name not in ONLY]
    rows: list[dict[str, Any]] = []
    with backend(folder), (folder / "results.jsonl").open("w") as out:
        for number in range(1, rounds + 1):
            print(f"round {number}, load average {os.getloadavg()[0]:.2f}", flush=True)
            for target in (known[name] for name in chosen if name in known):
                now = [name for name in scenarios if number == 1 or name not in ONCE]
                if not options.targets:
                    now = [name for name in now if name in ONLY.get(target.name, now)]
                for row in _measured(target, now, folder):
                    rows.append({"round": number, **row})
                    out.write(json.dumps(rows[-1]) + "\n")
                    out.flush()
    text = tables(rows)
    print(f"\n{text}")
    if not options.quick and not options.only_print:
        write_into(PAGE, "figures", text)


def _measured(target: Target, scenarios: list[str], folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    usual = [name for name in scenarios if name not in ONCE]
    for group in (usual, *([name] for name in scenarios if name in ONCE)):  # used memory would hide the new
        if group:
            found += _in_one_process(target, group, folder)
    return found


def _in_one_process(target: Target, scenarios: list[str], folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    with running(target, folder) as pid:
        warm_up(target, folder)
        for scenario in scenarios:
            if (target.command is None and scenario in ONCE) or (
                scenario == "crowd" and target.name in NOT_CROWDED
            ):
                continue
            for row in measure(scenario, target, folder, pid):
                found.append({"target": target.name, **row})
                cost = row.get("cpu_s_per_mevent") or row.get("kept_kb") or row.get("rss1_kb", 0)
                print(
                    f"  {target.name:20} {row['scenario']:18} {cost:9.2f}  {row.get('failed', '')}",
                    flush=True,
                )
    return found


if __name__ == "__main__":
    main()
