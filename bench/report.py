"""From rows to tables: medians over the rounds, each target as a multiple of those beside it."""

from __future__ import annotations

import datetime
import platform
import re
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from run_musts import KILOBYTES_AT_5000, verdict_lines
from scenarios import IDLE_STREAMS, LOADS

__all__ = ["markdown_table", "tables", "write_into"]

Row = dict[str, Any]

BASES: Final = ("starlette+httpx", "starlette+aiohttp", "nginx")
_PACKAGES: Final = (
    *("starlette", "uvicorn", "uvloop", "httptools", "httpx"),
    *("aiohttp", "anyio", "orjson", "msgspec"),
)


def tables(rows: Sequence[Row]) -> str:
    """Return all tables that `rows` give, as Markdown."""
    parts = [_about(rows)]
    parts += [_load_table(name, rows) for name in LOADS if any(row["scenario"] == name for row in rows)]
    others = (_idle_table(rows), _crowd_table(rows), _slow_table(rows), _must_table(rows))
    parts += [table for table in others if table]
    return "\n\n".join(parts) + "\n"


def write_into(page: Path, name: str, text: str) -> None:
    """Replace what stands between the marks `name` of a page."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    old = page.read_text()
    pattern = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(end)})", re.DOTALL)
    page.write_text(pattern.sub(lambda _: text, old, count=1))


def _about(rows: Sequence[Row]) -> str:
    day = datetime.datetime.now(datetime.UTC).date()
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    rounds = max((row["round"] for row in rows), default=0)
    counted = sum(row.get("all_events", 0) for row in rows)
    wrong = {key: sum(row.get(key, 0) for row in rows) for key in ("lost", "dup", "gaps", "errors")}
    return (
        f"{day}, {_processor()}, Python {platform.python_version()}, {packages}{_nginx()}. Rounds: {rounds}, "
        f"targets interleaved. Events checked: {counted:,}; lost {wrong['lost']}, doubled {wrong['dup']}, "
        f"out of order {wrong['gaps']}, failed streams {wrong['errors']}."
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(models)} x {models[0]}" if models else platform.machine()


def _nginx() -> str:
    try:
        done = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return f", nginx {done.stderr.strip().rpartition('/')[2]}"


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *lines))


def _table(title: str, head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    return f"### {title}\n\n{markdown_table(head, lines)}"


def _values(rows: Iterable[Row], target: str, scenario: str, key: str) -> list[float]:
    return [
        row[key]
        for row in rows
        if row["target"] == target and row["scenario"] == scenario and row.get(key) is not None
    ]


def _median(rows: Iterable[Row], target: str, scenario: str, key: str) -> float | None:
    values = _values(rows, target, scenario, key)
    return median(values) if values else None


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"


def _ratio(value: float | None, base: float | None) -> str:
    return "-" if value is None or not base else f"{value / base:.2f}"


def _names(rows: Iterable[Row]) -> list[str]:
    return list(dict.fromkeys(row["target"] for row in rows))


def _load_table(scenario: str, rows: Sequence[Row]) -> str:
    def line(name: str) -> list[str]:
        def of(key: str) -> float | None:
            return _median(rows, name, scenario, key)

        cost = _values(rows, name, scenario, "cpu_s_per_mevent")
        bases = [_median(rows, base, scenario, "cpu_s_per_mevent") for base in BASES]
        return [
            name,
            _number(of("cpu_s_per_mevent")),
            f"{min(cost):.2f} - {max(cost):.2f}" if cost else "-",
            *(_ratio(of("cpu_s_per_mevent"), base) for base in bases),
            _number(of("cpu_ms_per_stream"), 3),
            _number(of("streams_per_s"), 0),
            f"{_number(of('lat_p50_us'), 0)} / {_number(of('lat_p99_us'), 0)}",
        ]

    head = ["target", "CPU us per event", "min - max", *(f"x {base}" for base in BASES)]
    head += ["CPU ms per stream", "streams/s", "latency p50 / p99 us"]
    measured = [row for row in rows if row["scenario"] == scenario]
    return _table(scenario, head, map(line, _names(measured)))


def _idle_table(rows: Sequence[Row]) -> str:
    def line(name: str) -> list[str]:
        base = _median(rows, name, f"idle {IDLE_STREAMS[0]}", "rss0_kb")
        cells = [name, _number((base or 0) / 1024, 0)]
        for streams in IDLE_STREAMS:
            memory, first = (_median(rows, name, f"idle {streams}", key) for key in ("rss1_kb", "first"))
            served = f" ({first:.0f} served)" if first and first < streams else ""
            cells.append(_number((memory - (base or 0)) / first, 1) + served if memory and first else "-")
        return cells

    names = [name for name in _names(rows) if _values(rows, name, f"idle {IDLE_STREAMS[0]}", "rss0_kb")]
    names = [name for name in names if name != "direct"]
    head = ["target", "alone, MB", *(f"kB per stream at {streams}" for streams in IDLE_STREAMS)]
    return _table("idle: memory of an open stream", head, map(line, names)) if names else ""


def _crowd_table(rows: Sequence[Row]) -> str:
    held = sorted({int(row["scenario"].split()[1]) for row in rows if row["scenario"].startswith("crowd")})
    if not held:
        return ""

    def line(name: str) -> list[str]:
        cells = [name]
        for load, key in (("busy", "cpu_s_per_mevent"), ("short", "cpu_ms_per_stream")):
            costs = [_median(rows, name, f"crowd {number} {load}", key) for number in held]
            cells += [*map(_number, costs), _ratio(costs[-1], costs[0])]
        return cells

    head = ["target"]
    for unit in ("us per event", "ms per request"):
        head += [*(f"{unit} beside {number} streams" for number in held), "ratio"]
    names = [name for name in _names(rows) if _values(rows, name, f"crowd {held[0]} busy", "cpu_s")]
    return _table("crowd: cost beside many open streams", head, map(line, names))


def _must_table(rows: Sequence[Row]) -> str:
    lines = [*verdict_lines(rows), *_memory_line(rows)]
    head = ["scenario", "row", "against", "ratio", "of the fastest", "must", "kept"]
    return _table("what has to be kept", head, lines) if lines else ""


def _memory_line(rows: Sequence[Row]) -> list[list[str]]:
    before = _median(rows, "streamweir", f"idle {IDLE_STREAMS[0]}", "rss0_kb")
    after, first = (
        _median(rows, "streamweir", f"idle {IDLE_STREAMS[-1]}", key) for key in ("rss1_kb", "first")
    )
    if not (before and after and first):
        return []
    kilobytes = (after - before) / first
    kept = "yes" if kilobytes <= KILOBYTES_AT_5000 else "**no**"
    cells = ["kB per stream", f"{kilobytes:.1f}", "", f"{KILOBYTES_AT_5000}", kept]
    return [[f"idle {IDLE_STREAMS[-1]}", "streamweir", *cells]]


def _slow_table(rows: Sequence[Row]) -> str:
    kept = {name: _median(rows, name, "slow", "kept_kb") for name in _names(rows) if name != "direct"}
    lines = [[name, _number(value, 0)] for name, value in kept.items() if value is not None]
    head = ["target", "kB kept per stream"]
    return _table("slow: a backend that floods, a client that does not read", head, lines) if lines else ""
