"""The defaults of the options of resumable streams.

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
"""The time for which a run is kept after its end."""

RUN_BYTES: Final = "8MiB"
"""The most JSON that the events of one run may take; a longer run cannot be resumed any more."""

CONTINUE_FOR: Final = "5m"
"""The time for which a run continues without readers."""

RUNS_PATH: Final = "/-/runs"
"""The path below which runs are read, cancelled, found and removed."""

STORE_BYTES: Final = "256MiB"
"""The most memory that all runs of a memory store may take."""

STORE_RUNS: Final = 10_000
"""The most runs of a memory store, running and ended."""

STORE_PREFIX: Final = "streamweir:"
"""The prefix of all names in a Redis server."""

STORE_TIMEOUT: Final = "1s"
"""The longest time in which a Redis server has to answer."""

STORE_LEASE: Final = "6s"
"""The time for which a run belongs to its replica after an append or a renewal."""
