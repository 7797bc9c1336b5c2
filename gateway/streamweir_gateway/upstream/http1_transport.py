"""HTTP/1.1 over connections of our own: one piece of the body per read of the socket."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from streamweir_gateway.config import Tls

from .connection import UpstreamConnection
from .connection_pool import ConnectionPool
from .failures import NotSent
from .http1 import request_head
from .request import Origin, UpstreamRequest
from .tls import tls_context
from .transport import TransportResponse

__all__ = ["Http1Transport"]


class Http1Transport:
    """A `Transport` with a pool of connections for each origin; no proxy variable is read.

    Args:
        context: for https; where it is None, the system's certificates are trusted.
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
            ConnectTimedOut, Unreachable, InvalidResponse: there is no response.
            ValueError: the request cannot be written as HTTP.
        """
        head = request_head(request.method, request.target.encode("ascii"), request.wire_headers())
        exchange = _Exchange(self._pool(request.origin), head, request, on_connected)
        is_repeatable = request.stream is None
        if is_repeatable and (kept := exchange.pool.take_kept()) is not None:
            try:
                return await exchange.on(kept)
            except NotSent:
                pass  # the upstream has just closed it, and cannot have run anything
        return await exchange.on(await exchange.pool.connect(connect_timeout))

    async def aclose(self) -> None:
        """Close every connection."""
        for pool in self._pools.values():
            pool.close()

    def _pool(self, origin: Origin) -> ConnectionPool:
        pool = self._pools.get(origin)
        if pool is None:
            context = self._tls() if origin.scheme == "https" else None
            pool = self._pools[origin] = ConnectionPool(origin.host, origin.port, context)
        return pool

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls_context(Tls())
        return self._context


class _Exchange(NamedTuple):
    """One request, as it is written on whichever connection."""

    pool: ConnectionPool
    head: bytes
    request: UpstreamRequest
    on_connected: Callable[[], None] | None

    async def on(self, connection: UpstreamConnection) -> TransportResponse:
        """Send the request on `connection`."""
        try:
            if self.on_connected is not None:
                self.on_connected()
            response = await connection.request(
                self.head,
                self.request.body,
                stream=self.request.stream,
                is_head=self.request.method == "HEAD",
            )
        except BaseException:
            self.pool.drop(connection)
            raise
        return TransportResponse(response.status, response.headers, _Body(connection, self.pool))


class _Body:
    """The rest of the exchange; its connection is given back once."""

    __slots__ = ("_connection", "_may_linger", "_pool")

    def __init__(self, connection: UpstreamConnection, pool: ConnectionPool) -> None:
        self._connection: UpstreamConnection | None = connection
        self._pool = pool
        self._may_linger = False

    @property
    def is_over(self) -> bool:
        return self._connection is None or self._connection.is_over

    @property
    def is_ready(self) -> bool:
        return self._connection is None or self._connection.is_ready

    async def read(self) -> bytes:
        return b"" if self._connection is None else await self._connection.read()

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
