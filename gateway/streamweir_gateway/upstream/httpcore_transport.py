"""httpx's own transport, for what ours does not speak: HTTP/2 over TLS, and proxies.

Every request has a connection of its own. httpcore tells an HTTP/2 server nothing about a stream that is
left early, lets one slow reader hold up the others of its connection, and loses pooled connections whose
request is cancelled twice; with a connection per request, closing it ends the run at the upstream, and
nothing is shared. The price is a handshake per request.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final
from urllib.request import getproxies_environment, proxy_bypass

import h11
import httpx

from streamweir_gateway.config import Tls

from .failures import ConnectTimedOut, InvalidResponse, NotConnected, Truncated, Unreachable, UpstreamFailure
from .http1 import HEADER_BYTES
from .http1_transport import CONNECTED
from .tls import tls_context

__all__ = ["HttpcoreTransport"]

_HAS_HTTP2: Final = find_spec("h2") is not None

_BROKEN_HTTP2: Final[tuple[type[Exception], ...]] = (
    (import_module("h2.exceptions").H2Error,) if _HAS_HTTP2 else ()
)
"""httpcore lets these through as they are."""

_NO_RESPONSE: Final[tuple[type[Exception], ...]] = (httpx.TransportError, TimeoutError, *_BROKEN_HTTP2)
_NOT_CLOSED: Final[tuple[type[Exception], ...]] = (httpx.HTTPError, OSError, *_BROKEN_HTTP2)

_CONNECTION_ENDED: Final = "closed connection"
"""In h11's message where not the bytes were wrong, but their end came too early."""


class HttpcoreTransport(httpx.AsyncBaseTransport):
    """Sends each request through an `httpx.AsyncHTTPTransport` of its own.

    Proxies are those of the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    Args:
        context: for https; where it is None, the system's certificates are trusted.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = tls_context(Tls()) if context is None else context
        self._proxies = getproxies_environment()
        self._open: set[_Exchange] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` and return its response with an unread body.

        Raises:
            ConnectTimedOut, Unreachable, InvalidResponse: there is none.
        """
        proxy = self._proxy(request.url)
        _write_target(request, has_proxy=proxy is not None)
        exchange = _Exchange(self._transport(proxy), self._open)
        try:
            response = await exchange.send(request)
        except BaseException:
            await exchange.close()
            raise
        return httpx.Response(response.status_code, headers=response.headers.raw, stream=exchange)

    async def aclose(self) -> None:
        """Close every connection."""
        for exchange in tuple(self._open):
            await exchange.close()

    def _transport(self, proxy: str | None) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(
            verify=self._context,
            http2=_HAS_HTTP2,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            trust_env=False,
            proxy=proxy,
        )

    def _proxy(self, url: httpx.URL) -> str | None:
        proxy = self._proxies.get(url.scheme) or self._proxies.get("all")
        if not proxy or proxy_bypass(url.netloc.decode("ascii")):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"


def _write_target(request: httpx.Request, *, has_proxy: bool) -> None:
    """Put the target to where httpcore sends it from unchanged, on each of its three ways."""
    target = request.extensions.get("target")
    if target is None or not has_proxy:
        return
    if request.url.scheme == "http":  # a proxy that reads the request wants the whole URL
        request.extensions["target"] = b"http://" + request.url.netloc + target
    else:  # it would be taken for the target of the CONNECT too
        request.url = request.url.copy_with(raw_path=target)
        del request.extensions["target"]


class _Exchange(httpx.AsyncByteStream):
    """One request on a connection of its own, and the body of its response."""

    def __init__(self, transport: httpx.AsyncHTTPTransport, running: set[_Exchange]) -> None:
        self._transport = transport
        self._running = running
        self._sockets: list[Any] = []
        self._response: httpx.Response | None = None
        self._closing: asyncio.Task[None] | None = None
        running.add(self)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Return the response, its body unread."""
        connect_timeout = request.extensions.pop("timeout", {}).get("connect")  # ours is for all of its steps
        on_connected = request.extensions.get(CONNECTED)
        with _own_failures(has_headers=False):
            async with asyncio.timeout(connect_timeout) as clock:
                request.extensions["trace"] = self._follow(clock, on_connected)
                self._response = response = await self._transport.handle_async_request(request)
        if sum(len(name) + len(value) + 4 for name, value in response.headers.raw) > HEADER_BYTES:
            raise InvalidResponse("headers without an end")
        return response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        assert self._response is not None
        assert isinstance(self._response.stream, httpx.AsyncByteStream)
        with _own_failures(has_headers=True):
            async for data in self._response.stream:
                if data:
                    yield data

    async def aclose(self) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection, even if whoever closes it is cancelled meanwhile."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        try:
            for opened in self._sockets:
                await opened.aclose()
            if self._response is not None:
                await self._response.aclose()
            await self._transport.aclose()
        except _NOT_CLOSED:
            pass  # it is closed, which is all that was wanted
        finally:
            self._running.discard(self)

    def _follow(self, clock: asyncio.Timeout, on_connected: Callable[[], None] | None) -> Callable[..., Any]:
        """Return what httpcore tells its steps to: it keeps the socket and sees when the request goes out."""

        async def follow(step: str, about: Mapping[str, Any]) -> None:
            if step == "connection.connect_tcp.complete":
                self._sockets.append(about["return_value"])
            elif step.endswith(".send_request_headers.started") and about["request"].method != b"CONNECT":
                clock.reschedule(None)
                if on_connected is not None:
                    on_connected()

        return follow


@contextmanager
def _own_failures(*, has_headers: bool) -> Iterator[None]:
    try:
        yield
    except _NO_RESPONSE as error:
        raise _failure(error, has_headers=has_headers) from error


def _failure(error: Exception, *, has_headers: bool) -> UpstreamFailure:
    match error:
        case TimeoutError() | httpx.ConnectTimeout():
            return ConnectTimedOut("the connection did not stand in time")
        case httpx.ConnectError() | httpx.ProxyError() | httpx.UnsupportedProtocol():
            return NotConnected("no connection")
    if _is_malformed(error):
        return InvalidResponse("the answer is not HTTP")
    return Truncated("the body broke off") if has_headers else Unreachable("no response")


def _is_malformed(error: BaseException | None) -> bool:
    """Is it the bytes that are wrong, rather than their end that is missing?"""
    while error is not None:
        if isinstance(error, (*_BROKEN_HTTP2, httpx.LocalProtocolError)):
            return True
        if isinstance(error, h11.RemoteProtocolError):
            return _CONNECTION_ENDED not in str(error)
        error = error.__cause__ or error.__context__  # the pool cuts causes off
    return False
