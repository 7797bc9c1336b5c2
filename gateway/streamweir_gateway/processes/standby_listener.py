"""Accepts the connections that the workers before this one leave waiting."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Final

__all__ = ["StandbyListener"]

LEFT_WAITING_SECONDS: Final = 0.01
"""The seconds that a connection waits before a standby worker accepts it."""

_MOST_AT_ONCE: Final = 100
"""The most connections that are accepted in one turn of the loop."""


class StandbyListener:
    """Listens on a socket that another process listens on too, and accepts what that process does not.

    Workers that share a processor do the same work with less time if one of them has all connections: it
    finds its caches warm, and more events whenever it wakes up. The others take over while it is busy for
    long, hangs, or is started again.

    Args:
        listener: the socket, which listens. It does not block from now on.
        protocol: makes the protocol object of a connection.
    """

    def __init__(self, listener: socket.socket, protocol: Callable[[], asyncio.Protocol]) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._later: asyncio.TimerHandle | None = None
        self._accepted: set[asyncio.Task[None]] = set()
        self._loop.add_reader(listener, self._wait)

    def close(self) -> None:
        """Accept no more connections. The socket stays open. A second call does nothing."""
        self._loop.remove_reader(self._listener)
        if self._later is not None:
            self._later.cancel()

    def _wait(self) -> None:
        """Leave the connection that has arrived to the other process for a moment."""
        self._loop.remove_reader(self._listener)
        self._later = self._loop.call_later(LEFT_WAITING_SECONDS, self._accept)

    def _accept(self) -> None:
        with suppress(OSError):  # nothing waits, or the system allows no more files
            for _ in range(_MOST_AT_ONCE):
                connection, _ = self._listener.accept()
                task = self._loop.create_task(self._connect(connection))
                self._accepted.add(task)
                task.add_done_callback(self._accepted.discard)
        self._loop.add_reader(self._listener, self._wait)

    async def _connect(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self._loop.connect_accepted_socket(self._protocol, connection)
        except OSError:  # the client is gone already
            connection.close()
