"""The connections to one origin: taken, given back, and closed when they are idle for too long."""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import Final, NamedTuple

from .connection import UpstreamConnection
from .dialing import Address, connect, resolve
from .failures import ConnectTimedOut, NotConnected

__all__ = ["ConnectionPool"]

KEEP_ALIVE_SECONDS: Final = 4.0
"""How long an upstream is taken to leave an idle connection open, where it does not say less: below the 5 s
of the usual servers."""

SAFE_SHARE: Final = 0.75
"""A connection is used for this part of that time. If a request meets the upstream's closing, it is lost, and
may have run."""

REMEMBERED_SECONDS: Final = 60.0
"""How long it is remembered how soon an upstream has closed an idle connection."""

LOOK_SECONDS: Final = 1.0
"""Seconds between two looks for connections that have been idle for too long, while there are any."""

ADDRESS_SECONDS: Final = 10.0
"""How long a host's addresses are believed; a failure to connect ends it."""


class _Idle(NamedTuple):
    """An idle connection."""

    since: float
    until: float
    """The time from which on it is not used any more."""


class ConnectionPool:
    """Any number of connections; taking one costs the same however many there are.

    Args:
        host: without brackets.
        port: the port of the origin.
        context: for TLS; None without.
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
        """Return an idle connection that the upstream still holds open, as far as one can see."""
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
            ConnectTimedOut, NotConnected: there is none.
        """
        connection = await self._connect(connect_timeout)
        self._busy.add(connection)
        return connection

    def give_back(self, connection: UpstreamConnection, *, may_linger: bool = False) -> None:
        """Keep a connection whose exchange is over, if its response was whole; else close it.

        Args:
            connection: the connection of this pool.
            may_linger: its stream has said that it is over: give the response a moment to end as well.
        """
        if connection.is_reusable:
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
        seconds = SAFE_SHARE * min(self._idle_seconds(), connection.keep_alive_seconds(KEEP_ALIVE_SECONDS))
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
        """Close those that have been idle for too long."""
        self._timer = None
        now = time.monotonic()
        for connection in [each for each, idle in self._idle.items() if idle.until <= now]:
            del self._idle[connection]
            connection.abort()
        if self._idle:
            soonest = min(idle.until for idle in self._idle.values())
            self._look_after(min(soonest - now, LOOK_SECONDS))

    def _forget(self, connection: UpstreamConnection) -> None:
        """A connection has ended; an idle one because the upstream closed it."""
        self._busy.discard(connection)
        if (idle := self._idle.pop(connection, None)) is not None:
            self._note_closing(idle)

    def _note_closing(self, idle: _Idle) -> None:
        self._closes_after = min(self._idle_seconds(), time.monotonic() - idle.since)
        self._closed_at = time.monotonic()

    def _idle_seconds(self) -> float:
        """Return how long this upstream is taken to leave an idle connection open."""
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
