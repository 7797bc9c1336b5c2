"""Masks the logs of streams in short slices, so that the process can do its other work in between.

A slice takes a few milliseconds, and a much longer pause follows it. A process with little to do spends 2% of
a processor on masking. A busy process spends 0.1% of its own processor time, so that masking does not slow
streams down, even if there are many. A log whose turn has not come is masked when the log is asked for, or is
dropped unmasked to make room for newer logs.
"""

from __future__ import annotations

import asyncio
import time
from typing import Final

from streamweir_gateway.console.capture_source import Masking

__all__ = ["MaskingQueue", "mask_now"]

_SLICE_SECONDS: Final = 0.002
_PAUSES: Final = 49
"""The pause after a slice is this many times as long as the slice: masking takes 2% of a processor."""
_WORK_BETWEEN: Final = 999
"""A busy process works this many times as long as the last slice before it masks again: 0.1%."""
_BUSY_SHARE: Final = 0.03
"""A process that uses a larger share of a processor than this is busy."""
_SHORTEST_PAUSE: Final = 0.05
NEXT_TEXT_SECONDS: Final = 0.3
"""The seconds for which a complete line is held back, because a secret may go on in the next text."""
_AT_ONCE: Final = 8 << 10
"""The bytes that are masked between two looks at the clock."""


class MaskingQueue:
    """The logs that wait to be masked, the oldest first."""

    def __init__(self) -> None:
        self._waiting: dict[Masking, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._slice = 0.0
        """The duration of the last slice in seconds."""
        self._ended = time.perf_counter()
        """The time at which the last slice ended, by `time.perf_counter()`."""
        self._used = time.process_time()
        """The processor time of the process when the last slice ended."""

    def add(self, mask: Masking) -> None:
        """Queue a log to be masked soon. Must be called in the event loop."""
        self._waiting[mask] = None
        if self._timer is None:
            self._wait(_SHORTEST_PAUSE)

    def discard(self, mask: Masking) -> None:
        """Remove a log from the queue, because the log is not kept."""
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
        """Whether the process is not busy, or has done enough other work since the last slice."""
        used = time.process_time() - self._used
        is_busy = used > (time.perf_counter() - self._ended) * _BUSY_SHARE
        return not is_busy or used >= self._slice * _WORK_BETWEEN

    def _mask_some(self) -> None:
        began = now = time.perf_counter()
        while self._waiting and now - began < _SLICE_SECONDS:
            mask = next(iter(self._waiting))
            mask.work(_AT_ONCE)
            if not mask.has_work:
                self.discard(mask)
            now = time.perf_counter()
        self._slice, self._ended, self._used = now - began, now, time.process_time()


async def mask_now(mask: Masking, held_seconds: float, most_seconds: float) -> None:
    """Mask a log as far as possible, and let other tasks run in between.

    Args:
        mask: the mask of the log.
        held_seconds: the seconds for which the rest of a line is waited for. The next piece of a text, in a
            line of its own, is waited for `NEXT_TEXT_SECONDS`.
        most_seconds: the seconds after which the rest is left to the next call.
    """
    until = time.monotonic() + most_seconds
    while mask.has_work and time.monotonic() < until:
        mask.work(_AT_ONCE)
        await asyncio.sleep(0)
    since = mask.held_since
    seconds = held_seconds if mask.is_within_line else NEXT_TEXT_SECONDS
    if since is not None and time.monotonic() - since > seconds:
        mask.release()
