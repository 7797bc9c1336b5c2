"""The interface between a delivery and the stream that feeds it."""

from __future__ import annotations

from typing import Protocol

from streamweir.translation.clock import Due

__all__ = ["Source"]


class Source(Protocol):
    """Feeds one delivery: a live run, a stored run, or the events of an application.

    A source writes to the sink of its delivery. After each part it calls `Delivery.send_at_once`, or awaits
    `Delivery.send`, so that one part is one send. A part is one read of the source. A read that takes longer
    than a few milliseconds to translate is split into several parts, and the event loop runs between them.
    """

    def lose_client(self) -> None:
        """Continue without the client if the source is allowed to; otherwise end."""

    def abandon(self) -> None:
        """End now. Called if the client was cut off, or has left twice."""

    def run_out(self, due: Due) -> None:
        """End because the clock's entry `due` has run out: a timeout of the source, or `settled`.

        Only called if the clock of the delivery has a source.
        """
