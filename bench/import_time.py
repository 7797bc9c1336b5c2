"""CPU milliseconds of `import streamweir`, beside those of `import starlette.applications`.

    python bench/import_time.py [--passes 15]

Each import in a fresh interpreter, in turn; the ratio is the median of the pairs. The first pair is not
counted: it writes the bytecode, also where the environment says that none is written.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median
from typing import Any, Final

OURS: Final = "streamweir"
BASE: Final = "starlette.applications"
CODE: Final = "import time; began = time.process_time_ns(); import {}; print(time.process_time_ns() - began)"


def measured(module: str) -> float:
    """Return how long a fresh interpreter takes to import `module`."""
    command = [sys.executable, "-c", CODE.format(module)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    return int(subprocess.run(command, capture_output=True, check=True, env=environment).stdout) / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=15)
    options: Any = parser.parse_args()
    _, *pairs = [(measured(OURS), measured(BASE)) for _ in range(options.passes + 1)]
    for name, values in zip((OURS, BASE), zip(*pairs, strict=True), strict=True):
        print(f"{name}: {median(values):.1f} ms")
    print(f"ratio: {median(ours / base for ours, base in pairs):.2f}")


if __name__ == "__main__":
    main()
