"""A bound on the bytes of values that wait until they are whole."""

from __future__ import annotations

from streamweir.errors import LimitExceeded
from streamweir.options.limits import EVENT_BYTES

__all__ = ["Room"]


class Room:
    """The bytes that calls or items of one stream take together before they are whole, about.

    Args:
        of: the kind of the values that are kept, for the words of the error.

    Attributes:
        size: how many bytes there may be.
    """

    __slots__ = ("_of", "_used", "size")

    def __init__(self, of: str, size: int = EVENT_BYTES) -> None:
        self._of = of
        self._used = 0
        self.size = size

    def take(self, size: int) -> None:
        """Keep `size` bytes more.

        Raises:
            LimitExceeded: they are more than there is room for.
        """
        self._used += size
        if self._used > self.size:
            raise LimitExceeded(f"{self._of} are larger than allowed")

    def give_back(self, size: int) -> None:
        """Keep `size` bytes no longer."""
        self._used -= size
