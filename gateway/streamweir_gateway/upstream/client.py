"""The client that sends requests to upstreams."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager
from typing import Final

from streamweir_gateway.config import UpstreamConfig

from .http1_transport import Http1Transport
from .request import UpstreamRequest
from .response import UpstreamResponse
from .tls import tls_context
from .transport import Transport
from .websocket.request import WebSocketSettings
from .websocket.transport import WebSocketTransport

__all__ = ["TRANSPORTS", "UpstreamClient", "UpstreamClients"]


class UpstreamClient:
    """Sends requests and hands out their responses.

    Attributes:
        begin: the `begin` method of the transport.
        send: the `send` method of the transport.

    Args:
        transport: carries the requests; None: HTTP/1.1 that trusts the system's certificates.
    """

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport: Transport = Http1Transport() if transport is None else transport
        self.begin = self._transport.begin
        self.send = self._transport.send

    @classmethod
    def for_upstream(
        cls, config: UpstreamConfig, settings: WebSocketSettings | None = None
    ) -> UpstreamClient:
        """Return a client with the transport and certificates of an upstream; see `UpstreamClients.of`.

        Raises:
            TlsFileError: a file of `config.tls` cannot be used.
        """
        context = tls_context(config.tls) if _is_secure(config) else None
        if settings is not None:
            return cls(WebSocketTransport(settings, context))
        return cls(TRANSPORTS[config.transport](context))

    @asynccontextmanager
    async def open(
        self, request: UpstreamRequest, *, connect_timeout: float | None
    ) -> AsyncIterator[UpstreamResponse]:
        """Send `request`; the response is closed when the block is left. See `Transport.send`."""
        sending = self.send(request, connect_timeout=connect_timeout, on_connected=None)
        response = UpstreamResponse(await sending)
        try:
            yield response
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


class UpstreamClients:
    """The clients of a configuration. Upstreams with the same transport and certificates share a client."""

    def __init__(self) -> None:
        self._clients: dict[Hashable, UpstreamClient] = {}

    def of(self, config: UpstreamConfig, settings: WebSocketSettings | None = None) -> UpstreamClient:
        """Return the client of an upstream.

        Args:
            config: the configuration of the upstream.
            settings: the settings of its connections, if the upstream speaks over a WebSocket.

        Raises:
            TlsFileError: a file of `config.tls` cannot be used.
        """
        key = config.transport, config.tls, _is_secure(config), settings
        if key not in self._clients:
            self._clients[key] = UpstreamClient.for_upstream(config, settings)
        return self._clients[key]

    async def aclose(self) -> None:
        """Close every connection."""
        for client in self._clients.values():
            await client.aclose()


def _httpcore(context: ssl.SSLContext | None) -> Transport:
    from .httpcore_transport import HttpcoreTransport  # noqa: PLC0415 - few upstreams need httpx

    return HttpcoreTransport(context)


TRANSPORTS: Final[dict[str, Callable[[ssl.SSLContext | None], Transport]]] = {
    "auto": Http1Transport,
    "httpcore": _httpcore,
}
"""The constructors of the transports, by their names in the configuration."""


def _is_secure(config: UpstreamConfig) -> bool:
    return config.url.lower().startswith(("https:", "wss:"))
