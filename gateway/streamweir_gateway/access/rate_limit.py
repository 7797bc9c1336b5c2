"""So many requests in so much time, per client.

A sliding window of two counters. A client's first request opens a window; in the window after it the first
one's requests weigh as much as is left of the time in which they still matter. So a client costs three
numbers, however many requests it may make, and no window lets in more than the limit but for the assumption
that the requests of the one before came evenly.

What is refused does not count: a client that does not stop asking gets its share all the same.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from streamweir.http.refusals import Refusal
from streamweir_gateway.config import RateLimit

__all__ = ["MAX_CLIENTS", "RateLimiter", "rate_limited"]

MAX_CLIENTS: Final = 50_000
"""Of one limiter, about 300 bytes each; above it the oldest window is forgotten."""


class RateLimiter:
    """Counts the requests of clients.

    Attributes:
        limit: how many requests in how many seconds.

    Args:
        limit: how many requests in how many seconds.
        clock: seconds that only ever grow.
        max_clients: how many clients are remembered at a time.
    """

    def __init__(
        self,
        limit: RateLimit,
        *,
        clock: Callable[[], float] = time.monotonic,
        max_clients: int = MAX_CLIENTS,
    ) -> None:
        self.limit = limit
        self._requests = limit.requests
        self._seconds = limit.seconds
        self._clock = clock
        self._max_clients = max_clients
        self._windows: OrderedDict[str, _Window] = OrderedDict()  # nearly in the order of their beginnings

    def __len__(self) -> int:
        return len(self._windows)

    def wait(self, client: str) -> float:
        """Count a request and return 0; or do not count it and return the seconds until one may come."""
        now = self._clock()
        window = self._window(client, now)
        covered = 1 - (now - window.began) / self._seconds  # of the window before, by the sliding one
        room = self._requests - window.count
        if room > 0 and window.before * covered <= room:
            window.count += 1
            return 0.0
        return self._until_free(window) - now

    def take_back(self, client: str) -> None:
        """Do not count the request that was counted last: something else refuses it."""
        window = self._windows.get(client)
        if window is not None and window.count:
            window.count -= 1

    def _window(self, client: str, now: float) -> _Window:
        window = self._windows.get(client)
        if window is None or now >= window.began + 2 * self._seconds:
            window = _Window(now, before=0)
        elif now >= window.began + self._seconds:
            window = _Window(window.began + self._seconds, before=window.count)
        else:
            return window
        self._windows[client] = window
        self._windows.move_to_end(client)
        self._forget(now)
        return window

    def _forget(self, now: float) -> None:
        """Drop windows that no longer count: two for each new one, so that none stays for long."""
        for _ in range(2):
            oldest = next(iter(self._windows.values()))
            if now < oldest.began + 2 * self._seconds and len(self._windows) <= self._max_clients:
                return
            self._windows.popitem(last=False)

    def _until_free(self, window: _Window) -> float:
        """Return when the next request can be let in, if none is before."""
        room = self._requests - window.count
        in_the_way = 1 - room / window.before if room > 0 else 1.0
        return window.began + self._seconds * in_the_way


def rate_limited(seconds: float) -> Refusal:
    """Return the refusal of a request that may come again in so many seconds."""
    return Refusal("RATE_LIMITED", headers={"Retry-After": str(math.ceil(seconds))})


@dataclass(slots=True, eq=False)
class _Window:
    """The requests of one client in one window of time."""

    began: float
    before: int
    """How many requests there were in the window before."""
    count: int = 0
