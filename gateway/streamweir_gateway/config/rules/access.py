"""Rules for callers: no access by mistake, and each key belongs to one caller."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import Caller, Cors, EndpointConfig, GatewayConfig
from streamweir_gateway.config.rules.names import check_name, check_repetition
from streamweir_gateway.config.values.addresses import NEEDS_AUTH, is_loopback
from streamweir_gateway.config.values.auth import ANY_ORIGIN, key_digest

__all__ = ["check_access"]


def check_access(config: GatewayConfig, report: Report) -> None:
    """Report problems of keys, origins and trusted proxies."""
    if config.auth is None and not is_loopback(config.listen):
        report.at_value(("listen",), NEEDS_AUTH)
    if config.auth is not None:
        _check_keys(config.auth.keys, report)
        _check_opened(config.auth.keys, {endpoint.template for endpoint in config.endpoints}, report)
        models = {name for endpoint in config.endpoints for name in endpoint.models}
        _check_models(config.auth.keys, models, report)
    callers = config.auth.keys if config.auth is not None else {}
    for endpoint in config.endpoints:
        _check_named_callers(endpoint, callers, report)
    if config.cors is not None:
        _check_origins(config.cors, report)
    check_repetition(config.server.trusted_proxies, ("server", "trusted_proxies"), report)
    check_repetition(config.server.hosts, ("server", "hosts"), report)


def _check_keys(callers: Mapping[str, Caller], report: Report) -> None:
    """Report keys that occur twice, in plain text or by their digest."""
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


def _check_named_callers(endpoint: EndpointConfig, callers: Mapping[str, Caller], report: Report) -> None:
    """Report names in the `auth` of an endpoint that no key has, and keys that may not call the endpoint."""
    path: KeyPath = ("endpoints", endpoint.template, "auth")
    names = endpoint.auth or ()
    if names and not callers:
        report.at_value(path, "names keys, but the file has no `auth.keys`")
        return
    check_repetition(names, path, report)
    for index, name in enumerate(names):
        check_name(name, (*path, index), callers, "key of `auth.keys`", report)
        opened = callers[name].endpoints if name in callers else ()
        if opened and endpoint.template not in opened:
            message = "names a key whose own `endpoints` leave this endpoint out"
            report.at_value((*path, index), message, f": {name}")


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
    if ANY_ORIGIN in cors.origins and cors.credentials:
        message = "cannot be true beside origins: ['*']: browsers refuse cookies there; name the origins"
        report.at_value(("cors", "credentials"), message)
    check_repetition(cors.headers, ("cors", "headers"), report, str.lower)
