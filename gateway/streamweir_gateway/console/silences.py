"""Finds silences between the reads of a stream: gaps over a second that are long for this stream."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Final

__all__ = ["Silences"]

_SILENCE_MS: Final = 1000.0
_USUAL_GAPS: Final = 5
"""A silence is at least this many times as long as the usual gap of the stream."""
_REMEMBERED: Final = 200


class Silences:
    """Measures the gaps between the reads of one stream."""

    def __init__(self) -> None:
        self._last: float | None = None
        self._gaps: deque[float] = deque(maxlen=_REMEMBERED)

    def after(self, t: float) -> int | None:
        """Note a read at `t` milliseconds. Return the length of the silence before the read, or None."""
        last, self._last = self._last, t
        if last is None:
            return None
        gap = t - last
        is_long = gap > _SILENCE_MS and (not self._gaps or gap > _USUAL_GAPS * median(self._gaps))
        self._gaps.append(gap)
        return round(gap) if is_long else None
