"""Serves `/`: a document for browsers, JSON for programs, pages of the documentation, and trials (POST).

Source: the configuration contract (`server.index`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

import streamweir
from streamweir.http.headers import header_value
from streamweir.http.refusals import Refusal, send_refusal
from streamweir_gateway.config import Address, EndpointConfig, GatewayConfig, is_loopback
from streamweir_gateway.demo_watchers import DemoWatchers
from streamweir_gateway.front_page.document import POLICY, document
from streamweir_gateway.front_page.documentation import documentation_page
from streamweir_gateway.front_page.trial import Trials
from streamweir_gateway.sample_call import curl_line

__all__ = ["FrontPage", "console_url", "shows_index"]

_HEADERS: Final = {"Cache-Control": "no-store", "Content-Security-Policy": POLICY, "Vary": "Accept"}


def shows_index(config: GatewayConfig) -> bool:
    """Return whether the page is shown: if the file does not say, only on loopback addresses."""
    return is_loopback(config.listen) if config.server.index is None else config.server.index


class FrontPage:
    """The ASGI endpoint of the page.

    Args:
        config: the configuration of the gateway.
        gateway: returns the application that serves the requests of trials; called after the routes are made.
        watchers: the watchers of the demo backends.
        has_console: whether a console runs beside this gateway.
    """

    def __init__(
        self,
        config: GatewayConfig,
        gateway: Callable[[], ASGIApp],
        watchers: DemoWatchers,
        *,
        has_console: bool = False,
    ) -> None:
        self._config = config
        self._has_keys = bool(config.auth is not None and config.auth.keys)
        self._trials = Trials(config, gateway, watchers)
        self._console = console_url(config) if has_console else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        try:
            if scope["method"] == "POST":
                await self._trials.serve(scope, receive, send)
            else:
                await self._response(scope)(scope, receive, send)
        except Refusal as refusal:
            await send_refusal(send, refusal, request_id=scope["state"]["request_id"])

    def _response(self, scope: Scope) -> Response:
        names = parse_qs(scope["query_string"].decode("latin-1")).get("docs")
        if names:
            return PlainTextResponse(documentation_page(names[0]), headers=_HEADERS)
        url = _url(scope, self._config.listen)
        if "text/html" in header_value(scope["headers"], b"accept"):
            return HTMLResponse(document(self._config, url, console=self._console), headers=_HEADERS)
        return JSONResponse(self._facts(url), headers=_HEADERS)

    def _facts(self, url: str) -> Mapping[str, Any]:
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

    def _call(self, endpoint: EndpointConfig, url: str) -> str:
        return curl_line(endpoint, url, self._config.known_dialects, has_keys=self._has_keys)


def _url(scope: Scope, listen: Address) -> str:
    """Return the address at which the connection ends, unlike the Host header, which the client chooses."""
    return Address(*(scope.get("server") or listen)).url


def console_url(config: GatewayConfig) -> str | None:
    """Return the address of the console without its token; None if the console is not to be shown."""
    console = config.console
    if console is None or not console.listen.port:
        return None
    if not is_loopback(config.listen) or not is_loopback(console.listen):
        return None
    return console.listen.url + "/"
