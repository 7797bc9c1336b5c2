"""Runs that survive their connection: their stores, their readers and their options.

Source: the contract of resumable streams. Only `RedisStore` imports Redis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.options import Resume
from streamweir.runs.store import RunLost, RunState, RunStore, Signals, StoreFull, StoreUnavailable

if TYPE_CHECKING:
    from streamweir.runs.redis_store import RedisStore

__all__ = [
    "MemoryStore",
    "RedisStore",
    "Resume",
    "RunLost",
    "RunState",
    "RunStore",
    "Signals",
    "StoreFull",
    "StoreUnavailable",
]


def __getattr__(name: str) -> Any:
    if name != "RedisStore":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from streamweir.runs.redis_store import RedisStore  # noqa: PLC0415 (it loads redis)
    except ImportError as error:
        raise ImportError("RedisStore needs redis: pip install 'streamweir[redis]'") from error
    return RedisStore
