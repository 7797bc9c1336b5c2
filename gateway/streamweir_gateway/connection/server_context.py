"""What the connections of one server share."""

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
    """One server's application and what it has under way.

    Attributes:
        app: answers the requests.
        shortcut: answers some of them without a task; None: nothing does.
        limits: of each of them.
        observer: gets what is refused before the application sees it.
        connections: all that are open.
        tasks: one for each request that is being answered.
        max_connections: at the same time; None: as many as come.
        idle: those that answer nobody.
        date: of every response.
    """

    app: ASGIApp
    limits: RequestLimits
    observer: Observer
    connections: set[asyncio.Protocol]
    tasks: set[asyncio.Task[None]]
    max_connections: int | None = None
    shortcut: Shortcut | None = None
    idle: IdleConnections = field(default_factory=IdleConnections)
    date: DateHeader = field(default_factory=DateHeader)

    def make_room(self) -> bool:
        """Where there are too many connections, let idle ones give way; False: there are still too many."""
        if self.max_connections is None:
            return True
        while len(self.connections) > self.max_connections:
            if not self.idle.evict():
                return False
        return True
