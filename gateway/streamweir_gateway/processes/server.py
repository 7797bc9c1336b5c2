"""The gateway's server: uvicorn's `Server` with another protocol class and another way to stop.

uvicorn provides the event loop, the sockets and the signal handlers, through `Server` and `Config`.

Source for the stop: the configuration contract (`server.drain`, `timeouts.write`); the standard
protocol 1.1, section 5 (`GATEWAY_DRAINING`).
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.types import ASGIApp

from streamweir_gateway.config import LEFT_SECONDS, ServerConfig
from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.connection.protocol import HttpProtocol
from streamweir_gateway.connection.server_context import ServerContext
from streamweir_gateway.observability.event_lines import drain_began, drain_ended
from streamweir_gateway.observability.observer import Observer
from streamweir_gateway.processes.sockets import BACKLOG
from streamweir_gateway.processes.standby_listener import StandbyListener
from streamweir_gateway.runs.live_streams import LiveStreams

__all__ = ["GatewayServer"]

HURRIED_GOODBYE_SECONDS: Final = 1.0
"""The seconds in which clients can take the remaining bytes after a second signal."""

CLOSING_SECONDS: Final = 2
"""The seconds in which remaining requests without a stream can end, before their tasks are cancelled."""

_LOOK_SECONDS: Final = 0.02
"""The seconds between checks whether a stop still has to wait."""


class GatewayServer(uvicorn.Server):
    """uvicorn's server, with the limits and the stop of the gateway.

    Args:
        app: serves the requests. If it has a `shortcut`, that serves some requests without a task.
        streams: the open streams. A stop lets them run for a while, then ends them.
        observer: gets a record of each request that is refused before it reaches the application.
        settings: the limits and times.
        goodbye: the seconds for clients to take the remaining bytes after a stop has ended their streams.
        max_connections: the most connections at a time; None: no limit.
        is_worker: whether the process has a parent, which handles Ctrl-C and stops it.
        on_drained: called with the number of streams that had to be ended, in place of writing log lines
            about the drain; None: the lines are written.
        others_stream: returns whether another worker has an open stream; None: there is no other worker.
        on_ready: called in the event loop, with the address, when requests are accepted.
    """

    def __init__(  # noqa: PLR0913 - what a server is made of
        self,
        app: ASGIApp,
        streams: LiveStreams,
        *,
        observer: Observer,
        settings: ServerConfig | None = None,
        goodbye: float = LEFT_SECONDS,
        max_connections: int | None = None,
        is_worker: bool = False,
        on_drained: Callable[[int], None] | None = None,
        others_stream: Callable[[], bool] | None = None,
        on_ready: Callable[[tuple[str, int]], object] | None = None,
    ) -> None:
        settings = settings or ServerConfig()
        super().__init__(_uvicorn_config(app, self._protocol))
        state: Any = self.server_state  # uvicorn declares the type for its own protocols only
        self._connections = ServerContext(
            app=app,
            limits=RequestLimits(settings.header_bytes, settings.header_time),
            observer=observer,
            connections=state.connections,
            tasks=state.tasks,
            max_connections=max_connections,
        )
        self._admin: tuple[ServerContext, socket.socket] | None = None
        self._streams = streams
        self._drain = settings.drain
        self._goodbye = goodbye
        self._is_worker = is_worker
        self._stands_by = False
        self._standby: list[StandbyListener] = []
        self._on_drained = on_drained
        self._others_stream = others_stream
        self._is_hurried = False
        self._on_ready = on_ready
        self._loop: asyncio.AbstractEventLoop | None = None

    def apply(self, settings: ServerConfig, *, goodbye: float) -> None:
        """Apply changed limits and times, as far as a running server allows."""
        limits = self._connections.limits
        limits.header_bytes, limits.header_time = settings.header_bytes, settings.header_time
        self._drain = settings.drain
        self._goodbye = goodbye

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle the signals that stop; ignore them afterwards, so that the process sets its exit code."""
        with super().capture_signals():
            yield
        if self.should_exit and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, signal.SIG_IGN)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and call `on_ready`."""
        self._loop = asyncio.get_running_loop()
        if self.should_exit:  # a stop was requested before the server started
            return
        await super().startup([] if self._stands_by else sockets)
        if self._stands_by:
            self._standby = [StandbyListener(listener, self._protocol) for listener in sockets or ()]
        await self._listen_for_admin()
        if self.started and self._on_ready is not None and sockets:
            host, port = sockets[0].getsockname()[:2]
            self._on_ready((host, port))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new streams, let open ones run for a while, end them, and stop."""
        self._streams.refuse()
        began = time.monotonic()
        if self._on_drained is None:
            drain_began(len(self._streams))
        await self._wait_while(self._is_any_streaming, self._drain, hurried=0.0)
        left = len(self._streams)
        self._streams.drain()
        await self._wait_while(self._is_anything_left, self._goodbye, hurried=HURRIED_GOODBYE_SECONDS)
        if self._on_drained is None:
            drain_ended(left, time.monotonic() - began)
        else:
            self._on_drained(left)
        late = asyncio.get_running_loop().call_later(0.75 * CLOSING_SECONDS, self._abort_connections)
        self.stop_listening()
        try:
            await super().shutdown(sockets)
        finally:
            late.cancel()

    def add_admin(self, app: ASGIApp, listener: socket.socket) -> None:
        """Serve another application on another socket. Call this before `run`.

        Client connections, however many, never make it unreachable.
        """
        self._admin = replace(self._connections, app=app, max_connections=None), listener

    def stand_by(self) -> None:
        """Accept only connections that another process leaves waiting. Call this before `run`."""
        self._stands_by = True

    async def _listen_for_admin(self) -> None:
        if self._admin is not None:
            context, listener = self._admin
            loop = asyncio.get_running_loop()
            listening = await loop.create_server(
                lambda: HttpProtocol(context), sock=listener, backlog=BACKLOG
            )
            self.servers.append(listening)

    def stop_listening(self) -> None:
        """Accept no new connections."""
        for listening in self.servers:
            listening.close()
        for standby in self._standby:
            standby.close()

    def _protocol(self, **_options: Any) -> HttpProtocol:
        """Make the protocol object of a connection. Options of uvicorn for its own protocols are ignored."""
        return HttpProtocol(self._connections)

    def _abort_connections(self) -> None:
        """Abort the connections of clients that do not read."""
        for connection in tuple(self.server_state.connections):
            connection.transport.abort()

    def _is_streaming(self) -> bool:
        return len(self._streams) > 0

    def _is_any_streaming(self) -> bool:
        """Return whether this process or another worker has an open stream.

        A worker that stopped before the others would reset the connections that wait for it to accept them.
        """
        return self._is_streaming() or (self._others_stream is not None and self._others_stream())

    def _is_anything_left(self) -> bool:
        """Return whether a stream is open, or a client has not taken all bytes."""
        return self._is_streaming() or any(
            connection.transport.get_write_buffer_size() for connection in self.server_state.connections
        )

    async def _wait_while(self, is_busy: Callable[[], bool], seconds: float, *, hurried: float) -> None:
        """Wait while `is_busy()`, for at most `seconds`, or `hurried` seconds after a second stop."""
        began = asyncio.get_running_loop().time()
        while is_busy() and not self.force_exit:
            waited = asyncio.get_running_loop().time() - began
            if waited >= (min(seconds, hurried) if self._is_hurried else seconds):
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def stop(self) -> None:
        """Stop the server; a second call hurries, a third stops at once. Call this in the main thread."""
        if self._is_hurried:
            self.force_exit = True
        elif self.should_exit:
            self._is_hurried = True
        self.should_exit = True
        if self._loop is not None:
            # Readiness ends now, not at the next turn of uvicorn's main loop.
            self._loop.call_soon_threadsafe(self._streams.refuse)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop the server. A requested stop is a success, so the signal is not raised again afterwards."""
        del frame
        if not self._is_worker or (sig != signal.SIGINT and not self.should_exit):
            self.stop()


def _uvicorn_config(app: ASGIApp, protocol: Any) -> uvicorn.Config:
    """Return a uvicorn configuration that turns off everything that the gateway does itself.

    Args:
        protocol: makes the protocol object of a connection; uvicorn calls it like a class.
    """
    return uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        loop="auto",
        interface="asgi3",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=CLOSING_SECONDS,
    )
