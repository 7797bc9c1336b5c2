"""The idle connections of a server, the longest idle first.

Idle connections are closed after `KEEP_ALIVE_SECONDS`, or earlier if a new connection needs the place.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from itertools import takewhile
from typing import Final, Protocol

__all__ = ["KEEP_ALIVE_SECONDS", "IdleConnection", "IdleConnections"]

KEEP_ALIVE_SECONDS: Final = 75.0
"""The seconds until an idle connection is closed. Proxies in front use less, so that they close first."""


class IdleConnection(Protocol):
    """A connection that can be idle."""

    def expire(self) -> None:
        """Close the connection, unless bytes have arrived."""

    def give_way(self) -> bool:
        """Close the connection at once; return False if it is not idle."""


class IdleConnections:
    """All idle connections, with one timer: a timer for each would cost more than parsing a request.

    A connection that gets a request stays here until it is looked at: most requests are over before that.
    """

    __slots__ = ("_since", "_timer")

    def __init__(self) -> None:
        self._since: OrderedDict[IdleConnection, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: IdleConnection) -> None:
        """Add a connection, which is idle from now on."""
        self._since[connection] = time.monotonic()
        self._since.move_to_end(connection)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(KEEP_ALIVE_SECONDS, self._look)

    def discard(self, connection: IdleConnection) -> None:
        """Remove a connection that is gone."""
        self._since.pop(connection, None)

    def evict(self) -> bool:
        """Close the connection that has been idle longest; return False if no connection is idle."""
        while self._since:
            connection, _ = self._since.popitem(last=False)
            if connection.give_way():
                return True
        return False

    def _look(self) -> None:
        """Close the connections that have been idle for too long."""
        now = time.monotonic()
        self._timer = None
        for connection, _ in list(
            takewhile(lambda entry: entry[1] <= now - KEEP_ALIVE_SECONDS, self._since.items())
        ):
            self.discard(connection)
            connection.expire()
        for since in self._since.values():
            seconds = since + KEEP_ALIVE_SECONDS - now
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)
            return
