"""Relays the handshakes of clients to their service."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable

from streamweir_gateway.upstream.dialing import connect, resolve
from streamweir_gateway.upstream.request import UpstreamRequest
from streamweir_gateway.upstream.transport import TransportResponse
from streamweir_gateway.upstream.websocket.connection import WebSocketConnection
from streamweir_gateway.upstream.websocket.handshake import relayed_handshake

__all__ = ["RelayedSocket", "send_handshake"]


async def send_handshake(
    request: UpstreamRequest,
    context: ssl.SSLContext | None,
    *,
    connect_timeout: float | None,
    on_connected: Callable[[], None] | None,
) -> TransportResponse:
    """Send a client's handshake over a new connection; see `Transport.send`.

    Args:
        request: the request, with `handshake` set.
        context: the TLS context; None: no TLS.
        connect_timeout: the seconds to establish the connection, including TLS; None: no limit.
        on_connected: called when the connection is established and the request is sent.

    Returns:
        A response whose body is a `RelayedSocket`.

    Raises:
        UpstreamFailure: no response arrived.
        ValueError: the request cannot be written as HTTP.
    """
    connection = WebSocketConnection(relayed_handshake(request), limit=None, ping=None, on_end=lambda _: None)
    origin = request.origin
    await connect(
        resolve(origin.host, origin.port),
        connection,
        context=context,
        host=origin.host,
        seconds=connect_timeout,
    )
    if on_connected is not None:
        on_connected()
    try:
        await connection.open()
    except BaseException:
        connection.abort()
        raise
    status, headers = connection.refusal or (101, connection.headers)
    return TransportResponse(status, headers, RelayedSocket(connection))


class RelayedSocket:
    """The body of the response to a handshake: a connection to take over, or the body of a refusal."""

    __slots__ = ("_connection",)

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection: WebSocketConnection | None = connection

    def detach(self) -> tuple[asyncio.Transport, bytes]:
        """Return the transport after a 101, and the bytes that followed the 101."""
        connection, self._connection = self._connection, None
        assert connection is not None
        return connection.detach()

    @property
    def is_over(self) -> bool:
        return self._connection is None or self._connection.is_over

    @property
    def is_ready(self) -> bool:
        return self._connection is None or self._connection.is_ready

    async def read(self) -> bytes:
        return b"" if self._connection is None else await self._connection.read()

    def relay(self, take: Callable[[bytes], bool]) -> Awaitable[None] | None:
        del take
        return None

    def let_end(self) -> None:
        """Do nothing: the connection is closed after the body."""

    def abort(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    async def aclose(self) -> None:
        self.abort()
