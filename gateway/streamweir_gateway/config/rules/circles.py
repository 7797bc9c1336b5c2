"""Upstreams that are the gateway itself: a request would come back to it for ever."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, urlsplit

from streamweir.http.path_template import PathTemplate
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import EndpointConfig, GatewayConfig
from streamweir_gateway.config.values.addresses import Address
from streamweir_gateway.config.values.path_templates import REST, join_path

__all__ = ["check_circles"]

_NAME: Final = re.compile(r"\{[^{}]*\}")


def check_circles(config: GatewayConfig, report: Report) -> None:
    """Report upstreams at the gateway's own address, at a path that one of its endpoints takes."""
    taken: list[PathTemplate] | None = None
    for endpoint in config.endpoints:
        for index, url, path in _targets(endpoint):
            if not _is_own_address(url, config.listen):
                continue
            if taken is None:
                taken = [PathTemplate(each.template) for each in config.endpoints]
            if any(template.match(path) is not None for template in taken):
                at: KeyPath = ("endpoints", endpoint.template, "upstream", index)
                report.at_value(at, "is this gateway itself: requests would come back to it for ever")


def _targets(endpoint: EndpointConfig) -> Iterator[tuple[int, str, str]]:
    """Yield each upstream's index and URL, and the path that is asked for there, with `x` for what varies."""
    plain = (
        [name for name, model in endpoint.models.items() if model.alias is None] if endpoint.chooses else []
    )
    views = [(endpoint.first_upstreams[name], endpoint.for_model(name)) for name in plain] or [(0, endpoint)]
    for first, view in views:
        for index, upstream in enumerate(view.upstreams, start=first):
            if upstream.demo is None and not isinstance(upstream.url, Unresolved):
                url = join_path(upstream.url, f"/{{{REST}}}" if view.appends_rest else view.path)
                yield index, upstream.url, unquote(_NAME.sub("x", urlsplit(url).path or "/"))


def _is_own_address(url: str, listen: Address) -> bool:
    parts = urlsplit(url)
    if parts.scheme != "http" or (parts.port or 80) != listen.port:
        return False
    host = (parts.hostname or "").removesuffix(".")
    if host == listen.host:
        return True
    return _is_loopback(host) and (_is_loopback(listen.host) or _is_wildcard(listen.host))


def _is_loopback(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _is_wildcard(host: str) -> bool:
    return host in ("", "0.0.0.0", "::")
