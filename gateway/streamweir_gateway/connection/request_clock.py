"""Bounds the time in which a client sends a request: headers in a fixed time, the body at a least rate.

Source: the configuration contract (`server.header_time`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from streamweir_gateway.connection.flow_control import FlowControl
from streamweir_gateway.connection.limits import RequestLimits
from streamweir_gateway.connection.request_parser import RequestParser

__all__ = ["RequestClock"]

BODY_BYTES_PER_SECOND: Final = 500
"""The least bytes per second at which a body has to arrive, after `header_time` has been added."""


class RequestClock:
    """The clock of one connection, which runs while a request is received.

    Args:
        overdue: called when the request takes too long.
    """

    __slots__ = ("_began", "_flow", "_limits", "_loop", "_overdue", "_parser", "_timer")

    def __init__(
        self, limits: RequestLimits, parser: RequestParser, flow: FlowControl, overdue: Callable[[], None]
    ) -> None:
        self._limits = limits
        self._parser = parser
        self._flow = flow
        self._overdue = overdue
        self._loop = asyncio.get_running_loop()
        self._began = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def restart(self) -> None:
        """Start the clock again for the next part of the request, if the clock runs."""
        self._began = self._loop.time()

    def start(self) -> None:
        """Start the clock, unless it runs."""
        if self._timer is None:
            self.restart()
            self._set_timer()

    def stop(self) -> None:
        """Stop the clock, because the request is complete or is not waited for any longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self) -> None:
        self._timer = self._loop.call_at(self._due(), self._look)

    def _due(self) -> float:
        return self._began + self._limits.header_time + self._parser.body_bytes / BODY_BYTES_PER_SECOND

    def _look(self) -> None:
        self._timer = None
        if self._flow.is_reading_paused:  # the gateway paused reading
            self.restart()
        if self._loop.time() < self._due():
            self._set_timer()
        else:
            self._overdue()
