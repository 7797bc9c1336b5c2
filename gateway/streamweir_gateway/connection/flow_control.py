"""When a connection is read, when writing to it has to wait, and who has left while it is not read.

Source: Linux, poll(2) (POLLRDHUP: the other side has ended its own, whatever of it is still unread).
"""

from __future__ import annotations

import asyncio
import select
from typing import Final

__all__ = ["FlowControl"]

MAX_DISCARDED: Final = 1 << 20
"""Bytes that are read to no end, so that a client sees the answer which stands behind what it sends."""

LOOK_SECONDS: Final = 0.4
"""How often it is looked whether the client is still there, while nothing is read that would show it."""

_GONE: Final = getattr(select, "POLLRDHUP", 0)


class FlowControl:
    """Of one connection.

    Attributes:
        is_reading_paused: nothing is read. Of a client that leaves the connection is closed all the same.
        is_writing_paused: the client does not take what was written.
    """

    __slots__ = ("_discarded", "_timer", "_transport", "_writable", "is_reading_paused", "is_writing_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_reading_paused = False
        self.is_writing_paused = False
        self._transport = transport
        self._discarded = 0
        self._timer: asyncio.TimerHandle | None = None  # runs on when it is read again: pauses are many
        self._writable: asyncio.Event | None = None  # made for who waits: it takes 700 bytes

    def pause_reading(self) -> None:
        """Leave what comes to the system, and so to the client."""
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self._transport.pause_reading()
            if self._timer is None and _GONE:
                self._look_later()

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

    def close(self) -> None:
        """The connection is gone: nobody waits for it any longer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.resume_writing()

    def _look_later(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self.is_reading_paused or self._transport.is_closing():
            return
        if _has_left(self._transport):
            self._transport.abort()
        else:
            self._look_later()


def _has_left(transport: asyncio.Transport) -> bool:
    """Return whether the other side has ended its own or reset the connection; what it sent may be unread."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), _GONE)
    return bool(poll.poll(0))
