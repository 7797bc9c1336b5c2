"""The rows of one checkout's `micro.py`, measured one by one as `against.py` asks for them.

    python -P bench/row_server.py CHECKOUT

Prints the names of the rows as one line of JSON, and then, for each name that it reads, the CPU nanoseconds
of one pass. It imports nothing of the checkout that it stands in.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any, Final

GROUPS: Final = (
    *("streams", "all_texts", "copied", "single_reads", "other_events", "cumulative", "large_lines"),
    *("short_streams", "home_made", "layers"),
)
"""The functions of `micro.py` that return rows."""


def main(checkout: Path) -> None:
    """Measure the rows of `checkout` as they are asked for."""
    sys.path.insert(0, str(checkout / "bench"))
    micro: Any = importlib.import_module("micro")
    groups = {group: getattr(micro, group, dict)() for group in GROUPS}  # an older checkout may lack one
    steps = {f"{group}: {name}": step for group, rows in groups.items() for name, step in rows.items()}
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
    main(Path(sys.argv[1]).resolve())
