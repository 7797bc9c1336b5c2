"""Sends requests by httpx, for protocols that `http1_transport` does not speak: HTTP/2 over TLS, and proxies.

Every request has its own connection, because of three faults of httpcore: it does not tell an HTTP/2 server
that a stream is left early, one slow reader delays the other readers of its connection, and pooled
connections are lost if their request is cancelled twice. With a connection per request, closing the
connection ends the run at the upstream. The price is a handshake per request.
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
from .request import Headers, Origin, UpstreamRequest
from .tls import tls_context
from .transport import TransportResponse
from .websocket.relayed import send_handshake

__all__ = ["HttpcoreTransport"]

_HAS_HTTP2: Final = find_spec("h2") is not None

_BROKEN_HTTP2: Final[tuple[type[Exception], ...]] = (
    (import_module("h2.exceptions").H2Error,) if _HAS_HTTP2 else ()
)
"""Exceptions of the HTTP/2 implementation that httpcore does not translate."""

_NO_RESPONSE: Final[tuple[type[Exception], ...]] = (httpx.TransportError, TimeoutError, *_BROKEN_HTTP2)
_NOT_CLOSED: Final[tuple[type[Exception], ...]] = (httpx.HTTPError, OSError, *_BROKEN_HTTP2)

_CONNECTION_ENDED: Final = "closed connection"
"""The text in h11's message if the bytes were right but ended too early."""


class HttpcoreTransport:
    """A `Transport` that sends each request through a new `httpx.AsyncHTTPTransport`.

    Proxies are taken from the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    Args:
        context: the TLS context for https; None: the system's certificates are trusted.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = tls_context(Tls()) if context is None else context
        self._proxies = getproxies_environment()
        self._open: set[_Exchange] = set()

    async def send(
        self,
        request: UpstreamRequest,
        *,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None,
    ) -> TransportResponse:
        """Send `request`; see `Transport`.

        Raises:
            ConnectTimedOut, Unreachable, InvalidResponse: no response arrived.
        """
        if request.handshake is not None:  # neither HTTP/2 nor a proxy carries one
            context = self._context if request.origin.scheme == "https" else None
            return await send_handshake(
                request, context, connect_timeout=connect_timeout, on_connected=on_connected
            )
        proxy = self._proxy(request.origin)
        exchange = _Exchange(self._transport(proxy), self._open)
        try:
            return await exchange.send(
                _httpx_request(request, has_proxy=proxy is not None), connect_timeout, on_connected
            )
        except BaseException:
            await exchange.aclose()
            raise

    def begin(self, _origin: Origin, _head: bytes, _body: bytes) -> None:
        """Return None: no connection is kept, so each request has to wait for a new one."""

    async def aclose(self) -> None:
        """Close every connection."""
        for exchange in tuple(self._open):
            await exchange.aclose()

    def _transport(self, proxy: str | None) -> httpx.AsyncHTTPTransport:
        return httpx.AsyncHTTPTransport(
            verify=self._context,
            http2=_HAS_HTTP2,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=0),
            trust_env=False,
            proxy=proxy,
        )

    def _proxy(self, origin: Origin) -> str | None:
        proxy = self._proxies.get(origin.scheme) or self._proxies.get("all")
        if not proxy or proxy_bypass(origin.netloc):
            return None
        return proxy if "://" in proxy else f"http://{proxy}"


def _httpx_request(request: UpstreamRequest, *, has_proxy: bool) -> httpx.Request:
    """Return the request for httpx. Its target is in the place from which httpcore sends it unchanged."""
    origin, target = request.origin, request.target.encode("ascii")
    url = httpx.URL(f"{origin.scheme}://{origin.netloc}")
    extensions: dict[str, Any] = {"target": target}
    if has_proxy and origin.scheme == "http":  # a proxy that reads the request wants the whole URL
        extensions["target"] = b"http://" + url.netloc + target
    elif has_proxy:  # it would be taken for the target of the CONNECT too
        url, extensions = url.copy_with(raw_path=target), {}
    stream = httpx.ByteStream(request.body) if request.stream is None else _Pieces(request)
    made = httpx.Request(
        request.method, url, headers=request.wire_headers(), stream=stream, extensions=extensions
    )
    made.method = request.method  # which httpx writes in capitals; to HTTP it is another one then
    return made


class _Pieces(httpx.AsyncByteStream):
    """Passes a body that is still arriving to httpx."""

    def __init__(self, request: UpstreamRequest) -> None:
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._request.body:
            yield self._request.body
        stream = self._request.stream
        while stream is not None and (data := await stream.read()):
            yield data


class _Exchange:
    """One request on its own connection, and the body of the response."""

    is_over: Final = False
    """Always False, because only the next read shows the end of the body."""
    is_ready: Final = False

    def __init__(self, transport: httpx.AsyncHTTPTransport, running: set[_Exchange]) -> None:
        self._transport = transport
        self._running = running
        self._sockets: list[Any] = []
        self._response: httpx.Response | None = None
        self._chunks: AsyncIterator[bytes] | None = None
        self._closing: asyncio.Task[None] | None = None
        running.add(self)

    async def send(
        self, request: httpx.Request, connect_timeout: float | None, on_connected: Callable[[], None] | None
    ) -> TransportResponse:
        """Send the request; return the response with its body unread."""
        with _own_failures(has_headers=False):
            async with asyncio.timeout(connect_timeout) as clock:
                request.extensions["trace"] = _follower(self._sockets, clock, on_connected)
                self._response = response = await self._transport.handle_async_request(request)
        headers: Headers = response.headers.raw
        if sum(len(name) + len(value) + 4 for name, value in headers) > HEADER_BYTES:
            raise InvalidResponse("headers without an end")
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._chunks = aiter(response.stream)
        return TransportResponse(response.status_code, headers, self)

    async def read(self) -> bytes:
        assert self._chunks is not None
        with _own_failures(has_headers=True):
            async for data in self._chunks:
                if data:
                    return data
        return b""

    def relay(self, take: Callable[[bytes], bool]) -> None:
        """Return None: httpcore hands out its reads to a task only."""

    def let_end(self) -> None:
        """Do nothing: the connection carries no other request, and is closed with the stream."""

    def abort(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._close())

    async def aclose(self) -> None:
        """Close the connection, even if the closing task is cancelled meanwhile."""
        self.abort()
        assert self._closing is not None
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


def _follower(
    sockets: list[Any], clock: asyncio.Timeout, on_connected: Callable[[], None] | None
) -> Callable[..., Any]:
    """Return the callback for httpcore's steps. It keeps the socket and notices when the request is sent."""

    async def follow(step: str, about: Mapping[str, Any]) -> None:
        if step == "connection.connect_tcp.complete":
            sockets.append(about["return_value"])
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
            return ConnectTimedOut("the connection was not established in time")
        case httpx.ConnectError() | httpx.ProxyError() | httpx.UnsupportedProtocol():
            return NotConnected("no connection")
    if _is_malformed(error):
        return InvalidResponse("the answer is not HTTP")
    return Truncated("the body broke off") if has_headers else Unreachable("no response")


def _is_malformed(error: BaseException | None) -> bool:
    """Return whether the bytes are malformed, and did not just end too early."""
    while error is not None:
        if isinstance(error, (*_BROKEN_HTTP2, httpx.LocalProtocolError)):
            return True
        if isinstance(error, h11.RemoteProtocolError):
            return _CONNECTION_ENDED not in str(error)
        error = error.__cause__ or error.__context__  # the pool cuts causes off
    return False
