"""The secrets that the configuration holds, so that no line of the log shows one, whatever its form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from streamweir_gateway.config import GatewayConfig, UpstreamConfig

__all__ = ["secrets_of"]

SHORTEST: Final = 6
"""Shorter texts stand in too many words by chance."""

_SECRET_HEADER: Final = re.compile(r"auth|key|token|secret|password|cookie|credential|session", re.IGNORECASE)


def secrets_of(config: GatewayConfig) -> tuple[str, ...]:
    """Return keys, credential headers and passwords of URLs; the longest first, for one may hold another."""
    found = {*(config.auth.keys.values() if config.auth else ())}
    for endpoint in config.endpoints:
        for upstream in endpoint.upstreams:
            found.update(_secrets_of_upstream(upstream))
    return tuple(sorted((text for text in found if len(text) >= SHORTEST), key=len, reverse=True))


def _secrets_of_upstream(upstream: UpstreamConfig) -> Iterator[str]:
    for name, value in upstream.headers:
        if _SECRET_HEADER.search(name):
            yield value
            if value.count(" ") == 1:
                yield value.partition(" ")[2]  # without its scheme
    if password := urlsplit(upstream.url).password:
        yield password
        yield unquote(password)
