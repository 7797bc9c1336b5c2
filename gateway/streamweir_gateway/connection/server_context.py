"""The state that all connections of one server share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from starlette.types import ASGIApp

from streamweir_gateway.connection.date_header import DateHeader
from streamweir_gateway.connection.direct_exchange import Shortcut
from streamweir_gateway.connection.idle_connections import IdleConnections
from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.observability.observer import Observer

__all__ = ["ServerContext"]


@dataclass(slots=True, eq=False, kw_only=True)
class ServerContext:
    """The application of one server, and its open connections and requests.

    Attributes:
        app: answers the requests.
        limits: the limits of each request.
        observer: gets a record of each request that is refused before it reaches the application.
        connections: all open connections.
        tasks: one task for each request that is being answered.
        max_connections: the most connections at a time; None: no limit.
        refusal_headers: additional header lines, with their line ends, of refusals that the server makes.
        idle: the idle connections.
        date: makes the `Date` header.
    """

    app: ASGIApp
    limits: RequestLimits
    observer: Observer
    connections: set[asyncio.Protocol]
    tasks: set[asyncio.Task[None]]
    max_connections: int | None = None
    refusal_headers: bytes = b""
    idle: IdleConnections = field(default_factory=IdleConnections)
    date: DateHeader = field(default_factory=DateHeader)
    _loop: asyncio.AbstractEventLoop | None = field(default=None, init=False)

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop of the server; asyncio would make a call of the system each time."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self._loop

    def shortcut(self) -> Shortcut | None:
        """Return the part of the application that answers some requests without a task; None without one."""
        found: Shortcut | None = getattr(self.app, "shortcut", None)
        return found

    def make_room(self) -> bool:
        """Close an idle connection if there are too many; return False if there are still too many."""
        if self.max_connections is None:
            return True
        while len(self.connections) > self.max_connections:
            if not self.idle.evict():
                return False
        return True
