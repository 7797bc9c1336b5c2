"""Named values in the memory of one process."""

from __future__ import annotations

import time
from collections import OrderedDict
from itertools import islice
from typing import Final

__all__ = ["MemoryValues"]

_VALUE_BYTES: Final = 450
"""The memory that a value takes in addition to its own bytes."""


class MemoryValues:
    """Values in the order of their last use, the least recently used first.

    A value is here from `put` until it is dropped or `ttl` seconds after it was last used. An expired value
    is never returned; its memory is freed by a later `put` or `get`, or when the store needs the memory.

    Attributes:
        size: the bytes that all values take.
    """

    __slots__ = ("_values", "size")

    def __init__(self) -> None:
        self.size = 0
        self._values: OrderedDict[str, tuple[bytes, float]] = OrderedDict()

    @staticmethod
    def size_of(value: bytes) -> int:
        """Return the bytes of memory that a value takes."""
        return _VALUE_BYTES + len(value)

    def put(self, name: str, value: bytes, ttl: float) -> None:
        """Keep a value, replacing the value with the same name."""
        now = time.monotonic()
        self.drop(name)
        self._drop_expired(now)
        self._values[name] = value, now + ttl
        self.size += _VALUE_BYTES + len(value)

    def get(self, name: str, ttl: float) -> bytes | None:
        """Return a value and keep it for `ttl` seconds from now; None if it is unknown or expired."""
        found = self._values.get(name)
        if found is None:
            return None
        now = time.monotonic()
        value, expires = found
        if expires <= now:
            self.drop(name)
            return None
        self._values[name] = value, now + ttl
        self._values.move_to_end(name)
        return value

    def drop(self, name: str) -> None:
        """Forget a value."""
        found = self._values.pop(name, None)
        if found is not None:
            self.size -= _VALUE_BYTES + len(found[0])

    def drop_oldest(self) -> bool:
        """Forget the least recently used value; return False if there is no value."""
        if not self._values:
            return False
        self.drop(next(iter(self._values)))
        return True

    def _drop_expired(self, now: float) -> None:
        """Drop expired values: at most two for each new value."""
        for name in [name for name, (_, expires) in islice(self._values.items(), 2) if expires <= now]:
            self.drop(name)
