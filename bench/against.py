"""Two checkouts measured beside each other: the same rows of `micro.py`, in turn, in a process each.

A process is started with the path of a checkout. It loads that checkout's own `bench/micro.py`, prints the
names of its rows as one line of JSON, and then, for each name that it reads, the CPU nanoseconds of one pass.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import IO, Any, Final

from report import markdown_table

__all__ = ["compared"]

HERE: Final = Path(__file__).resolve().parent.parent
GROUPS: Final = ("streams", "single_reads", "short_streams", "layers")
"""The functions of `micro.py` that return rows."""


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
        [own if own.exists() else sys.executable, __file__, checkout],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        try:
            yield Checkout(process)
        finally:
            process.terminate()


def _serve(checkout: Path) -> None:
    """Measure the rows of `checkout` as they are asked for."""
    sys.path.insert(0, str(checkout / "bench"))
    micro: Any = importlib.import_module("micro")
    steps = {f"{group}: {name}": step for group in GROUPS for name, step in getattr(micro, group)().items()}
    print(json.dumps([*steps]), flush=True)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        step = steps[line.removesuffix("\n")]
        gc.collect()
        began = time.process_time_ns()
        step()
        print(time.process_time_ns() - began, flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
