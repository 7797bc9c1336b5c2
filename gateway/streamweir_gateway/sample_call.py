"""Makes a shell command that calls an endpoint, for people who try the gateway.

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
from streamweir_gateway.sample_requests import sample_for

__all__ = ["WITHOUT_BODY", "curl_line", "sample_body", "sample_method", "sample_of_model", "sample_path"]

WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})


def curl_line(endpoint: EndpointConfig, url: str, dialects: Dialects, *, has_keys: bool = False) -> str:
    """Return a command that sends a request to `endpoint` and shows the answer as it arrives.

    Args:
        endpoint: the endpoint to call.
        url: the URL of the gateway.
        dialects: the dialects, to find the smallest request that the upstream understands.
        has_keys: whether the gateway has keys. An open endpoint needs no key.
    """
    address = shlex.quote(url + sample_path(endpoint))
    if has_keys and not endpoint.needs_no_key:
        address += " -H 'X-Api-Key: KEY'"
    if endpoint.takes_any_method:
        return f"curl -N {address}"
    method = sample_method(endpoint)
    if method in WITHOUT_BODY:
        return f"curl -N -X {method} {address}"
    body = sample_body(endpoint, dialects)
    content = f"-H 'Content-Type: application/json' -d {shlex.quote(json.dumps(dict(body)))}"
    return f"curl -N {'' if method == 'POST' else f'-X {method} '}{address} {content}"


def sample_path(endpoint: EndpointConfig) -> str:
    """Return a path of an endpoint, with each name in place of its value and without `*`."""
    path = endpoint.template[:-1] if is_open(endpoint.template) else endpoint.template
    return re.sub(r"\{(\w+)\}", r"\1", path)


def sample_method(endpoint: EndpointConfig) -> str:
    """Return the method for trying an endpoint: POST if allowed, GET for a whole service."""
    if endpoint.takes_any_method:
        return "GET"
    return "POST" if "POST" in endpoint.listed_methods else endpoint.listed_methods[0]


def sample_of_model(endpoint: EndpointConfig, dialects: Dialects) -> dict[str, Any]:
    """Return the smallest request for the first model of an endpoint with `models`."""
    return {**dialects[endpoint.answers[0]].sample_request, "model": next(iter(endpoint.models))}


def sample_body(endpoint: EndpointConfig, dialects: Dialects) -> Mapping[str, Any]:
    """Return the smallest valid request: in the client's protocol if that is read, else in the upstream's."""
    return sample_for(endpoint, endpoint.answers[0], dialects).body
