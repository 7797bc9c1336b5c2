"""A rate limit per client: a sliding window made of two counters.

A client's first request opens a window. In the next window, the requests of the previous window count in
proportion to the part of that window that is still within the limit's time. So each client takes three
numbers of memory. The result is exact if the requests of the previous window were evenly distributed.

Refused requests do not count: a client that keeps asking still gets its share.
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
"""The most clients of one limiter, about 300 bytes each. If there are more, the oldest window is dropped."""


class RateLimiter:
    """Counts the requests of clients.

    Attributes:
        limit: the number of requests in a number of seconds.

    Args:
        limit: the number of requests in a number of seconds.
        clock: returns seconds of a monotonic clock.
        max_clients: the most clients that are remembered.
    """

    def __init__(
        self, limit: RateLimit, *, clock: Callable[[], float] = time.monotonic, max_clients: int = MAX_CLIENTS
    ) -> None:
        self.limit = limit
        self._requests = limit.requests
        self._seconds = limit.seconds
        self._clock = clock
        self._max_clients = max_clients
        self._windows: OrderedDict[str, _Window] = OrderedDict()  # roughly in the order in which they began

    def __len__(self) -> int:
        return len(self._windows)

    def wait(self, client: str) -> float:
        """Count a request and return 0; over the limit, return the seconds until a request is allowed."""
        now = self._clock()
        window = self._window(client, now)
        # the part of the previous window that still counts
        covered = 1 - (now - window.began) / self._seconds
        room = self._requests - window.count
        if room > 0 and window.before * covered <= room:
            window.count += 1
            return 0.0
        return self._until_free(window) - now

    def take_back(self, client: str) -> None:
        """Undo the last count, because another limit refuses the request."""
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
        """Drop two expired windows for each new one, so that all expired windows are soon gone."""
        for _ in range(2):
            oldest = next(iter(self._windows.values()))
            if now < oldest.began + 2 * self._seconds and len(self._windows) <= self._max_clients:
                return
            self._windows.popitem(last=False)

    def _until_free(self, window: _Window) -> float:
        """Return the time at which the next request is allowed, if no other request comes first."""
        room = self._requests - window.count
        in_the_way = 1 - room / window.before if room > 0 else 1.0
        return window.began + self._seconds * in_the_way


def rate_limited(seconds: float) -> Refusal:
    """Return the refusal with a Retry-After of `seconds`."""
    return Refusal("RATE_LIMITED", headers={"Retry-After": str(math.ceil(seconds))})


@dataclass(slots=True, eq=False)
class _Window:
    """The requests of one client in one window of time."""

    began: float
    before: int
    """The number of requests in the previous window."""
    count: int = 0
