"""A response whose rest is not needed: if it ends soon, its connection is used again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["Lingering"]

SECONDS: Final = 1.0
"""Seconds that a response may take to end after the end of its stream."""

BYTES: Final = 64 << 10
"""And how much may still come."""


class Lingering:
    """The wait for the end of a response, bounded in time and in bytes.

    Args:
        on_whole: to be called when it has come to its end.
        give_up: called when it takes too long, or too much.
    """

    __slots__ = ("_bytes", "_give_up", "_timer", "on_whole")

    def __init__(self, on_whole: Callable[[], None], give_up: Callable[[], None]) -> None:
        self.on_whole: Final = on_whole
        self._give_up = give_up
        self._bytes = 0
        self._timer = asyncio.get_running_loop().call_later(SECONDS, give_up)

    def note_read(self, size: int) -> None:
        """Note `size` more bytes, behind which more follows."""
        self._bytes += size
        if self._bytes > BYTES:
            self._give_up()

    def stop(self) -> None:
        """Wait no longer."""
        self._timer.cancel()
