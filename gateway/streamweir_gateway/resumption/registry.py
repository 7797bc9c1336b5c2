"""The runs of a process: the store that keeps them, and those that are made here.

It outlives a change of the configuration, as what is under way does.
"""

from __future__ import annotations

from typing import Final

from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.store import RunStore
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.metrics import Metrics
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
    def of(cls, config: GatewayConfig, metrics: Metrics) -> RunRegistry:
        """Return the registry that a configuration asks for.

        Args:
            config: of the gateway.
            metrics: show how the store is.
        """
        metrics.store_changed(True)
        store = config.store
        if store.is_memory:
            return cls(MemoryStore(max_bytes=store.max_bytes, max_runs=store.max_runs))
        from streamweir.runs.redis_store import RedisStore  # noqa: PLC0415 (it loads redis)

        kept = RedisStore(store.url, prefix=store.prefix, timeout=store.timeout, lease=store.lease)
        kept.observe(on_change=metrics.store_changed, on_answer=metrics.store_answered)
        return cls(kept)

    async def aclose(self) -> None:
        """Let go of the store."""
        await self.store.aclose()
