"""How a connection is closed: in steps, so that the client gets what was written, but not for ever.

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
    """What is done with a connection that will not be used again."""

    HALF_CLOSED = auto()
    """The client has ended its side, as those do that leave; who still reads gets a quick answer."""
    LINGERING = auto()
    """We have ended ours, and what the client still sends is dropped."""
    FLUSHING = auto()
    """It is closed, but for what the client has still to take."""
    RESET = auto()
    """It is closed, whatever the client has not taken."""


_SCHEDULE: Final[Mapping[ClosePhase, tuple[float, ClosePhase]]] = {
    ClosePhase.HALF_CLOSED: (0.25, ClosePhase.FLUSHING),
    ClosePhase.LINGERING: (2.0, ClosePhase.FLUSHING),
    ClosePhase.FLUSHING: (30.0, ClosePhase.RESET),
}
"""How many seconds each phase takes at most, and what comes then."""


class ClosingConnection:
    """A connection from the first step to its end, which is `cancel`."""

    __slots__ = ("_timer", "_transport", "phase")

    def __init__(self, transport: asyncio.Transport, phase: ClosePhase) -> None:
        self._transport = transport
        self._timer: asyncio.TimerHandle | None = None
        self.enter(phase)

    def enter(self, phase: ClosePhase) -> None:
        """Go on to another phase."""
        self.cancel()
        self.phase = phase
        self._begin(phase)
        if phase in _SCHEDULE:
            seconds, next_phase = _SCHEDULE[phase]
            self._timer = asyncio.get_running_loop().call_later(seconds, self.enter, next_phase)

    def cancel(self) -> None:
        """The connection is gone: nothing is left to be done."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin(self, phase: ClosePhase) -> None:
        match phase:
            case ClosePhase.LINGERING:
                with suppress(OSError, RuntimeError):  # the other side was faster
                    self._transport.write_eof()
            case ClosePhase.FLUSHING:
                self._transport.close()
            case ClosePhase.RESET:
                reset(self._transport)
            case ClosePhase.HALF_CLOSED:
                pass
