"""The runs of a process: the store that keeps them, and those that are made here.

It outlives a change of the configuration, as what is under way does.
"""

from __future__ import annotations

from typing import Final

from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.store import RunStore
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.resumption.kept_run import KeptRun

__all__ = ["RunRegistry"]


class RunRegistry:
    """Those of one process.

    Attributes:
        store: keeps them.
        under_way: by their names in the store, those that this process owns.

    Args:
        store: keeps them.
    """

    def __init__(self, store: RunStore) -> None:
        self.store: Final = store
        self.under_way: Final[dict[str, KeptRun]] = {}

    @classmethod
    def of(cls, config: GatewayConfig) -> RunRegistry:
        """Return the registry that a configuration asks for."""
        store = config.store
        if store.is_memory:
            return cls(MemoryStore(max_bytes=store.max_bytes, max_runs=store.max_runs))
        from streamweir.runs.redis_store import RedisStore  # noqa: PLC0415 (it loads redis)

        return cls(RedisStore(store.url, prefix=store.prefix, timeout=store.timeout, lease=store.lease))

    async def aclose(self) -> None:
        """Let go of the store."""
        await self.store.aclose()
