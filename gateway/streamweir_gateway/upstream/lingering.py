"""Waits for the end of a response that is not needed any more, so that its connection can be reused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

__all__ = ["Lingering"]

SECONDS: Final = 1.0
"""The seconds that a response may take to end after the end of its stream."""

BYTES: Final = 64 << 10
"""The most bytes that may still arrive in that time."""


class Lingering:
    """The wait for the end of a response, bounded in time and in bytes.

    Args:
        on_whole: called by the owner when the response has ended.
        give_up: called when the response takes too long or has too many bytes.
    """

    __slots__ = ("_bytes", "_give_up", "_timer", "on_whole")

    def __init__(self, on_whole: Callable[[], None], give_up: Callable[[], None]) -> None:
        self.on_whole: Final = on_whole
        self._give_up = give_up
        self._bytes = 0
        self._timer = asyncio.get_running_loop().call_later(SECONDS, give_up)

    def note_read(self, size: int) -> None:
        """Count `size` more bytes, after which the response has not ended yet."""
        self._bytes += size
        if self._bytes > BYTES:
            self._give_up()

    def stop(self) -> None:
        """Stop waiting."""
        self._timer.cancel()
