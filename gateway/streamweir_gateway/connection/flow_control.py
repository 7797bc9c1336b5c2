"""Flow control of a connection: pauses reading and writing, and notices clients that leave meanwhile.

Source: Linux, poll(2) (POLLRDHUP: the peer has ended its side, even if bytes are unread).
"""

from __future__ import annotations

import asyncio
import select
from typing import Final

__all__ = ["FlowControl"]

MAX_DISCARDED: Final = 32 << 20
"""The most bytes that are read and dropped, so that a client that is still sending gets its response.

A client that sends its whole body before it reads gets a refusal only if its body is dropped to the end. To
drop bytes costs no memory and little time, and a connection that closes drops them for two seconds at most.
"""

LOOK_SECONDS: Final = 0.4
"""The seconds between checks whether the client has left, while the connection is not read."""

_GONE: Final = getattr(select, "POLLRDHUP", 0)


class FlowControl:
    """The flow control of one connection.

    Attributes:
        is_reading_paused: whether reading is paused. The connection still closes if the client leaves.
        is_writing_paused: whether writers have to wait, because the client does not take the written bytes.
    """

    __slots__ = ("_discarded", "_timer", "_transport", "_writable", "is_reading_paused", "is_writing_paused")

    def __init__(self, transport: asyncio.Transport) -> None:
        self.is_reading_paused = False
        self.is_writing_paused = False
        self._transport = transport
        self._discarded = 0
        self._timer: asyncio.TimerHandle | None = None  # goes on when reading resumes: pauses are frequent
        self._writable: asyncio.Event | None = None  # made when something waits: it takes 700 bytes

    def pause_reading(self) -> None:
        """Stop reading, so that the client has to wait."""
        if not self.is_reading_paused:
            self.is_reading_paused = True
            self._transport.pause_reading()
            if self._timer is None and _GONE:
                self._look_later()

    def resume_reading(self) -> None:
        """Resume reading."""
        if self.is_reading_paused:
            self.is_reading_paused = False
            self._transport.resume_reading()

    def discard(self, size: int) -> None:
        """Count dropped bytes; pause reading if they exceed `MAX_DISCARDED`."""
        self._discarded += size
        if self._discarded > MAX_DISCARDED:
            self.pause_reading()

    def pause_writing(self) -> None:
        """Make writers wait."""
        self.is_writing_paused = True

    def resume_writing(self) -> None:
        """Wake the writers that wait."""
        self.is_writing_paused = False
        if self._writable is not None:
            self._writable.set()
            self._writable = None

    async def until_writable(self) -> None:
        """Wait until writing is possible."""
        while self.is_writing_paused:
            if self._writable is None:
                self._writable = asyncio.Event()
            await self._writable.wait()

    def close(self) -> None:
        """End all waiting, because the connection is gone."""
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
    """Return whether the peer has ended its side or reset the connection, even if some bytes are unread."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), _GONE)
    return bool(poll.poll(0))
