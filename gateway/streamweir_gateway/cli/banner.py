"""What `streamweir serve` prints when it is ready: every endpoint, with a command that calls it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

import streamweir
from streamweir.codec.dialects import Dialects
from streamweir_gateway.cli.addresses import base_url
from streamweir_gateway.config import EndpointConfig, GatewayConfig

__all__ = ["banner", "curl_line"]

_MESSAGE: Final[Mapping[str, Any]] = {"message": "How many orders did Hangzhou have?"}


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


def curl_line(endpoint: EndpointConfig, url: str, dialects: Dialects, *, asks_for_key: bool = False) -> str:
    """Return a command for a shell that sends `endpoint` a request and shows the answer as it comes.

    Where a key is asked for, the word KEY stands in its place: keys are never printed.
    """
    address = shlex.quote(url + re.sub(r"\{(\w+)\}", r"\1", endpoint.template))
    if asks_for_key:
        address += " -H 'X-Api-Key: KEY'"
    method = "POST" if "POST" in endpoint.methods else endpoint.methods[0]
    if method in ("GET", "HEAD", "DELETE", "OPTIONS"):
        return f"curl -N -X {method} {address}"
    body = _MESSAGE if endpoint.upstreams[0].demo else _sample_request(endpoint.upstreams[0].speaks, dialects)
    content = f"-H 'Content-Type: application/json' -d {shlex.quote(json.dumps(dict(body)))}"
    return f"curl -N {'' if method == 'POST' else f'-X {method} '}{address} {content}"


def _sample_request(speaks: str, dialects: Dialects) -> Mapping[str, Any]:
    return _MESSAGE if speaks == "auto" else dialects[speaks].sample_request
