"""The ratios that `run.py` has to keep within one run, and a table of those that were measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final, NamedTuple

__all__ = ["KILOBYTES_AT_5000", "MUSTS", "Must", "verdict_lines"]

Row = Mapping[str, Any]

PER_EVENT: Final = "cpu_s_per_mevent"
PER_STREAM: Final = "cpu_ms_per_stream"


class Must(NamedTuple):
    """A figure of the gateway, the figure that it is compared with, and the ratio that it must not exceed."""

    scenario: str
    row: str
    base: str
    most: float
    figure: str = PER_STREAM
    base_scenario: str = ""
    """The scenario of the base, if it is another one."""


_OURS: Final = "streamweir"

MUSTS: Final = (
    Must("short", _OURS, "go", 3),
    Must("short", _OURS, "starlette+aiohttp", 1),
    Must("flood", _OURS, "starlette+aiohttp", 0.9, PER_EVENT),
    Must("flood", _OURS, "go", 0.8, PER_EVENT),
    Must("busy", _OURS, "nginx", 1.8, PER_EVENT),
    Must("flood", "streamweir-legacy", _OURS, 1, PER_EVENT),
    Must("short", "streamweir-legacy", _OURS, 1),
    Must("short", "streamweir-2-workers", _OURS, 1.15),
    Must("short", "streamweir-10000-keys", "streamweir-1-key", 1.1),
    Must("short", "streamweir-mapped", _OURS, 1.2),
    Must("crowd 5000 busy", _OURS, _OURS, 1.2, PER_EVENT, "crowd 10 busy"),
    Must("crowd 5000 short", _OURS, _OURS, 1.2, PER_STREAM, "crowd 10 short"),
)

KILOBYTES_AT_5000: Final = 24
"""The most memory of an open stream, beside 5,000 others."""


def verdict_lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Yield a line for each of `MUSTS` that was measured.

    A line has the scenario, the row, its base, the ratio of the medians, the ratio of the fastest rounds, the
    limit, and whether the fastest rounds keep it.
    """
    for must in MUSTS:
        ours = _values(rows, must.row, must.scenario, must.figure)
        theirs = _values(rows, must.base, must.base_scenario or must.scenario, must.figure)
        if ours and theirs:
            fastest, usual = min(ours) / min(theirs), median(ours) / median(theirs)
            kept = "yes" if fastest <= must.most else "**no**"
            base = f"beside {must.base_scenario.split()[1]}" if must.base_scenario else must.base
            yield [must.scenario, must.row, base, f"{usual:.2f}", f"{fastest:.2f}", f"{must.most:g}", kept]


def _values(rows: Sequence[Row], target: str, scenario: str, figure: str) -> list[float]:
    return [
        row[figure]
        for row in rows
        if row["target"] == target and row["scenario"] == scenario and row.get(figure)
    ]
