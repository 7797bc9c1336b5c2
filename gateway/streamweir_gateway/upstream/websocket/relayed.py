"""Handshakes of clients, relayed to their service."""

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
    """Send a client's handshake over a connection of its own; see `Transport.send`.

    Args:
        request: with `handshake`.
        context: for TLS; None: without.
        connect_timeout: seconds to establish the connection, TLS included; None waits for ever.
        on_connected: called when it does and the request goes out.

    Returns:
        A response whose body is a `RelayedSocket`.

    Raises:
        UpstreamFailure: there is no response.
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
    """The body of the answer to a handshake: a connection to take over, or the body of a refusal."""

    __slots__ = ("_connection",)

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection: WebSocketConnection | None = connection

    def detach(self) -> tuple[asyncio.Transport, bytes]:
        """Return the connection behind a 101, and the bytes that came behind it."""
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
        """Nothing: the connection is closed behind the body."""

    def abort(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.abort()

    async def aclose(self) -> None:
        self.abort()
