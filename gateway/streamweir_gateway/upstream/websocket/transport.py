"""A transport for WebSockets: sends a handshake and messages, and reads the messages of the answer."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from streamweir_gateway.config import Tls
from streamweir_gateway.upstream.dialing import connect, resolve
from streamweir_gateway.upstream.request import Headers, Origin, UpstreamRequest
from streamweir_gateway.upstream.tls import tls_context
from streamweir_gateway.upstream.transport import SentRequest, TransportResponse
from streamweir_gateway.upstream.websocket.connection import WebSocketConnection
from streamweir_gateway.upstream.websocket.handshake import Handshake, handshake_for
from streamweir_gateway.upstream.websocket.kept_connections import KeptConnections
from streamweir_gateway.upstream.websocket.message_body import MessageBody
from streamweir_gateway.upstream.websocket.request import BodyFraming, WebSocketExchange, WebSocketSettings

__all__ = ["WebSocketTransport"]

_NORMAL: Final = 1000
_GOING_AWAY: Final = 1001
_MESSAGE_TOO_BIG: Final = 1009

_MEDIA_TYPES: Final = {"sse": b"text/event-stream", "ndjson": b"application/x-ndjson", "text": b"text/plain"}

_OF_ONE_REQUEST: Final = frozenset({b"x-request-id", b"traceparent", b"tracestate", b"via"})
"""Headers that differ between requests of one client, and so are not part of the key of a kept connection."""


class WebSocketTransport:
    """A `Transport` with one connection for each stream.

    Args:
        settings: the settings of the connections.
        context: the TLS context for wss; None: the system's certificates are trusted.
    """

    def __init__(self, settings: WebSocketSettings, context: ssl.SSLContext | None = None) -> None:
        self._settings = settings
        self._context = context
        self._open: set[WebSocketConnection] = set()
        self._kept = KeptConnections(settings.keep or 0, settings.most_kept)

    async def send(
        self,
        request: UpstreamRequest,
        *,
        connect_timeout: float | None,
        on_connected: Callable[[], None] | None,
    ) -> TransportResponse:
        """Send `request` and wait for the first message of the answer, or for a refusal; see `Transport`.

        Raises:
            UpstreamFailure: no response arrived.
            ValueError: the request cannot be written as HTTP.
        """
        exchange = request.exchange or WebSocketExchange()
        handshake = handshake_for(request, self._settings.subprotocols)
        identity = self._identity(request, exchange)
        connection = None if identity is None else await self._kept.take(identity)
        hello: tuple[bytes, ...] = ()
        if connection is None:
            hello = exchange.hello
            connection = await self._connect(request.origin, handshake, connect_timeout)
            connection.conversation = identity
        elif on_connected is not None:
            on_connected()
            on_connected = None
        body = _Body(connection, self._settings, exchange, self._kept)
        try:
            if on_connected is not None:
                on_connected()
            connection.begin(body.messages, exchange.on_close)  # messages may come together with the 101
            await self._opened(connection)
            if connection.refusal is not None:
                status, headers = connection.refusal
                return TransportResponse(status, headers, body)
            for message in filter(None, (*hello, request.body)):
                connection.send_message(message)
            await connection.first()
        except BaseException:
            await body.aclose()
            raise
        return TransportResponse(200, _with_type(connection.headers, body.messages.framing), body)

    def begin(self, origin: Origin, head: bytes, body: bytes) -> SentRequest | None:
        """Return None: opening a WebSocket always has to wait."""
        del origin, head, body
        return None

    async def aclose(self) -> None:
        """Close every connection."""
        self._kept.close()
        for connection in [*self._open]:
            connection.close(_GOING_AWAY)

    def _identity(self, request: UpstreamRequest, exchange: WebSocketExchange) -> Hashable:
        """Return the key under which the connection of a request is kept; None if it is not kept."""
        if self._settings.keep is None or exchange.conversation is None:
            return None
        headers = tuple(
            (name.lower(), value)
            for name, value in request.wire_headers()
            if name.lower() not in _OF_ONE_REQUEST and name.lower() != b"content-length"
        )
        return exchange.conversation, request.origin, request.target, headers

    async def _connect(
        self, origin: Origin, handshake: Handshake, connect_timeout: float | None
    ) -> WebSocketConnection:
        connection = WebSocketConnection(
            handshake, limit=self._settings.event_bytes, ping=self._settings.ping, on_end=self._forget
        )
        await connect(
            resolve(origin.host, origin.port),
            connection,
            context=self._tls() if origin.scheme == "https" else None,
            host=origin.host,
            seconds=connect_timeout,
        )
        self._open.add(connection)
        return connection

    async def _opened(self, connection: WebSocketConnection) -> None:
        """Wait for the response to the handshake; forget the connection if it is not open afterwards."""
        try:
            await connection.open()
        finally:
            if not connection.is_usable:
                self._forget(connection)

    def _forget(self, connection: WebSocketConnection) -> None:
        self._open.discard(connection)
        self._kept.forget(connection)

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = tls_context(Tls())
        return self._context


class _Body:
    """The answer to one request, as a body. Closing the body closes or keeps the connection, once."""

    __slots__ = ("_connection", "_exchange", "_has_ended", "_kept", "_settings", "messages")

    def __init__(
        self,
        connection: WebSocketConnection,
        settings: WebSocketSettings,
        exchange: WebSocketExchange,
        kept: KeptConnections,
    ) -> None:
        self.messages = MessageBody(exchange.framing, settings.framing)
        self._connection: WebSocketConnection | None = connection
        self._settings = settings
        self._exchange = exchange
        self._kept = kept
        self._has_ended = False

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
        self._has_ended = True

    def abort(self) -> None:
        self._leave()

    async def aclose(self) -> None:
        self._leave()

    def _leave(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._has_ended and connection.is_usable and connection.conversation is not None:
            self._kept.put(connection)
        elif self._has_ended:
            connection.close(_NORMAL)
        elif self.messages.size > self._settings.stream_bytes:
            connection.close(_MESSAGE_TOO_BIG)
        else:
            if self._exchange.cancel is not None and connection.is_usable:
                connection.send_message(self._exchange.cancel)
            connection.close(_GOING_AWAY)


def _with_type(headers: Headers, framing: BodyFraming) -> Headers:
    """Return the headers of a 101, with the media type of the body that the messages make."""
    others = [(name, value) for name, value in headers if name.lower() not in _DESCRIBING]
    return [*others, (b"Content-Type", _MEDIA_TYPES[framing])]


_DESCRIBING: Final = frozenset(
    {b"content-type", b"content-length", b"content-encoding", b"transfer-encoding"}
)
