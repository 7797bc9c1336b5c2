"""Two checkouts measured beside each other: the same rows of `micro.py`, in turn, in a process each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Final

from report import markdown_table

__all__ = ["compared"]

HERE: Final = Path(__file__).resolve().parent.parent


class Checkout:
    """The rows of one checkout, in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout
        self.rows: list[str] = json.loads(self._out.readline())

    def measure(self, row: str) -> int:
        """Return the CPU nanoseconds of one pass of `row`."""
        self._in.write(f"{row}\n")
        self._in.flush()
        return int(self._out.readline())


def compared(before: Path, *, passes: int, rows: str) -> str:
    """Return a table of the rows of this checkout and of the one at `before`.

    Args:
        before: the other checkout.
        passes: how often each row runs in each of them; a ratio is the median of as many pairs.
        rows: only those with this in their name.
    """
    with _started(HERE) as ours, _started(before.resolve()) as theirs:
        names = [row for row in ours.rows if row in theirs.rows and rows in row]
        pairs: dict[str, list[tuple[int, int]]] = {name: [] for name in names}
        for number in range(passes + 1):
            for name in names:
                first, second = (ours, theirs) if number % 2 else (theirs, ours)
                taken = first.measure(name), second.measure(name)
                if number:  # the first fills caches
                    pairs[name].append(taken if number % 2 else taken[::-1])
    lines = [[name, *_figures(taken)] for name, taken in pairs.items()]
    return markdown_table(["row", "CPU us before", "now", "ratio", "ratio of the fastest"], lines)


def _figures(taken: list[tuple[int, int]]) -> list[str]:
    ours, theirs = zip(*taken, strict=True)
    events = 500 * 1000
    return [
        f"{median(theirs) / events:.2f}",
        f"{median(ours) / events:.2f}",
        f"{median(one / other for one, other in taken):.3f}",
        f"{min(ours) / min(theirs):.3f}",
    ]


@contextmanager
def _started(checkout: Path) -> Iterator[Checkout]:
    own = checkout / ".venv" / "bin" / "python"
    path = os.pathsep.join(str(checkout / folder) for folder in ("middleware", "gateway", "bench"))
    with subprocess.Popen(
        [own if own.exists() else sys.executable, "-P", HERE / "bench" / "row_server.py", checkout],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            yield Checkout(process)
        finally:
            process.terminate()
