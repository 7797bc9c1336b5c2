"""Removes the secrets of the configuration from log lines, in any form in which they occur."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote, unquote_plus, urlsplit

from streamweir.capture.request_secrets import secrets_in
from streamweir.redaction import REDACTED
from streamweir.redaction.secret_names import is_secret_header, is_secret_name
from streamweir_gateway.config import HASHED, EndpointConfig, GatewayConfig

__all__ = ["Secrets", "secrets_of"]

SHORT: Final = 6
"""Texts that are shorter are hidden as whole words only, because they occur within words by chance."""
SHORTEST: Final = 3
"""Texts that are shorter are not hidden, because they occur as words in too many places."""


class Secrets:
    """Texts that are removed from log lines.

    Args:
        texts: the secrets; secrets of less than three characters are ignored.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        # The longest first, for one may hold another.
        ordered = sorted({text for text in texts if len(text) >= SHORTEST}, key=len, reverse=True)
        self._long = [text for text in ordered if len(text) >= SHORT]
        short = "|".join(map(_alone, (text for text in ordered if len(text) < SHORT)))
        self._short = re.compile(short) if short else None

    def hide(self, text: str) -> str:
        """Return `text` with all secrets hidden."""
        for secret in self._long:
            text = text.replace(secret, REDACTED)
        return text if self._short is None else self._short.sub(REDACTED, text)


def _alone(text: str) -> str:
    """Return a regular expression for `text` that does not match within a longer word."""
    before = r"(?<!\w)" if re.match(r"\w", text) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", text) else ""
    return before + re.escape(text) + after


def secrets_of(config: GatewayConfig) -> frozenset[str]:
    """Return the secrets in a configuration.

    They are keys, the token of the console, credential headers, passwords and credential parameters of URLs,
    and values under names of secrets in requests that the file writes.
    """
    callers = config.auth.keys.values() if config.auth is not None else ()
    found = {key for caller in callers for key in caller.key if not key.startswith(HASHED)}
    if config.console is not None and config.console.token is not None:
        found.add(config.console.token)
    found.update(_secrets_of_url(config.store.url))
    for endpoint in config.endpoints:
        found.update(_secrets_of_endpoint(endpoint))
    return frozenset(found - {""})


def _secrets_of_endpoint(endpoint: EndpointConfig) -> Iterator[str]:
    models = endpoint.models.values()
    for path in (endpoint.path, *(model.path for model in models)):
        yield from _secrets_of_url(path or "")
    for request in (endpoint.request, *(model.request for model in models)):
        yield from _secrets_of_tree(None if request is None else request.tree)
    for upstream in endpoint.upstreams:
        yield from _secrets_of_url(upstream.url)
        for name, value in upstream.headers:
            if is_secret_header(name):
                yield from _secrets_of_header(name, value)
        yield from secrets_in([("sec-websocket-protocol", ",".join(upstream.websocket.subprotocols))])
        yield from _secrets_of_tree([*upstream.websocket.hello])


def _secrets_of_header(name: str, value: str) -> Iterator[str]:
    yield value
    yield from secrets_in([(name.lower(), value)])  # of cookies and of Basic credentials, too
    if value.count(" ") == 1:
        yield value.partition(" ")[2]  # without its scheme


def _secrets_of_url(url: str) -> Iterator[str]:
    parts = urlsplit(url)
    if parts.password:
        yield parts.password
        yield unquote(parts.password)
    for pair in parts.query.split("&"):
        name, _, value = pair.partition("=")
        if is_secret_name(name) and "{" not in value:
            yield value
            yield unquote_plus(value)


def _secrets_of_tree(tree: Any, name: str = "") -> Iterator[str]:
    """Yield the texts under names of secrets in the tree of a request, except for expressions."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _secrets_of_tree(value, str(key))
    elif isinstance(tree, list):
        for value in tree:
            yield from _secrets_of_tree(value, name)
    elif isinstance(tree, str) and "${{" not in tree and (is_secret_name(name) or is_secret_header(name)):
        yield from _secrets_of_header(name, tree)
