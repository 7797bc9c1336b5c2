"""One timer of an asyncio event loop for the clocks of all of its streams.

    state      entered by                                   next state
    ────────   ──────────────────────────────────────────   ─────────────────────────────────────────────
    unwatched  construction, `forget`, a `look` that        watched
               returns infinity
    watched    `look_soon`, `look_at`, a `look` that        looking, when its tick has come; unwatched
               returns a time
    looking    the sweep of its tick                        watched or unwatched, by the result of `look`,
                                                            unless it asks for another look itself

Times are rounded up to ticks of 10 ms, and the loop has one timer, for the earliest tick. A short stream is
over before its first tick, so that its clock is never looked at. The first ticks of streams that begin in the
same tenth of a second are the same, so that short streams set few timers.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextvars import Context
from functools import partial
from heapq import heappop, heappush
from typing import Final
from weakref import ReferenceType

__all__ = ["TICK_SECONDS", "ClockSweep", "Watched", "sweep_of"]

TICK_SECONDS: Final = 0.01
"""The length of a tick, and so the longest delay of a look."""

_SOON_SECONDS: Final = 1.0
"""The longest time until the first look. Most answers are over before it."""

_FIRST_TICKS: Final = 10
"""The ticks from one time of first looks to the next, if nothing becomes due within `_SOON_SECONDS`."""

_FARTHEST_SECONDS: Final = 60.0
"""The longest time between two looks, which bounds the number of ticks that are kept."""

_TICKS: Final = 1 / TICK_SECONDS


class Watched:
    """An object whose clock a sweep looks at.

    Attributes:
        tick: the tick of the next look at the clock; None: the object is not watched. Only the sweep sets
            this.
    """

    __slots__ = ("tick",)

    def __init__(self) -> None:
        self.tick: int | None = None

    def look(self, now: float) -> float:
        """Act on the clock; return the time of the next look at it, or infinity for none.

        Args:
            now: `time.monotonic()`; the result is on the same scale.
        """
        raise NotImplementedError


class ClockSweep:
    """Looks at the clocks of one event loop.

    Args:
        loop: the running loop.
    """

    __slots__ = ("__weakref__", "_armed", "_loop", "_ticks", "_timer", "_watched")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._watched: dict[int, set[Watched]] = {}
        """The objects of each tick. An empty set stays until its tick has passed."""
        self._ticks: list[int] = []
        """A heap of the keys of `_watched`."""
        self._armed: float = math.inf
        """The tick that the timer is set for, or that is being swept; infinity: neither."""
        self._timer: asyncio.TimerHandle | None = None

    def look_soon(self, watched: Watched, within: float = 0.0) -> None:
        """Look at the clock of an object.

        Args:
            watched: the object.
            within: seconds in which nothing can become due. The look comes within a tick after them, or
                in the last tenth of a second from now, whichever is earlier.
        """
        if within < _SOON_SECONDS:
            tick = int((time.monotonic() + within) * _TICKS) + 1
        else:
            tick = int((time.monotonic() + _SOON_SECONDS) * _TICKS) // _FIRST_TICKS * _FIRST_TICKS
        if watched.tick is None:
            self._put(watched, tick)
        elif tick < watched.tick:
            self.forget(watched)
            self._put(watched, tick)

    def look_at(self, watched: Watched, when: float) -> None:
        """Look at the clock of an object at a time of `time.monotonic()`, which replaces an earlier time."""
        self.forget(watched)
        self._put(watched, int(when * _TICKS) + 1)

    def forget(self, watched: Watched) -> None:
        """Stop looking at the clock of an object, until it is registered again."""
        tick, watched.tick = watched.tick, None
        if tick is not None and (there := self._watched.get(tick)) is not None:
            there.discard(watched)

    def _put(self, watched: Watched, tick: int) -> None:
        watched.tick = tick
        there = self._watched.get(tick)
        if there is not None:
            there.add(watched)
            return
        self._watched[tick] = {watched}
        heappush(self._ticks, tick)
        if tick < self._armed:
            self._arm(tick)

    def _arm(self, tick: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._armed = tick
        seconds = max(0.0, tick / _TICKS - time.monotonic())
        self._timer = self._loop.call_later(seconds, self._sweep, context=Context())

    def _sweep(self) -> None:
        """Look at all objects whose tick has come."""
        self._timer, ticks, now = None, self._ticks, time.monotonic()
        last = max(int(self._armed), int(now * _TICKS))
        while ticks and ticks[0] <= last:
            tick = heappop(ticks)
            for watched in self._watched.pop(tick):
                if watched.tick == tick:  # not forgotten by the look at another one
                    watched.tick = None
                    self._look(watched, now, last + 1)
        self._armed = math.inf
        if ticks:
            self._arm(ticks[0])

    def _look(self, watched: Watched, now: float, earliest: int) -> None:
        """Look at the clock of an object, and put the object into its next tick."""
        try:
            when = watched.look(now)
        except Exception as error:
            when = math.inf
            report = {"message": "a clock could not be looked at", "exception": error}
            self._loop.call_exception_handler(report)
        if watched.tick is None and when < math.inf:
            self._put(watched, max(earliest, int(min(when, now + _FARTHEST_SECONDS) * _TICKS) + 1))


_SWEEPS: Final[dict[int, ReferenceType[ClockSweep]]] = {}
"""The sweep of each loop, by the id of the loop. The timer and the watched objects keep the sweep alive, so
that no loop is kept; a sweep keeps its loop, so that the id is not used again before its entry is gone.
"""


def sweep_of(loop: asyncio.AbstractEventLoop) -> ClockSweep:
    """Return the sweep of a running loop; all streams of the loop share it."""
    known = _SWEEPS.get(id(loop))
    sweep = None if known is None else known()
    if sweep is None:
        sweep = ClockSweep(loop)
        _SWEEPS[id(loop)] = ReferenceType(sweep, partial(_SWEEPS.pop, id(loop)))
    return sweep
