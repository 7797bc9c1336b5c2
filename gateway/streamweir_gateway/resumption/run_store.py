"""Opens the store of runs that the configuration names."""

from __future__ import annotations

from streamweir.redaction import hide_credentials
from streamweir.runs.memory_store import MemoryStore
from streamweir.runs.service import RunService
from streamweir.runs.store import RunStore
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.event_lines import Absence, StoreLines
from streamweir_gateway.observability.metrics import Metrics
from streamweir_gateway.resumption.upstream_run import UpstreamRun

__all__ = ["UpstreamRuns", "open_runs", "shared_store"]

UpstreamRuns = RunService[UpstreamRun]


def open_runs(config: GatewayConfig, metrics: Metrics, absence: Absence | None = None) -> UpstreamRuns:
    """Return the runs of a process. They are kept when the configuration is reloaded.

    Args:
        config: the configuration of the gateway.
        metrics: counts whether the store answers, and how fast.
        absence: the absence of the store, shared by all workers; None: there are no workers.
    """
    metrics.store_changed(True)
    return RunService(_open_store(config, metrics, absence))


def shared_store(config: GatewayConfig, runs: UpstreamRuns) -> RunStore | None:
    """Return the store of `runs` if other processes share it; None if only this process has it."""
    return None if config.store.is_memory else runs.store


def _open_store(config: GatewayConfig, metrics: Metrics, absence: Absence | None) -> RunStore:
    store = config.store
    if store.is_memory:
        return MemoryStore(max_bytes=store.max_bytes, max_runs=store.max_runs)
    from streamweir.runs.redis_store import RedisStore  # noqa: PLC0415 (it loads redis)

    redis = RedisStore(store.url, prefix=store.prefix, timeout=store.timeout, lease=store.lease)
    lines = StoreLines(hide_credentials(store.url), absence)

    def changed(is_up: bool) -> None:
        metrics.store_changed(is_up)
        lines.changed(is_up)

    redis.observe(on_change=changed, on_answer=metrics.store_answered)
    return redis
