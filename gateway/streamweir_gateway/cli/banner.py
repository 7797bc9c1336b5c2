"""What `streamweir serve` prints when it is ready: every endpoint, with a command that calls it."""

from __future__ import annotations

from collections.abc import Iterator

import streamweir
from streamweir_gateway.cli.addresses import base_url
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.sample_call import curl_line

__all__ = ["banner"]


def banner(config: GatewayConfig, address: tuple[str, int]) -> Iterator[str]:
    """Yield the lines to print once the gateway listens at `address`."""
    url = base_url(address)
    keys = config.auth.keys if config.auth else {}
    yield f"streamweir {streamweir.__version__} listens on {url} (Ctrl-C stops it)"
    if config.server.admin is not None:
        yield f"Health, readiness and metrics: {base_url(config.server.admin)}"
    for endpoint in config.endpoints:
        yield ""
        sources = ", then ".join(upstream.label for upstream in endpoint.upstreams)
        yield f"{endpoint.template}: {sources} -> {', '.join(endpoint.answers)}"
        yield f"  {curl_line(endpoint, url, config.known_dialects, asks_for_key=bool(keys))}"
    yield ""
    if keys:
        yield f"In place of KEY: one of {', '.join(keys)} from `auth.keys`."
    if any(upstream.demo for endpoint in config.endpoints for upstream in endpoint.upstreams):
        yield "A demo whose message holds the word fail, cut or stall breaks in that way."
    others = dict.fromkeys(name for endpoint in config.endpoints for name in endpoint.answers[1:])
    if others:
        yield f"Another protocol: -H 'X-Streamweir-Protocol: {next(iter(others))}'"
