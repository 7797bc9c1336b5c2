"""Rules for turns that are kept: requests have to be mapped, and all workers have to share the store."""

from __future__ import annotations

from streamweir.yaml_files.report import Report
from streamweir_gateway.config.models import GatewayConfig

__all__ = ["check_history", "check_turns"]


def check_history(config: GatewayConfig, report: Report) -> None:
    """Report `history: kept` if threads are not kept, and threads that only some workers would find."""
    for endpoint in config.endpoints:
        path = ("endpoints", endpoint.template, "history")
        if endpoint.history != "kept" or "history" not in endpoint.model_fields_set:
            continue
        if not endpoint.maps_requests:
            report.at_value(path, "kept needs `request: mapped`")
        elif endpoint.turns is None:
            report.at_value(path, "kept needs `turns`, which are off here")
        elif config.store.is_memory and config.server.workers > 1:
            report.at_value(path, "kept needs a store that all workers share: set `store` to a redis:// URL")


def check_turns(config: GatewayConfig, report: Report) -> None:
    """Report `turns` at endpoints that do not map requests, and turns that only some workers would find.

    `turns` in `defaults` apply only to endpoints with `request: mapped`.
    """
    for endpoint in config.endpoints:
        path = ("endpoints", endpoint.template, "turns")
        if "turns" not in endpoint.model_fields_set:
            continue
        if not endpoint.maps_requests:
            if report.origin_of(path)[:1] == path[:1]:
                report.at_key(path, "needs `request: mapped`, which puts turns back into requests")
        elif endpoint.turns is not None and config.store.is_memory and config.server.workers > 1:
            report.at_value(path, "needs a store that all workers share: set `store` to a redis:// URL")
