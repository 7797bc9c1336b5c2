"""The streams under way in a process."""

from __future__ import annotations

from typing import Protocol

from streamweir.errors import error_info
from streamweir_gateway.runs.run_supervisor import Stop

__all__ = ["OpenStreams"]


class UnderWay(Protocol):
    """What watches over a stream."""

    def leave_upstream(self, stop: Stop) -> None:
        """End the stream properly."""


class OpenStreams:
    """The streams under way, so that they can be ended when the gateway stops.

    Attributes:
        draining: no new requests are taken.
    """

    def __init__(self) -> None:
        self.draining = False
        self._running: set[UnderWay] = set()

    def __len__(self) -> int:
        return len(self._running)

    def add(self, supervisor: UnderWay) -> None:
        """Begin to count a stream."""
        self._running.add(supervisor)

    def discard(self, supervisor: UnderWay) -> None:
        """The stream is over."""
        self._running.discard(supervisor)

    def refuse(self) -> None:
        """Take no new requests."""
        self.draining = True

    def drain(self) -> None:
        """End every stream under way, properly."""
        self.draining = True
        for supervisor in tuple(self._running):
            supervisor.leave_upstream(error_info("GATEWAY_DRAINING"))
