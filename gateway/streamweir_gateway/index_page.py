"""The page at `GET /`, if no endpoint is there: the endpoints, and how to call them.

Browsers get a page, other clients JSON. Upstreams are not named.

Source: the configuration contract (`server.index`).
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any, Final

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import Receive, Scope, Send

import streamweir
from streamweir.http.headers import header_value
from streamweir_gateway.config import Address, EndpointConfig, GatewayConfig, is_loopback
from streamweir_gateway.sample_call import curl_line

__all__ = ["IndexPage", "shows_index"]

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Vary": "Accept",
}
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#f4f4f4;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}"
    "h2{font-size:1.1rem;margin-bottom:.2rem}"
    "@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#282828}}"
)


def shows_index(config: GatewayConfig) -> bool:
    """Whether there is such a page: where the file does not say, on loopback addresses alone."""
    return is_loopback(config.listen) if config.server.index is None else config.server.index


class IndexPage:
    """The ASGI endpoint of the page.

    Args:
        config: of the gateway.
    """

    def __init__(self, config: GatewayConfig) -> None:
        self._config = config
        self._has_keys = bool(config.auth is not None and config.auth.keys)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await self._response(scope)(scope, receive, send)

    def _response(self, scope: Scope) -> Response:
        url = _url(scope, self._config.listen)
        if "text/html" in header_value(scope["headers"], b"accept"):
            return HTMLResponse("".join(self._page(url)), headers=_HEADERS)
        return JSONResponse(self._facts(url), headers=_HEADERS)

    def _facts(self, url: str) -> dict[str, Any]:
        return {
            "name": "streamweir",
            "version": streamweir.__version__,
            "endpoints": [
                {
                    "path": endpoint.template,
                    "methods": endpoint.listed_methods,
                    "answers": endpoint.answers,
                    "try": self._call(endpoint, url),
                }
                for endpoint in self._config.endpoints
            ],
        }

    def _page(self, url: str) -> Iterator[str]:
        yield "<!doctype html><html lang=en><meta charset=utf-8><title>streamweir</title>"
        yield f"<meta name=viewport content='width=device-width'><style>{_STYLE}</style>"
        yield f"<h1>streamweir {escape(streamweir.__version__)}</h1>"
        yield "<p>One protocol in front of every agent backend. Paste one of these into a terminal:</p>"
        for endpoint in self._config.endpoints:
            yield f"<h2>{escape(endpoint.template)}</h2>"
            methods, answers = ", ".join(endpoint.listed_methods), ", ".join(endpoint.answers)
            yield f"<p>{escape(methods)}; answers in {escape(answers)}</p>"
            yield f"<pre>{escape(self._call(endpoint, url))}</pre>"
        yield "<p>Another protocol: <code>-H 'X-Streamweir-Protocol: NAME'</code>; one JSON object in place "
        yield "of a stream: <code>-H 'Accept: application/json'</code>. "
        yield "<code>server: {index: off}</code> turns this page off.</p></html>"

    def _call(self, endpoint: EndpointConfig, url: str) -> str:
        return curl_line(endpoint, url, self._config.known_dialects, has_keys=self._has_keys)


def _url(scope: Scope, listen: Address) -> str:
    """Return the address that the connection ends at; the Host header is the client's own word."""
    host, port = scope.get("server") or (listen.host, listen.port)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}"
