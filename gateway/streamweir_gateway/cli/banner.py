"""Writes the output of `streamweir serve` when the gateway is ready: endpoints, and commands to call them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import streamweir
from streamweir_gateway.cli.addresses import base_url
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.sample_call import curl_line

__all__ = ["banner", "callers", "in_order"]

_NAMED: Final = 8
"""The most keys that are named on one line."""


def banner(config: GatewayConfig, address: tuple[str, int]) -> Iterator[str]:
    """Yield the lines to print when the gateway listens at `address`."""
    url = base_url(address)
    keys = config.auth.keys if config.auth else {}
    yield f"streamweir {streamweir.__version__} listens on {url} (Ctrl-C stops it)"
    if config.server.admin is not None:
        yield f"Health, readiness and metrics: {base_url(config.server.admin)}"
    for endpoint in config.endpoints:
        yield ""
        sources = in_order(endpoint, dict.fromkeys(upstream.label for upstream in endpoint.upstreams))
        yield f"{endpoint.template}: {sources} -> {', '.join(endpoint.answers)}{callers(config, endpoint)}"
        yield f"  {curl_line(endpoint, url, config.known_dialects, has_keys=bool(keys))}"
    yield ""
    if keys:
        yield f"In place of KEY: one of {', '.join(keys)} from `auth.keys`."
    if any(upstream.demo for endpoint in config.endpoints for upstream in endpoint.upstreams):
        yield "A demo whose message holds the word fail, cut or stall breaks in that way; ask makes it ask."
    others = dict.fromkeys(name for endpoint in config.endpoints for name in endpoint.answers[1:])
    if others:
        yield f"Another protocol: -H 'X-Streamweir-Protocol: {next(iter(others))}'"


def in_order(endpoint: EndpointConfig, labels: Iterable[str]) -> str:
    """Return the upstreams of an endpoint in words: in the order of attempts, or as alternatives."""
    return (" or " if endpoint.chooses else ", then ").join(labels)


def callers(config: GatewayConfig, endpoint: EndpointConfig) -> str:
    """Return the callers that may use an endpoint, for its line; empty if the gateway has no keys."""
    if config.auth is None or not config.auth.keys:
        return ""
    if endpoint.needs_no_key:
        return " (open: no key)"
    names = [name for name, caller in config.auth.keys.items() if endpoint.lets_in(name, caller)]
    if len(names) == len(config.auth.keys):
        return " (any key)"
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" (keys: {', '.join(names[:_NAMED]) or 'none'}{more})"
