"""Closes a connection in steps, so that the client gets the written bytes within a bounded time.

Source: RFC 9112, section 9.6: a close while the client is sending destroys the answer on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum, auto
from typing import Final

from streamweir_gateway.connection.sending_queue import reset

__all__ = ["ClosePhase", "ClosingConnection"]


class ClosePhase(Enum):
    """The phases of closing a connection that will not be used again."""

    HALF_CLOSED = auto()
    """The client has closed its side. It has probably left, but it may still read a response."""
    LINGERING = auto()
    """The server has closed its side. Bytes that the client still sends are dropped."""
    FLUSHING = auto()
    """The connection closes when the client has taken the written bytes."""
    RESET = auto()
    """The connection closes, and bytes that the client has not taken are dropped."""


_SCHEDULE: Final[Mapping[ClosePhase, tuple[float, ClosePhase]]] = {
    ClosePhase.HALF_CLOSED: (0.25, ClosePhase.FLUSHING),
    ClosePhase.LINGERING: (2.0, ClosePhase.FLUSHING),
    ClosePhase.FLUSHING: (30.0, ClosePhase.RESET),
}
"""For each phase: the longest time that it takes, in seconds, and the next phase."""


class ClosingConnection:
    """Closes a connection, from its first phase to `cancel`."""

    __slots__ = ("_timer", "_transport", "phase")

    def __init__(self, transport: asyncio.Transport, phase: ClosePhase) -> None:
        self._transport = transport
        self._timer: asyncio.TimerHandle | None = None
        self.enter(phase)

    def enter(self, phase: ClosePhase) -> None:
        """Enter a phase, and start its timer."""
        self.cancel()
        self.phase = phase
        self._begin(phase)
        if phase in _SCHEDULE:
            seconds, next_phase = _SCHEDULE[phase]
            self._timer = asyncio.get_running_loop().call_later(seconds, self.enter, next_phase)

    def cancel(self) -> None:
        """Stop the timer, because the connection is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self, phase: ClosePhase) -> None:
        match phase:
            case ClosePhase.LINGERING:
                with suppress(OSError, RuntimeError):  # the client has already closed
                    self._transport.write_eof()
            case ClosePhase.FLUSHING:
                self._transport.close()
            case ClosePhase.RESET:
                reset(self._transport)
            case ClosePhase.HALF_CLOSED:
                pass
