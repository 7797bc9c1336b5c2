"""Keeps the connections to one origin: hands them out, takes them back, and closes idle ones."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Final

from msgspec import Struct

from .connection import UpstreamConnection
from .dialing import Address, connect, resolve
from .failures import ConnectTimedOut, NotConnected

__all__ = ["ConnectionPool"]

KEEP_ALIVE_SECONDS: Final = 4.0
"""The seconds for which an upstream is assumed to keep an idle connection open, if it does not say less.

The value is below the 5 s of the usual servers.
"""

SAFE_SHARE: Final = 0.75
"""The part of the assumed time for which an idle connection is used.

A request that meets the upstream's close is lost, although the upstream may have run it.
"""

REMEMBERED_SECONDS: Final = 60.0
"""The seconds for which a pool remembers how soon an upstream has closed an idle connection."""

LOOK_SECONDS: Final = 1.0
"""The seconds between two looks for connections that have been idle for too long, while any are idle."""

ADDRESS_SECONDS: Final = 10.0
"""The seconds for which the addresses of a host are cached. A failure to connect ends the caching."""


class _Idle(Struct):
    """An idle connection."""

    since: float
    until: float
    """The time after which the connection is not used any more."""


class ConnectionPool:
    """The connections to one origin. The cost of taking a connection does not depend on their number.

    Args:
        host: the host, without brackets.
        port: the port of the origin.
        context: the TLS context; None: no TLS.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._context = context
        self._idle: dict[UpstreamConnection, _Idle] = {}  # the last one is the freshest
        self._timer: asyncio.TimerHandle | None = None  # one for all: few are idle for long
        self._busy: set[UpstreamConnection] = set()
        self._addresses: list[Address] = []
        self._resolved_at = 0.0
        self._closes_after = KEEP_ALIVE_SECONDS
        self._closed_at: float | None = None

    def take_kept(self) -> UpstreamConnection | None:
        """Return an idle connection that the upstream seems to hold open; None if no connection is kept."""
        while self._idle:
            connection, idle = self._idle.popitem()
            if connection.has_news():
                self._note_closing(idle)
            elif time.monotonic() < idle.until:
                self._busy.add(connection)
                return connection
            connection.abort()
        return None

    async def connect(self, connect_timeout: float | None) -> UpstreamConnection:
        """Return a new connection.

        Raises:
            ConnectTimedOut, NotConnected: no connection was established.
        """
        connection = await self._connect(connect_timeout)
        self._busy.add(connection)
        return connection

    def give_back(self, connection: UpstreamConnection, *, may_linger: bool = False) -> None:
        """Keep a connection after its exchange if the response was whole; else close the connection.

        Args:
            connection: the connection of this pool.
            may_linger: whether the stream in the response has ended, so that it gets a moment to end too.
        """
        if connection.is_reusable():
            self._busy.discard(connection)
            self._keep(connection)
        elif may_linger and connection.is_open:
            connection.linger(self.give_back)
        else:
            self.drop(connection)

    def drop(self, connection: UpstreamConnection) -> None:
        """Close a connection at once."""
        self._busy.discard(connection)
        connection.abort()
        connection.end_exchange()

    def close(self) -> None:
        """Close every connection."""
        for connection in (*self._idle, *self._busy):
            connection.abort()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _keep(self, connection: UpstreamConnection) -> None:
        seconds = SAFE_SHARE * min(self._idle_seconds(), connection.keep_alive_seconds)
        connection.end_exchange()
        now = time.monotonic()
        self._idle[connection] = _Idle(now, now + seconds)
        if self._timer is None or seconds < LOOK_SECONDS:
            self._look_after(min(seconds, LOOK_SECONDS))

    def _look_after(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Close the connections that have been idle for too long."""
        self._timer = None
        now = time.monotonic()
        for connection in [each for each, idle in self._idle.items() if idle.until <= now]:
            del self._idle[connection]
            connection.abort()
        if self._idle:
            soonest = min(idle.until for idle in self._idle.values())
            self._look_after(min(soonest - now, LOOK_SECONDS))

    def _forget(self, connection: UpstreamConnection) -> None:
        """Forget a connection that has ended. If it was idle, the upstream has closed it."""
        self._busy.discard(connection)
        if (idle := self._idle.pop(connection, None)) is not None:
            self._note_closing(idle)

    def _note_closing(self, idle: _Idle) -> None:
        self._closes_after = min(self._idle_seconds(), time.monotonic() - idle.since)
        self._closed_at = time.monotonic()

    def _idle_seconds(self) -> float:
        """Return the seconds for which this upstream is assumed to keep an idle connection open."""
        if self._closed_at is None or time.monotonic() - self._closed_at >= REMEMBERED_SECONDS:
            return KEEP_ALIVE_SECONDS
        return self._closes_after

    async def _connect(self, connect_timeout: float | None) -> UpstreamConnection:
        try:
            return await connect(
                self._resolve(),
                UpstreamConnection(self._forget),
                context=self._context,
                host=self._host,
                seconds=connect_timeout,
            )
        except (ConnectTimedOut, NotConnected):
            self._addresses = []
            raise

    async def _resolve(self) -> list[Address]:
        now = asyncio.get_running_loop().time()
        if not self._addresses or now - self._resolved_at > ADDRESS_SECONDS:
            self._addresses = await resolve(self._host, self._port)
            self._resolved_at = now
        return self._addresses
