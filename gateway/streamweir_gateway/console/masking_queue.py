"""Masks the logs of streams bit by bit, beside everything else that the process does.

A slice takes a few milliseconds, and the pause after it is long in comparison. A process with little to do
gives masking 2% of a processor. A busy one gives it 0.25% of the time that it uses itself, so that streams do
not cost more by it, however many there are. Logs that wait longer for it are masked when they are asked for,
or give way to newer ones unmasked.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from streamweir_gateway.console.log_mask import LogMask

__all__ = ["MaskingQueue", "mask_now"]

_SLICE_SECONDS: Final = 0.002
_PAUSES: Final = 49
"""The pause is so many times as long as the slice before it: 2% of a processor."""
_WORK_BETWEEN: Final = 399
"""A busy process masks again once it has used this many times the time of the last slice: 0.25%."""
_BUSY_SHARE: Final = 0.03
"""A process that uses more of a processor is busy."""
_SHORTEST_PAUSE: Final = 0.05
_AT_ONCE: Final = 8 << 10
"""Bytes that are masked without a look at the clock."""


class MaskingQueue:
    """The logs that wait to be masked, the oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[LogMask, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._slice = 0.0
        """The seconds of the last slice."""
        self._ended = time.perf_counter()
        """The end of the last slice."""
        self._used = time.process_time()
        """The processor time of the process at that moment."""

    def add(self, mask: LogMask) -> None:
        """Let a log be masked soon; to be called in the event loop."""
        self._waiting[mask] = None
        if self._timer is None:
            self._wait(_SHORTEST_PAUSE)

    def discard(self, mask: LogMask) -> None:
        """Mask a log no longer: it is not kept."""
        self._waiting.pop(mask, None)

    def _wait(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._work)

    def _work(self) -> None:
        self._timer = None
        if self._may_work:
            self._mask_some()
        if self._waiting:
            self._wait(max(_SHORTEST_PAUSE, self._slice * _PAUSES))

    @property
    def _may_work(self) -> bool:
        """Whether the process is not busy, or has done enough beside masking since the last slice."""
        used = time.process_time() - self._used
        is_busy = used > (time.perf_counter() - self._ended) * _BUSY_SHARE
        return not is_busy or used >= self._slice * _WORK_BETWEEN

    def _mask_some(self) -> None:
        began = now = time.perf_counter()
        while self._waiting and now - began < _SLICE_SECONDS:
            mask = next(iter(self._waiting))
            mask.work(_AT_ONCE)
            if not mask.has_work:
                del self._waiting[mask]
            now = time.perf_counter()
        self._slice, self._ended, self._used = now - began, now, time.process_time()


async def mask_now(mask: LogMask, held_seconds: float) -> None:
    """Mask a log as far as possible, in turns with everything else.

    Args:
        mask: the mask of the log.
        held_seconds: a line that is not complete is waited for so long.
    """
    while mask.has_work:
        mask.work(_AT_ONCE)
        await asyncio.sleep(0)
    since = mask.held_since
    if since is not None and time.monotonic() - since > held_seconds:
        mask.release()
