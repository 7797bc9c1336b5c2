"""Who may call: nobody gets in by an oversight, and each key shows who is calling."""

from __future__ import annotations

from collections.abc import Mapping

from streamweir_gateway.config.diagnostics import Report
from streamweir_gateway.config.models import Cors, GatewayConfig
from streamweir_gateway.config.rules.names import check_repetition
from streamweir_gateway.config.values.addresses import NEEDS_AUTH, is_loopback
from streamweir_gateway.config.values.auth import ANY_ORIGIN

__all__ = ["check_access"]


def check_access(config: GatewayConfig, report: Report) -> None:
    """Report what is wrong with keys, origins and trusted proxies."""
    if config.auth is None and not is_loopback(config.listen):
        report.at_value(("listen",), NEEDS_AUTH)
    if config.auth is not None:
        _check_keys(config.auth.keys, report)
    if config.cors is not None:
        _check_origins(config.cors, report)
    check_repetition(config.server.trusted_proxies, ("server", "trusted_proxies"), report)


def _check_keys(keys: Mapping[str, str], report: Report) -> None:
    names: dict[str, str] = {}
    for name, key in keys.items():
        first = names.setdefault(key, name)
        if key and first != name:
            report.at_value(("auth", "keys", name), f"is the same key as that of {first}")


def _check_origins(cors: Cors, report: Report) -> None:
    check_repetition(cors.origins, ("cors", "origins"), report)
    if ANY_ORIGIN in cors.origins and len(cors.origins) > 1:
        index = cors.origins.index(ANY_ORIGIN)
        report.at_value(("cors", "origins", index), "stands for every origin: it must be alone")
