"""Keeps connections between two requests of one conversation (`websocket: {keep: ...}`).

Source: the WebSocket contract, section 2 (`keep`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Hashable
from typing import Final, NamedTuple

from streamweir_gateway.upstream.websocket.connection import WebSocketConnection

__all__ = ["KeptConnections"]

_NORMAL: Final = 1000


class _Kept(NamedTuple):
    connection: WebSocketConnection
    timer: asyncio.TimerHandle


class KeptConnections:
    """Parked connections, the oldest first.

    Args:
        seconds: the time for which a connection is kept.
        most: the most connections to keep; the oldest is closed first.
    """

    def __init__(self, seconds: float, most: int) -> None:
        self._seconds = seconds
        self._most = most
        self._kept: dict[Hashable, _Kept] = {}

    async def take(self, identity: Hashable) -> WebSocketConnection | None:
        """Return the connection of a conversation; None if none is kept on which the upstream answers."""
        kept = self._kept.pop(identity, None)
        if kept is None:
            return None
        kept.timer.cancel()
        try:
            if await kept.connection.answers_ping():
                return kept.connection
        except BaseException:
            kept.connection.close(_NORMAL)
            raise
        kept.connection.close(_NORMAL)
        return None

    def put(self, connection: WebSocketConnection) -> None:
        """Park a connection for the next request of its conversation."""
        identity = connection.conversation
        self._drop(identity)
        while len(self._kept) >= self._most:
            self._drop(next(iter(self._kept)))
        connection.park()
        timer = asyncio.get_running_loop().call_later(self._seconds, self._drop, identity)
        self._kept[identity] = _Kept(connection, timer)

    def forget(self, connection: WebSocketConnection) -> None:
        """Forget a connection that has ended, whether or not it was parked."""
        kept = self._kept.get(connection.conversation)
        if kept is not None and kept.connection is connection:
            kept.timer.cancel()
            del self._kept[connection.conversation]

    def close(self) -> None:
        """Close every connection."""
        for identity in [*self._kept]:
            self._drop(identity)

    def _drop(self, identity: Hashable) -> None:
        kept = self._kept.pop(identity, None)
        if kept is not None:
            kept.timer.cancel()
            kept.connection.close(_NORMAL)
