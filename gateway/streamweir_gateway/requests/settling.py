"""The interface of objects that store data of an answer before its last bytes are sent."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["Settling"]


class Settling(ABC):
    """Follows the answer to an attempt, and stores data of it.

    Attributes:
        is_due: whether the next bytes would let the client continue, although the data is not stored yet.
            `settle` clears it.
    """

    is_due: bool = False

    @abstractmethod
    async def settle(self) -> None:
        """Store all data that is known. The client gets the end of the stream afterwards. Never raises."""
