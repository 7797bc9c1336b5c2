"""A transport for HTTP/1.1 with its own connections: each read of the socket gives one piece of the body."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from streamweir_gateway.config import Tls

from .connection import UpstreamConnection
from .connection_pool import ConnectionPool
from .failures import NotSent
from .http1 import ResponseParser, request_head
from .request import Origin, UpstreamRequest
from .tls import tls_context
from .transport import SentRequest, TransportResponse
from .websocket.relayed import send_handshake

__all__ = ["Http1Transport"]


class Http1Transport:
    """A `Transport` with a pool of connections for each origin. It ignores proxy variables.

    Args:
        context: the TLS context for https; None: the system's certificates are trusted.
    """

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self._pools: dict[Origin, ConnectionPool] = {}

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
            ValueError: the request cannot be written as HTTP.
        """
        if request.handshake is not None:
            context = self._tls() if request.origin.scheme == "https" else None
            return await send_handshake(
                request, context, connect_timeout=connect_timeout, on_connected=on_connected
            )
        pool, head = self._pools.get(request.origin) or self._new_pool(request.origin), _head_of(request)
        kept = pool.take_kept() if request.stream is None else None
        while True:
            connection = kept or await pool.connect(connect_timeout)
            try:
                if on_connected is not None:
                    on_connected()
                connection.request(head, request)
                while (response := connection.response()) is None:
                    await connection.news()
            except BaseException as error:
                pool.drop(connection)
                if kept is None or not isinstance(error, NotSent):
                    raise
                kept = None  # the upstream has just closed it, and cannot have run anything
            else:
                return _response(response, connection, pool)

    def begin(self, origin: Origin, head: bytes, body: bytes) -> SentRequest | None:
        """Send a request at once on a kept connection; return None if no connection is kept."""
        pool = self._pools.get(origin)
        kept = None if pool is None else pool.take_kept()
        if pool is None or kept is None:
            return None
        try:
            kept.begin(head, body)
        except NotSent:
            pool.drop(kept)
            return None
        return _SentRequest(self, pool, kept)

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            pool.close()

    def _new_pool(self, origin: Origin) -> ConnectionPool:
        context = self._tls() if origin.scheme == "https" else None
        pool = self._pools[origin] = ConnectionPool(origin.host, origin.port, context)
        return pool

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls_context(Tls())
        return self._context


def _head_of(request: UpstreamRequest) -> bytes:
    """Return the request line and the headers, as they are written."""
    head = None if request.prepared is None else request.prepared.of(request)
    return head or request_head(request.method, request.target.encode("ascii"), request.wire_headers())


def _response(
    response: ResponseParser, connection: UpstreamConnection, pool: ConnectionPool
) -> TransportResponse:
    return TransportResponse(response.status, response.headers, _Body(connection, pool), response.fields)


class _SentRequest:
    """The `SentRequest` that a kept connection carries."""

    __slots__ = ("_connection", "_pool", "_transport", "is_nearly_whole", "watch", "whole_response")

    def __init__(
        self, transport: Http1Transport, pool: ConnectionPool, connection: UpstreamConnection
    ) -> None:
        self._transport = transport
        self._pool = pool
        self._connection = connection
        self.watch = connection.watch
        self.whole_response = connection.whole_response
        self.is_nearly_whole = connection.is_nearly_whole

    def give_back(self) -> None:
        self._pool.give_back(self._connection)

    async def response(
        self, request: UpstreamRequest, *, connect_timeout: float | None, on_connected: Callable[[], None]
    ) -> TransportResponse:
        pool, connection = self._pool, self._connection
        connection.watch(None, request.on_interim)
        try:
            while (response := connection.response()) is None:
                await connection.news()
            return _response(response, connection, pool)
        except NotSent:
            pool.drop(connection)
        except BaseException:
            pool.drop(connection)
            raise
        return await self._transport.send(request, connect_timeout=connect_timeout, on_connected=on_connected)

    def abort(self) -> None:
        self._pool.drop(self._connection)


async def _nothing() -> bytes:
    return b""


class _Body:
    """The body of a response. The connection is given back once, when the body is closed."""

    __slots__ = ("_connection", "_may_linger", "_pool")

    def __init__(self, connection: UpstreamConnection, pool: ConnectionPool) -> None:
        self._connection: UpstreamConnection | None = connection
        self._pool = pool
        self._may_linger = False

    @property
    def is_over(self) -> bool:
        return self._connection is None or self._connection.is_over()

    @property
    def is_ready(self) -> bool:
        return self._connection is None or self._connection.is_ready

    def read(self) -> Coroutine[Any, Any, bytes]:
        return _nothing() if self._connection is None else self._connection.read()

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        return None if self._connection is None else self._connection.relay(take)

    def let_end(self) -> None:
        self._may_linger = True

    def abort(self) -> None:
        if self._connection is not None:
            self._pool.drop(self._connection)
            self._connection = None

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(connection, may_linger=self._may_linger)
