"""How long and how much of resumable streams is kept, if nothing else is said.

Source: the contract of resumable streams.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "CONTINUE_FOR",
    "RUNS_PATH",
    "RUN_BYTES",
    "STORE_BYTES",
    "STORE_LEASE",
    "STORE_PREFIX",
    "STORE_RUNS",
    "STORE_TIMEOUT",
    "TTL",
]

TTL: Final = "5m"
"""After the end of a run; while it runs it is kept."""

RUN_BYTES: Final = "8MiB"
"""Of the JSON of one run's events; beyond, it cannot be resumed any more."""

CONTINUE_FOR: Final = "5m"
"""For so long a run goes on that nobody reads."""

RUNS_PATH: Final = "/-/runs"
"""Where runs are read, stopped, found and removed."""

STORE_BYTES: Final = "256MiB"
"""Of all runs in memory; ended ones give way."""

STORE_RUNS: Final = 10_000
"""In memory, running and ended."""

STORE_PREFIX: Final = "streamweir:"
"""Of all names in the server that keeps runs."""

STORE_TIMEOUT: Final = "1s"
"""Within which that server has to answer."""

STORE_LEASE: Final = "6s"
"""How long a run belongs to its replica since that last said so."""
