"""The ratios that `micro.py` has to keep within one run, and a table of those that were measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final, NamedTuple

from dialect_texts import TEXTS
from report import markdown_table

__all__ = ["MUSTS", "verdicts"]


class Must(NamedTuple):
    """A row, the row that it is compared with, and the ratio that it must not exceed."""

    row: str
    base: str
    most: float


_TEXT: Final = "text after text, one a read"

MUSTS: Final = (
    Must("text, call, result, status in turn, one a read", _TEXT, 5),
    *(Must(name, "legacy", 3) for name in TEXTS if name != "legacy"),
    Must("cumulative answer", "agent's answer", 4),
    Must("500 texts in one read, copied", "500 texts in one read, written as standard", 1),
    Must("5 texts, one a read, copied", "5 texts, one a read, written as standard", 1),
    Must("a status among 31 texts, copied", "a status among 31 texts, written as standard", 1),
    Must("openai-chat -> standard", "legacy -> standard", 1.5),
    Must("anthropic -> standard", "legacy -> standard", 1.5),
    Must("one line of 8 MiB", "lines of 64 KiB", 1.5),
)
"""Only rows of one table are compared. `openai-chat` and `anthropic` are those of short answers."""


def verdicts(tables: Sequence[Mapping[str, Sequence[float]]]) -> str:
    """Return a table of all ratios of `MUSTS`, each with the limit and whether the fastest passes keep it.

    Args:
        tables: the passes of the run, a table each. Of rows of several tables the last one counts.
    """
    lines = []
    for must in MUSTS:
        found = [figures for figures in tables if must.row in figures and must.base in figures]
        if found:
            ours, theirs = found[-1][must.row], found[-1][must.base]
            fastest, usual = min(ours) / min(theirs), median(ours) / median(theirs)
            kept = "yes" if fastest <= must.most else "**no**"
            lines.append([must.row, must.base, f"{usual:.2f}", f"{fastest:.2f}", f"{must.most:g}", kept])
    return markdown_table(["row", "against", "ratio", "of the fastest", "must", "kept"], lines)
