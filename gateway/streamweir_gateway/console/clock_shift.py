"""Turns moments of the monotonic clock into Unix times. A moment is the same whenever it is asked for.

The two clocks are read one after the other, so that their difference varies by microseconds.
"""

from __future__ import annotations

import time
from typing import Final

__all__ = ["clock_shift"]

_VARIATION: Final = 0.05
"""The seconds by which the measured difference may vary. A larger change is one of the system's clock."""


class _ClockShift:
    """Remembers the difference between the clocks until the system's clock is set."""

    def __init__(self) -> None:
        self._seconds = self._measured()

    def __call__(self) -> float:
        """Return the difference between the Unix time and `time.monotonic()`, in seconds."""
        measured = self._measured()
        if abs(measured - self._seconds) > _VARIATION:
            self._seconds = measured
        return self._seconds

    def _measured(self) -> float:
        return time.time() - time.monotonic()


clock_shift: Final = _ClockShift()
