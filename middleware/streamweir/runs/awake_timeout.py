"""A time limit that counts only while this process runs.

After a process was suspended, or its event loop was busy for long, all timers are due before the loop has
read the answers that arrived meanwhile. A plain timeout would then treat the other side as silent.
"""

from __future__ import annotations

import asyncio
import time
from types import TracebackType
from typing import Final

__all__ = ["AwakeTimeout"]

_TICKS: Final = 8


class AwakeTimeout:
    """A timeout like `asyncio.timeout`, but counted in ticks: a suspension of the process counts as one tick,
    however long it is.

    Between two ticks the event loop reads the bytes that have arrived. An object is used once.

    Args:
        seconds: the time until `TimeoutError`.

    Attributes:
        spent: the seconds that counted, set when the block is left.
    """

    __slots__ = ("_began", "_left", "_limit", "_loop", "_tick", "_timer", "spent")

    def __init__(self, seconds: float) -> None:
        self.spent = 0.0
        self._tick: Final = seconds / _TICKS
        self._left = _TICKS
        self._limit: Final = asyncio.timeout(None)
        self._loop: Final = asyncio.get_running_loop()

    async def __aenter__(self) -> AwakeTimeout:
        self._began = time.monotonic()
        self._timer = self._loop.call_later(self._tick, self._count)
        await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._timer.cancel()
        counted = (_TICKS - self._left + 1) * self._tick
        self.spent = min(time.monotonic() - self._began, counted)
        await self._limit.__aexit__(kind, error, traceback)

    def _count(self) -> None:
        self._left -= 1
        if self._left:
            self._timer = self._loop.call_later(self._tick, self._count)
        else:
            self._limit.reschedule(self._loop.time())
