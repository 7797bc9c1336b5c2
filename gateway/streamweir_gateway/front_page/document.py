"""The HTML of the front page: a row for each endpoint, and facts about endpoints for the script."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any, Final

import streamweir
from streamweir.codec.dialects import Dialects
from streamweir_gateway.config import EndpointConfig, GatewayConfig
from streamweir_gateway.front_page.documentation import PAGES
from streamweir_gateway.sample_call import WITHOUT_BODY, sample_method, sample_path
from streamweir_gateway.sample_requests import sample_dialect, sample_of

__all__ = ["POLICY", "document"]

_FOLDER: Final = Path(__file__).parent
_SCRIPT: Final = (_FOLDER / "page.js").read_text(encoding="utf-8")
_STYLE: Final = (_FOLDER / "page.css").read_text(encoding="utf-8")
_COPIES: Final = {"curl": "curl", "script": "JavaScript"}
_FRAME: Final = (_FOLDER / "page.html").read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


POLICY: Final = (
    f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_STYLE)}; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""The Content-Security-Policy: allows only the page's script and style, and requests to its origin."""


def document(config: GatewayConfig, url: str, *, console: str | None) -> str:
    """Return the HTML document.

    Args:
        config: the configuration of the gateway.
        url: the URL of the gateway.
        console: the address of the console; None: the page has no link to it.
    """
    parts = {
        "STYLE": _STYLE,
        "SCRIPT": _SCRIPT,
        "VERSION": escape(streamweir.__version__),
        "LINKS": "".join(_links(console)),
        "ROWS": "".join(map(_row, config.endpoints)),
        "FACTS": _json_in_html(_facts(config, url)),
    }
    pieces = _FRAME.split("@@")  # text, name, text, name, ..., text
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def _links(console: str | None) -> Iterator[str]:
    if console is not None:
        yield f'<a class="console" href="{escape(console)}">Console</a>'
    for name, title in PAGES.items():
        yield f'<a href="/?docs={name}">{escape(title)}</a>'


def _row(endpoint: EndpointConfig) -> str:
    path = escape(endpoint.template)
    copies = "".join(_copy_button(kind, text, path) for kind, text in _COPIES.items())
    return (
        f'<tr data-path="{path}"><th scope="row"><button class="path">{path}</button></th>'
        f'<td class="speaks">{escape(_speaks(endpoint))}</td>'
        f'<td class="answers">{escape(", ".join(endpoint.answers))}</td>'
        f'<td class="copies">{copies}</td></tr>'
    )


def _copy_button(kind: str, text: str, path: str) -> str:
    return f'<button class="copy" data-copy="{kind}" aria-label="Copy {text} for {path}">{text}</button>'


def _speaks(endpoint: EndpointConfig) -> str:
    return ", ".join(dict.fromkeys(upstream.speaks for upstream in endpoint.upstreams))


def _facts(config: GatewayConfig, url: str) -> Mapping[str, Any]:
    has_keys = bool(config.auth is not None and config.auth.keys)
    endpoints = [_endpoint(endpoint, has_keys=has_keys) for endpoint in config.endpoints]
    return {"url": url, "endpoints": endpoints, "samples": _samples(config, config.known_dialects)}


def _endpoint(endpoint: EndpointConfig, *, has_keys: bool) -> Mapping[str, Any]:
    method = sample_method(endpoint)
    return {
        "path": endpoint.template,
        "address": sample_path(endpoint),
        "method": method,
        "body": method not in WITHOUT_BODY,
        "relay": endpoint.takes_any_method,
        "speaks": _speaks(endpoint),
        "answers": endpoint.answers,
        "samples": {name: sample_dialect(endpoint, name) for name in endpoint.answers},
        "model": next(iter(endpoint.models), None),
        "demo": all(upstream.demo is not None for upstream in endpoint.upstreams),
        "key": has_keys and not endpoint.needs_no_key,
    }


def _samples(config: GatewayConfig, dialects: Dialects) -> Mapping[str, Any]:
    """Return the smallest requests of all dialects that clients of the endpoints write."""
    names = {sample_dialect(endpoint, name) for endpoint in config.endpoints for name in endpoint.answers}
    samples = {name: sample_of(name, dialects) for name in sorted(names)}
    return {name: {"body": sample.body, "place": sample.place} for name, sample in samples.items()}


def _json_in_html(value: Any) -> str:
    """Return JSON for a `script` element, escaped so that no text in it can end the element."""
    text = json.dumps(value, ensure_ascii=True, default=dict)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
