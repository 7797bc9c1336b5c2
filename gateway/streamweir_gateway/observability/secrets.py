"""The secrets of the configuration, which no line of the log shows, in any form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final
from urllib.parse import unquote, urlsplit

from streamweir.redaction import REDACTED
from streamweir.redaction.secret_names import is_secret_header
from streamweir_gateway.config import HASHED, GatewayConfig, UpstreamConfig

__all__ = ["Secrets", "secrets_of"]

SHORT: Final = 6
"""Shorter texts occur in words by chance: they are hidden only as a word."""
SHORTEST: Final = 3
"""Shorter texts are not secrets, and occur as words in too many places."""


class Secrets:
    """Texts that appear in no line.

    Args:
        texts: the secrets; those shorter than three characters are let be.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        # The longest first, for one may hold another.
        ordered = sorted({text for text in texts if len(text) >= SHORTEST}, key=len, reverse=True)
        self._long = [text for text in ordered if len(text) >= SHORT]
        short = "|".join(map(_alone, (text for text in ordered if len(text) < SHORT)))
        self._short = re.compile(short) if short else None

    def hide(self, text: str) -> str:
        """Return `text` without the secrets in it."""
        for secret in self._long:
            text = text.replace(secret, REDACTED)
        return text if self._short is None else self._short.sub(REDACTED, text)


def _alone(text: str) -> str:
    """Return the expression of `text` where it is no part of a longer word."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", text) else ""
    return before + re.escape(text) + after


def secrets_of(config: GatewayConfig) -> frozenset[str]:
    """Return keys, the token of the console, credential headers and passwords of URLs."""
    callers = config.auth.keys.values() if config.auth is not None else ()
    found = {key for caller in callers for key in caller.key if not key.startswith(HASHED)}
    if config.console is not None and config.console.token is not None:
        found.add(config.console.token)
    for endpoint in config.endpoints:
        for upstream in endpoint.upstreams:
            found.update(_secrets_of_upstream(upstream))
    return frozenset(found - {""})


def _secrets_of_upstream(upstream: UpstreamConfig) -> Iterator[str]:
    for name, value in upstream.headers:
        if is_secret_header(name):
            yield value
            if value.count(" ") == 1:
                yield value.partition(" ")[2]  # without its scheme
    if password := urlsplit(upstream.url).password:
        yield password
        yield unquote(password)
