"""Rules for runs that are kept: all processes need access to the store; the paths must be separate."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Final
from urllib.parse import urlsplit

from streamweir.yaml_files.report import Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import GatewayConfig

__all__ = ["check_resume"]

_SCHEMES: Final = ("redis://", "rediss://", "valkey://", "valkeys://", "unix://")
_OF_MEMORY: Final = ("max_bytes", "max_runs")
_OF_REDIS: Final = ("prefix", "timeout", "lease")
_MIN_LEASE: Final = 1.0


def check_resume(config: GatewayConfig, report: Report) -> None:
    """Report values with which runs cannot be kept or cannot be read."""
    _check_store(config, report)
    has_runs = any(endpoint.resume is not None for endpoint in config.endpoints)
    for endpoint in config.endpoints:
        path = ("endpoints", endpoint.template, "resume")
        is_below_runs = _is_below_runs(config, endpoint.template)
        if endpoint.resume is None:
            if has_runs and is_below_runs and endpoint.template != config.server.runs:
                report.at_key(path[:-1], "cannot stand at or below `server.runs`, where runs are read")
            continue
        if config.store.is_memory and config.server.workers > 1:
            report.at_value(path, "needs a store that all workers share: set `store` to a redis:// URL")
        if endpoint.resume.find and not (config.auth is not None and config.auth.keys):
            report.at_value(
                (*path, "find"), "needs `auth.keys`: a run is found by the key that it belongs to"
            )
        if endpoint.relays_all:
            report.at_value(path, "cannot stand beside `relay: all`")
        if is_below_runs:
            report.at_value(path, "cannot stand at or below `server.runs`")


def _is_below_runs(config: GatewayConfig, template: str) -> bool:
    runs = None if config.server.runs is None else config.server.runs.rstrip("/")
    return runs is not None and (template == runs or template.startswith(f"{runs}/"))


def _check_store(config: GatewayConfig, report: Report) -> None:
    store, written = config.store, config.store.model_fields_set
    if isinstance(store.url, Unresolved):
        return
    if not store.is_memory and not _is_url(store.url):
        report.at_value(("store",), f"must be memory, or a URL with {', '.join(_SCHEMES)}")
    elif not store.is_memory and find_spec("redis") is None:
        kept = [endpoint.template for endpoint in config.endpoints if endpoint.resume is not None]
        paths: list[tuple[str, ...]] = [("endpoints", template, "resume") for template in kept]
        for path in paths or [("store",)]:
            report.at_value(path, "needs the extra redis: pip install 'streamweir[redis]'")
    for name in _OF_REDIS if store.is_memory else _OF_MEMORY:
        if name in written:
            report.at_value(
                ("store", name), f"says nothing to {'memory' if store.is_memory else 'this store'}"
            )
    if store.lease < _MIN_LEASE:
        report.at_value(("store", "lease"), "must be 1s or more")


def _is_url(text: str) -> bool:
    """Return whether a text can name a server. Whether the server exists is seen when it is asked."""
    try:
        parts = urlsplit(text)
        has_port = parts.port != 0
    except ValueError:
        return False
    base = parts.path.strip("/")
    has_base = parts.scheme == "unix" or not base or (base.isascii() and base.isdecimal())
    return text.startswith(_SCHEMES) and has_port and has_base
