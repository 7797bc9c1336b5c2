"""URLs of upstreams, and values that can replace a URL. No message quotes a URL: it may hold credentials."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from streamweir_gateway.config.diagnostics import InvalidValue
from streamweir_gateway.config.values.scalars import NAME_PATTERN, Scalar, read_text, text_schema

__all__ = ["UPSTREAM_REFERENCE", "UPSTREAM_URL", "demo_dialect", "is_url"]

_DEMO: Final = "demo:"
_SCHEMES: Final = frozenset({"http", "https", "ws", "wss"})


def is_url(text: str) -> bool:
    """Return whether `text` is meant as a URL, valid or not."""
    return "://" in text


def demo_dialect(text: str) -> str | None:
    """Return the dialect of `demo:<dialect>`; None for other texts."""
    return text.removeprefix(_DEMO) if text.startswith(_DEMO) else None


def _upstream_url(value: Any) -> str:
    text = read_text(value)
    if demo_dialect(text) is None:
        _check_url(text)
    return text


def _upstream_reference(value: Any) -> str:
    """Return a URL, `demo:<dialect>` or a name. Whether `upstreams` has the name is checked elsewhere."""
    text = read_text(value)
    if is_url(text):
        _check_url(text)
    elif demo_dialect(text) is None and not NAME_PATTERN.fullmatch(text):
        raise InvalidValue(
            "must be a URL (http://, https://, ws://, wss://), a name of `upstreams` or demo:<dialect>"
        )
    return text


def _check_url(text: str) -> None:
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        raise InvalidValue("must be a URL: its host or port cannot be read") from None
    faults = {
        "must be a URL that begins with http://, https://, ws:// or wss://": url.scheme not in _SCHEMES,
        "must be a URL with a host": not host,
        "must be a URL with a port from 1 to 65535": port == 0,
        "must be a URL without a fragment (#)": "#" in text,
        "must be a URL without braces; {names} stand in the endpoint's `path`": "{" in text or "}" in text,
        "must be a URL of printable ASCII without spaces": not re.fullmatch(r"[!-\[\]-~]*", text),
    }
    for message, found in faults.items():
        if found:
            raise InvalidValue(message)


UPSTREAM_URL: Final = Scalar(_upstream_url, text_schema("^(https?://|wss?://|demo:)"))
UPSTREAM_REFERENCE: Final = Scalar(_upstream_reference, text_schema())
