"""Which upstream is asked next, and after how long, while no event has come from any.

Source: the configuration contract (`retries`, an endpoint's list of upstreams).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from streamweir.errors import ErrorInfo
from streamweir_gateway.config import Retries
from streamweir_gateway.runs.destination import Destination

__all__ = ["Failure", "RetryPlan"]

LONGEST_RETRY_AFTER: Final = 10.0
"""Seconds; an upstream that asks for more is not waited for."""

LONGEST_BACKOFF: Final = 10.0
"""Seconds that doubling leads to at most, where the first wait is not longer itself."""

LOOP_STATUS: Final = 508
"""Loop Detected. Source: RFC 5842, section 7.2."""

JITTER: Final = 0.25
"""Up to this share of a wait is added to it, so that many who failed at once do not come back at once."""


_ERRORS: Final = 400
_SERVER_ERRORS: Final = 500
_UPSTREAMS_FAULT: Final = frozenset(
    {"UPSTREAM_UNREACHABLE", "UPSTREAM_TIMEOUT", "UPSTREAM_TRUNCATED", "UPSTREAM_INVALID_RESPONSE"}
)
"""Codes that count for the breaker where the upstream gave no error status."""


class Failure(NamedTuple):
    """Why an attempt ended before its first event."""

    info: ErrorInfo | None
    """What may be told of it; None: the upstream had as many streams as are allowed."""
    status: int | None = None
    """Of the upstream's response, where there was one."""
    was_asked: bool = True
    """False: the request stayed here, because of the breaker or of `max_streams`."""
    was_connected: bool = True
    """False: no connection came about, so the upstream certainly did nothing."""

    @property
    def weight(self) -> int:
        """How much it says to the client: the upstream's own failures most."""
        return 0 if self.info is None else 2 if self.was_asked else 1

    @property
    def is_upstreams_fault(self) -> bool:
        """The failure counts for the breaker. A refused request does not: the next one may be accepted."""
        if self.status is not None and self.status >= _ERRORS:
            return self.status >= _SERVER_ERRORS
        return self.info is not None and self.info.code in _UPSTREAMS_FAULT

    def is_in(self, kinds: Collection[int | str]) -> bool:
        """Is it one of those after which the same upstream is asked again?"""
        if not self.was_asked:
            return False
        return self.status in kinds or (not self.was_connected and "connect" in kinds)


class RetryPlan:
    """The way of one request through its upstreams: each as often as it may be asked, then the next."""

    __slots__ = ("_destinations", "_index", "_tries")

    def __init__(self, destinations: Sequence[Destination]) -> None:
        self._destinations = destinations
        self._index = 0
        self._tries = 1

    @property
    def destination(self) -> Destination:
        """The one to be asked."""
        return self._destinations[self._index]

    @property
    def is_last(self) -> bool:
        """Whatever comes of this attempt, none can follow it."""
        return (
            self._index + 1 == len(self._destinations)
            and self._tries >= self.destination.config.retries.attempts
        )

    def go_on(self, failure: Failure) -> float | None:
        """Move on to the next attempt; return the seconds to wait before it, or None if there is none.

        An upstream answers 508 to a request that has come back to it: asking again would begin the circle.
        """
        if failure.status == LOOP_STATUS:
            return None
        retries = self.destination.config.retries
        if self._tries < retries.attempts and failure.is_in(retries.on):
            seconds = seconds_before(self._tries, retries, failure.info)
            if seconds is not None:
                self._tries += 1
                return seconds
        if self._index + 1 == len(self._destinations):
            return None
        self._index, self._tries = self._index + 1, 1
        return 0.0


def seconds_before(tries: int, retries: Retries, info: ErrorInfo | None) -> float | None:
    """Return how long to wait after so many tries: the backoff, or the upstream's own wish if that is longer.

    None where it wishes for too much.
    """
    longest = max(LONGEST_BACKOFF, retries.backoff)
    backoff: float = min(longest, retries.backoff * 2.0 ** min(tries - 1, 30))
    backoff *= 1 + random.uniform(0, JITTER)
    asked = info.retry_after_ms / 1000 if info is not None and info.retry_after_ms is not None else 0.0
    return None if asked > LONGEST_RETRY_AFTER else max(backoff, asked)
