"""A tap with work to do at the end of an attempt, before the last bytes are sent."""

from __future__ import annotations

from abc import abstractmethod

from streamweir.translation.sink import EventTap, ListeningSink

__all__ = ["SettlingTap"]


class SettlingTap(EventTap, ListeningSink):
    """Follows the answer to an attempt, and stores something of it.

    Attributes:
        is_due: a client could go on by what it gets next, which is not stored yet. `settle` clears it.
    """

    is_due: bool = False

    @abstractmethod
    async def settle(self) -> None:
        """Store all that is known. The client gets the end of the stream after this returns. Never raises."""
