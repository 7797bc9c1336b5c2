"""Bounds the bytes of values that are kept until they are complete."""

from __future__ import annotations

from streamweir.errors import LimitExceeded
from streamweir.options.limits import EVENT_BYTES

__all__ = ["Room"]


class Room:
    """Counts the bytes, roughly, that the incomplete calls or items of one stream take together.

    Args:
        of: the kind of the kept values, for the error message.

    Attributes:
        size: the most bytes that may be kept.
    """

    __slots__ = ("_of", "_used", "size")

    def __init__(self, of: str, size: int = EVENT_BYTES) -> None:
        self._of = of
        self._used = 0
        self.size = size

    def take(self, size: int) -> None:
        """Count `size` more kept bytes.

        Raises:
            LimitExceeded: more bytes would be kept than are allowed.
        """
        self._used += size
        if self._used > self.size:
            raise LimitExceeded(f"{self._of} are larger than allowed")

    def give_back(self, size: int) -> None:
        """Note that `size` bytes are no longer kept."""
        self._used -= size
