"""The connections to one origin: taken, given back, and closed when they are idle for too long."""

from __future__ import annotations

import asyncio
import ssl
from typing import Final

from .connection import UpstreamConnection
from .dialing import Address, dial, resolve
from .failures import ConnectTimedOut, NotConnected

__all__ = ["ConnectionPool"]

KEEP_ALIVE_SECONDS: Final = 4.0
"""Below the 5 s of the usual servers: a POST that meets their closing could not be repeated."""

ADDRESS_SECONDS: Final = 10.0
"""How long a host's addresses are believed; a failure to connect ends it."""


class ConnectionPool:
    """Any number of connections; taking one costs the same however many there are.

    Args:
        host: without brackets.
        port: of the origin.
        context: for TLS; None without.
    """

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._context = context
        self._idle: dict[UpstreamConnection, asyncio.TimerHandle] = {}  # the last one is the freshest
        self._busy: set[UpstreamConnection] = set()
        self._addresses: list[Address] = []
        self._resolved_at = 0.0

    async def take(self, connect_timeout: float | None) -> UpstreamConnection:
        """Return an idle connection, or a new one.

        Raises:
            ConnectTimedOut, NotConnected: there is none.
        """
        while self._idle:
            connection, timer = self._idle.popitem()
            timer.cancel()
            if not connection.has_news():
                self._busy.add(connection)
                return connection
            connection.abort()
        connection = await self._connect(connect_timeout)
        self._busy.add(connection)
        return connection

    def give_back(self, connection: UpstreamConnection, *, may_linger: bool = False) -> None:
        """Keep a connection whose exchange is over, if its response was whole; else close it.

        Args:
            connection: taken from here.
            may_linger: its stream has said that it is over: give the response a moment to end as well.
        """
        if connection.is_reusable:
            connection.end_exchange()
            self._busy.discard(connection)
            loop = asyncio.get_running_loop()
            self._idle[connection] = loop.call_later(KEEP_ALIVE_SECONDS, connection.abort)
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

    def _forget(self, connection: UpstreamConnection) -> None:
        self._busy.discard(connection)
        if (timer := self._idle.pop(connection, None)) is not None:
            timer.cancel()

    async def _connect(self, connect_timeout: float | None) -> UpstreamConnection:
        try:
            async with asyncio.timeout(connect_timeout):
                addresses = await self._resolve()
                return await dial(addresses, context=self._context, host=self._host, on_end=self._forget)
        except TimeoutError as error:
            self._addresses = []
            raise ConnectTimedOut("the connection did not stand in time") from error
        except (OSError, ValueError) as error:  # ValueError: a name that cannot be one
            self._addresses = []
            raise NotConnected("no connection") from error

    async def _resolve(self) -> list[Address]:
        now = asyncio.get_running_loop().time()
        if not self._addresses or now - self._resolved_at > ADDRESS_SECONDS:
            self._addresses = await resolve(self._host, self._port)
            self._resolved_at = now
        return self._addresses
