"""uvicorn, and the only place that knows it: limits on headers, the client's connection, stopping.

An ASGI application is called too late for limits on headers, and uvicorn's httptools protocol has none.
Source of what a stop does: the standard protocol 1.1, section 5 (`GATEWAY_DRAINING`).
"""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from streamweir.asgi.refusals import REFUSALS, envelope
from streamweir.jsontext import write_json
from streamweir.request_id import new_request_id
from streamweir_gateway.app import build_app
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.observability.logs import configure_logging
from streamweir_gateway.response import CONNECTION_EXTENSION, Connection
from streamweir_gateway.supervision import Streams

__all__ = ["GatewayServer", "serve"]

HEADER_BYTES: Final = 32 << 10
"""Request line and headers of one request."""

KEEP_ALIVE_SECONDS: Final = 75
"""Longer than the proxies in front keep an idle connection, so that they are the ones to close it."""

DRAIN_SECONDS: Final = 5.0
"""How long a stop lets streams under way run before it ends them."""

GOODBYE_SECONDS: Final = 2
"""How long the ends of these streams may take to be written before they are cancelled."""

OnReady = Callable[[tuple[str, int]], object]


def serve(config: GatewayConfig, *, on_ready: OnReady | None = None, drain: float = DRAIN_SECONDS) -> int:
    """Serve `config` until SIGINT or SIGTERM; return an exit code.

    A first signal stops taking requests, lets streams run for `drain` seconds and then ends them with
    `GATEWAY_DRAINING`; a second SIGINT ends everything at once.

    Args:
        config: the settled configuration.
        on_ready: called with the address listened on, as soon as requests are taken.
        drain: seconds.

    Raises:
        OSError: the address cannot be listened on.
    """
    configure_logging()
    listener = _listen(config.listen.host, config.listen.port)
    streams = Streams()
    server = GatewayServer(build_app(config, streams=streams), streams, drain=drain, on_ready=on_ready)
    _collect_less_garbage()
    with listener:
        server.run(sockets=[listener])
    return 0 if server.started else 1


def _collect_less_garbage() -> None:
    """Let the collector skip what stays for good, and look for cycles once per many requests.

    Streams make hardly any cycles: with Python's own settings a tenth of a short request's time goes into
    looking for them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=2048)


class GatewayServer(uvicorn.Server):
    """uvicorn's server, with the limits and the stop of the gateway."""

    def __init__(
        self,
        app: ASGIApp,
        streams: Streams,
        *,
        drain: float = DRAIN_SECONDS,
        on_ready: OnReady | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=LimitedProtocol,
                ws="none",
                loop="auto",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=round(drain) + GOODBYE_SECONDS,
            )
        )
        self._streams = streams
        self._drain = drain
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._on_ready((host, port))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing new, let streams run for a while, end them, stop."""
        self._streams.refuse()
        timer = asyncio.get_running_loop().call_later(self._drain, self._streams.drain)
        try:
            await super().shutdown(sockets)
        finally:
            timer.cancel()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a stop that was asked for is a success, so the signal is not raised again afterwards."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol with a limit on headers, refusals in the gateway's own form, and `Connection`."""

    _header_bytes = 0
    """Of the request whose headers are being read."""
    _in_headers = True
    _refused = False

    def data_received(self, data: bytes) -> None:
        """Feed the parser, never more header bytes than are allowed."""
        while data and not self._refused:
            room = HEADER_BYTES - self._header_bytes if self._in_headers else len(data)
            if room <= 0:
                self._refuse("REQUEST_TOO_LARGE")
                return
            piece, data = data[:room], data[room:]
            if self._in_headers:
                self._header_bytes += len(piece)
            super().data_received(piece)

    def on_message_begin(self) -> None:
        """Hand the connection down with the request."""
        super().on_message_begin()
        connection = Connection(self.transport.get_write_buffer_size, self.transport.abort)
        scope: Any = self.scope  # its type allows no values but dictionaries
        scope["extensions"] = {CONNECTION_EXTENSION: connection}

    def on_headers_complete(self) -> None:
        """From here on it is body."""
        self._in_headers = False
        self._header_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next byte belongs to another request's headers."""
        self._in_headers = True
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        del msg
        self._refuse("BAD_REQUEST")

    def _refuse(self, code: str) -> None:
        """Answer and close; in the middle of another response only close, for it would become part of it."""
        self._refused = True
        if self.cycle is None or self.cycle.response_complete:
            self.transport.write(_refusal(code))
        self.transport.close()


def _refusal(code: str) -> bytes:
    row = REFUSALS[code]
    request_id = new_request_id()
    body = write_json(envelope(code, row.message, retry=row.retry, request_id=request_id))
    headers = (
        b"content-type: application/json\r\nconnection: close\r\ncache-control: no-store\r\n"
        b"x-request-id: %s\r\ncontent-length: %d\r\n\r\n" % (request_id.encode("ascii"), len(body))
    )
    return STATUS_LINE[row.status] + headers + body
