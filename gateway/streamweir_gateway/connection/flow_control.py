"""When a connection is read, and when writing to it has to wait."""

from __future__ import annotations

import asyncio
from typing import Final

__all__ = ["FlowControl"]

MAX_DISCARDED: Final = 1 << 20
"""Bytes that are read to no end, so that a client sees the answer which stands behind what it sends."""


class FlowControl:
    """Of one connection.

    Attributes:
        is_reading_paused: nothing is read; the client's leaving is not noticed either.
        is_writing_paused: the client does not take what was written.
    """

    __slots__ = ("_discarded", "_transport", "_writable", "is_reading_paused", "is_writing_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_reading_paused = False
        self.is_writing_paused = False
        self._transport = transport
        self._discarded = 0
        self._writable: asyncio.Event | None = None  # made for who waits: it takes 700 bytes

    def pause_reading(self) -> None:
        """Leave what comes to the system, and so to the client."""
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self.is_reading_paused:
            self.is_reading_paused = False
            self._transport.resume_reading()

    def discard(self, size: int) -> None:
        """So much was read that nobody takes: do not go on without a bound."""
        self._discarded += size
        if self._discarded > MAX_DISCARDED:
            self.pause_reading()

    def pause_writing(self) -> None:
        """Let who writes wait."""
        self.is_writing_paused = True

    def resume_writing(self) -> None:
        """Let who waits go on."""
        self.is_writing_paused = False
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def until_writable(self) -> None:
        """Wait until writing need not wait."""
        while self.is_writing_paused:
            if self._writable is None:
                self._writable = asyncio.Event()
            await self._writable.wait()
