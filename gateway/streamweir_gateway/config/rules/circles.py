"""Rule against upstreams that are the gateway itself: a request would come back to it without end."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from streamweir.http.path_template import PathTemplate
from streamweir.yaml_files.report import KeyPath, Report
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models import EndpointConfig, GatewayConfig
from streamweir_gateway.config.values.addresses import Address, ip_of, is_loopback_host
from streamweir_gateway.config.values.path_templates import REST, join_path

__all__ = ["check_circles"]

_NAME: Final = re.compile(r"\{[^{}]*\}")


def check_circles(config: GatewayConfig, report: Report) -> None:
    """Report upstreams at the gateway's own address with a path that one of its endpoints has."""
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
    """Yield the index and the URL of each upstream, and its path with `x` in place of each `{name}`."""
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
    if parts.scheme not in ("http", "ws") or (parts.port or 80) != listen.port:
        return False
    host, own = (parts.hostname or "").removesuffix("."), listen.host.lower()
    return host == own or (_is_this_machine(host) and _is_this_machine(own))


def _is_this_machine(host: str) -> bool:
    """Return whether a host is a loopback address or the unspecified address, which also reaches loopback."""
    ip = ip_of(host)
    return is_loopback_host(host) or (ip is not None and ip.is_unspecified)
