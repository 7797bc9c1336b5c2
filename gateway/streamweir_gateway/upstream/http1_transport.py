"""httpx's transport interface over our own HTTP/1.1 connections: one chunk per read of the socket.

Failures are `UpstreamFailure`s, not httpx's exceptions, which do not tell them apart. Nothing is remembered
between requests but open connections; no proxy variable is read, no redirect followed, no coding undone.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import httpx

from streamweir_gateway.config import Tls

from .connection import UpstreamConnection
from .connection_pool import ConnectionPool
from .http1 import request_head
from .tls import tls_context

__all__ = ["CONNECTED", "Http1Body", "Http1Transport", "RequestBody"]

CONNECTED: Final = "streamweir_connected"
"""Request extension: called without arguments when the connection stands and the request goes out."""

_PORTS: Final = {"http": 80, "https": 443}


class RequestBody(httpx.AsyncByteStream):
    """A body that is there as a whole."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self.data


class Http1Transport(httpx.AsyncBaseTransport):
    """As much of the interface as `UpstreamClient` needs.

    Understands the request extensions `target` (as httpcore does), `timeout` (its `connect`) and `CONNECTED`.
    The headers must hold Host and Content-Length: they go out as they are.

    Args:
        context: for https; where it is None, the system's certificates are trusted.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._pools: dict[tuple[str, bytes], ConnectionPool] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send `request` and return its response with an unread body.

        Raises:
            ConnectTimedOut, Unreachable, InvalidResponse: there is none.
            ValueError: the request cannot be written as HTTP.
        """
        extensions = request.extensions
        target = extensions.get("target", request.url.raw_path)
        head = request_head(request.method, target, request.headers.raw)
        stream = request.stream
        body = stream.data if isinstance(stream, RequestBody) else await request.aread()
        pool = self._pool(request.url)
        connection = await pool.take(extensions.get("timeout", {}).get("connect"))
        try:
            if (on_connected := extensions.get(CONNECTED)) is not None:
                on_connected()
            response = await connection.request(head, body, is_head=request.method == "HEAD")
        except BaseException:
            pool.drop(connection)
            raise
        return httpx.Response(response.status, headers=response.headers, stream=Http1Body(connection, pool))

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            pool.close()

    def _pool(self, url: httpx.URL) -> ConnectionPool:
        key = url.scheme, url.netloc
        pool = self._pools.get(key)
        if pool is None:
            host = url.raw_host.decode("ascii")
            port = url.port or _PORTS[url.scheme]
            context = self._tls() if url.scheme == "https" else None
            pool = self._pools[key] = ConnectionPool(host, port, context)
        return pool

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls_context(Tls())
        return self._context


class Http1Body(httpx.AsyncByteStream):
    """The body as httpx wants it; no generator, because one step of it is the cost of every read.

    Attributes:
        may_linger: when it is closed, its end need not have come yet.
    """

    def __init__(self, connection: UpstreamConnection, pool: ConnectionPool) -> None:
        self._connection: UpstreamConnection | None = connection
        self._pool = pool
        self.may_linger = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._connection is None or not (data := await self._connection.read()):
            raise StopAsyncIteration
        return data

    @property
    def is_over(self) -> bool:
        """Nothing more comes, and all of it has been read."""
        return self._connection is None or self._connection.is_over

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        """Let `take` have what comes, until it returns False; reading goes on where it left off."""
        return None if self._connection is None else self._connection.relay(take)

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(connection, may_linger=self.may_linger)
