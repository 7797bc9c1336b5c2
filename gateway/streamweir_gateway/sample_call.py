"""A command for a shell that calls an endpoint, as the first thing to paste.

Keys are never printed: the word KEY replaces them.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.dialects import Dialects
from streamweir_gateway.config import EndpointConfig, is_open

__all__ = ["curl_line", "sample_body", "sample_of_model"]

_MESSAGE: Final[Mapping[str, Any]] = {"message": "How many orders did Hangzhou have?"}
_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})


def curl_line(endpoint: EndpointConfig, url: str, dialects: Dialects, *, has_keys: bool = False) -> str:
    """Return a command that sends `endpoint` a request and shows the answer as it comes.

    Args:
        endpoint: the endpoint to call.
        url: of the gateway.
        dialects: in which the upstream's is looked up, for the smallest request that it understands.
        has_keys: the gateway has keys, which an open endpoint does not ask for.
    """
    path = endpoint.template[:-1] if is_open(endpoint.template) else endpoint.template
    address = shlex.quote(url + re.sub(r"\{(\w+)\}", r"\1", path))
    if has_keys and not endpoint.needs_no_key:
        address += " -H 'X-Api-Key: KEY'"
    methods = endpoint.listed_methods
    if endpoint.takes_any_method:
        return f"curl -N {address}"
    method = "POST" if "POST" in methods else methods[0]
    if method in _WITHOUT_BODY:
        return f"curl -N -X {method} {address}"
    body = sample_body(endpoint, dialects)
    content = f"-H 'Content-Type: application/json' -d {shlex.quote(json.dumps(dict(body)))}"
    return f"curl -N {'' if method == 'POST' else f'-X {method} '}{address} {content}"


def sample_of_model(endpoint: EndpointConfig, dialects: Dialects) -> dict[str, Any]:
    """Return the smallest request for the first model of an endpoint with `models`."""
    return {**dialects[endpoint.answers[0]].sample_request, "model": next(iter(endpoint.models))}


def sample_body(endpoint: EndpointConfig, dialects: Dialects) -> Mapping[str, Any]:
    """Return the smallest valid request: of the protocol that chooses the upstream, else of the upstream."""
    if endpoint.models:
        return sample_of_model(endpoint, dialects)
    upstream = endpoint.upstreams[0]
    return _MESSAGE if upstream.demo else _sample_request(upstream.speaks, dialects)


def _sample_request(speaks: str, dialects: Dialects) -> Mapping[str, Any]:
    return _MESSAGE if speaks == "auto" else dialects[speaks].sample_request
