"""Who may call: nobody gets in by an oversight, and each key shows who is calling."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import Caller, Cors, GatewayConfig
from streamweir_gateway.config.rules.names import check_name, check_repetition
from streamweir_gateway.config.values.addresses import NEEDS_AUTH, is_loopback
from streamweir_gateway.config.values.auth import ANY_ORIGIN, key_digest

__all__ = ["check_access"]


def check_access(config: GatewayConfig, report: Report) -> None:
    """Report what is wrong with keys, origins and trusted proxies."""
    if config.auth is None and not is_loopback(config.listen):
        report.at_value(("listen",), NEEDS_AUTH)
    if config.auth is not None:
        _check_keys(config.auth.keys, report)
        _check_opened(config.auth.keys, {endpoint.template for endpoint in config.endpoints}, report)
        models = {name for endpoint in config.endpoints for name in endpoint.models}
        _check_models(config.auth.keys, models, report)
    if config.cors is not None:
        _check_origins(config.cors, report)
    check_repetition(config.server.trusted_proxies, ("server", "trusted_proxies"), report)
    check_repetition(config.server.hosts, ("server", "hosts"), report)


def _check_keys(callers: Mapping[str, Caller], report: Report) -> None:
    """Report keys that stand twice, in plain text or by their digest."""
    owners: dict[bytes, str] = {}
    for name, caller in callers.items():
        for index, key in enumerate(caller.key):
            if isinstance(key, Unresolved):
                continue
            digest = key_digest(key)
            if (owner := owners.get(digest)) is not None:
                message = "is listed twice" if owner == name else f"is the same key as that of {owner}"
                report.at_value(("auth", "keys", name, "key", index), message)
            owners.setdefault(digest, name)


def _check_opened(callers: Mapping[str, Caller], templates: Collection[str], report: Report) -> None:
    for name, caller in callers.items():
        path: KeyPath = ("auth", "keys", name, "endpoints")
        check_repetition(caller.endpoints, path, report)
        for index, template in enumerate(caller.endpoints):
            check_name(template, (*path, index), templates, "endpoint", report)


def _check_models(callers: Mapping[str, Caller], models: Collection[str], report: Report) -> None:
    for name, caller in callers.items():
        path: KeyPath = ("auth", "keys", name, "models")
        check_repetition(caller.models, path, report)
        for index, model in enumerate(caller.models):
            check_name(model, (*path, index), models, "model", report)


def _check_origins(cors: Cors, report: Report) -> None:
    check_repetition(cors.origins, ("cors", "origins"), report)
    if ANY_ORIGIN in cors.origins and len(cors.origins) > 1:
        index = cors.origins.index(ANY_ORIGIN)
        report.at_value(("cors", "origins", index), "stands for every origin: it must be alone")
