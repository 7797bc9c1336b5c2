"""Runs that survive their connection: how they are kept, and by what options.

Source: the contract of resumable streams. Redis is loaded by nothing but `RedisStore`.
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
