"""The connections of a server that answer nobody, the one that has waited longest first.

They are closed after a while, or sooner where a new connection needs the room.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from itertools import takewhile
from typing import Final, Protocol

__all__ = ["KEEP_ALIVE_SECONDS", "IdleConnection", "IdleConnections"]

KEEP_ALIVE_SECONDS: Final = 75.0
"""Longer than the proxies in front keep an idle connection, so that they are the ones to close it."""


class IdleConnection(Protocol):
    """What can be idle."""

    def expire(self) -> None:
        """Close, unless something has come."""

    def give_way(self) -> None:
        """Close at once."""


class IdleConnections:
    """One timer for all of them: one each would cost every request more than its parsing."""

    __slots__ = ("_since", "_timer")

    def __init__(self) -> None:
        self._since: OrderedDict[IdleConnection, float] = OrderedDict()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, connection: IdleConnection) -> None:
        """It waits from here on, for a request or for its end."""
        loop = asyncio.get_running_loop()
        self._since[connection] = loop.time()
        self._since.move_to_end(connection)
        if self._timer is None:
            self._timer = loop.call_later(KEEP_ALIVE_SECONDS, self._look)

    def discard(self, connection: IdleConnection) -> None:
        """It has got a request, or is gone."""
        self._since.pop(connection, None)

    def evict(self) -> bool:
        """Close the one that has waited longest; return whether there was one."""
        if not self._since:
            return False
        connection, _ = self._since.popitem(last=False)
        connection.give_way()
        return True

    def _look(self) -> None:
        """Close those that have waited too long."""
        loop = asyncio.get_running_loop()
        latest = loop.time() - KEEP_ALIVE_SECONDS
        self._timer = None
        for connection, _ in list(takewhile(lambda entry: entry[1] <= latest, self._since.items())):
            self.discard(connection)
            connection.expire()
        for since in self._since.values():
            self._timer = loop.call_at(since + KEEP_ALIVE_SECONDS, self._look)
            return
