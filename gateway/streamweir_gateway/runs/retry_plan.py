"""The order in which upstreams are asked, and the waits between attempts, until the first output.

Source: the configuration contract (`retries`, an endpoint's list of upstreams).
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from streamweir.errors import ErrorInfo
from streamweir.failures.upstream_refusal import UpstreamRefusal
from streamweir_gateway.config import Retries
from streamweir_gateway.runs.destination import Destination

__all__ = ["Failure", "RetryPlan"]

LONGEST_RETRY_AFTER: Final = 10.0
"""The longest `Retry-After`, in seconds, for which the gateway waits."""

LONGEST_BACKOFF: Final = 10.0
"""The longest wait, in seconds, that doubling may reach, unless the first wait is longer."""

LOOP_STATUS: Final = 508
"""The status "Loop Detected". Source: RFC 5842, section 7.2."""

JITTER: Final = 0.25
"""The largest share of a wait that is added at random, so that requests do not retry simultaneously."""


_ERRORS: Final = 400
_SERVER_ERRORS: Final = 500
_UPSTREAMS_FAULT: Final = frozenset(
    {
        *("UPSTREAM_UNREACHABLE", "UPSTREAM_TIMEOUT", "UPSTREAM_TRUNCATED", "UPSTREAM_INVALID_RESPONSE"),
        "STREAM_LIMIT_EXCEEDED",
    }
)
"""Error codes that the breaker counts as failures if the upstream gave no error status."""

_RETRIED_IN_BAND: Final = frozenset({429, 503})
"""The statuses that may be retried if an error event of the stream reports them."""


class Failure(NamedTuple):
    """The failure of an attempt that ended before its first output."""

    info: ErrorInfo | None
    """The failure as clients see it. None: the upstream had too many streams, which is no failure."""
    status: int | None = None
    """The error status of the upstream; None without an error status."""
    was_asked: bool = True
    """Whether the upstream was asked. False: the breaker or `max_streams` refused the attempt."""
    was_connected: bool = True
    """Whether there was a connection. Without one, the upstream has certainly done nothing."""
    is_in_band: bool = False
    """Whether the upstream reported `status` in an error event of its stream."""

    refusal: UpstreamRefusal | None = None
    """The response of the upstream, if its status is an error."""

    @property
    def weight(self) -> int:
        """The rank of the failure. The client gets the highest; an upstream's ranks above the gateway's."""
        return 0 if self.info is None else 2 if self.was_asked else 1

    @property
    def is_upstreams_fault(self) -> bool:
        """Whether the breaker counts the failure. Not for a refused request: the next one may be accepted."""
        if self.status is not None and self.status >= _ERRORS:
            return self.status >= _SERVER_ERRORS
        return self.info is not None and self.info.code in _UPSTREAMS_FAULT

    def is_in(self, kinds: Collection[int | str]) -> bool:
        """Return whether `kinds`, the configured `retries.on`, include this failure."""
        if not self.was_asked:
            return False
        return self.status in kinds or (not self.was_connected and "connect" in kinds)


class RetryPlan:
    """The order of attempts of one request: each upstream as often as configured, then the next upstream.

    Attributes:
        destination: the upstream of the present attempt.

    Args:
        destinations: the upstreams in their order.
    """

    __slots__ = ("_left", "_tries", "destination")

    def __init__(self, destinations: Iterable[Destination]) -> None:
        first, *self._left = destinations
        self.destination = first
        self._tries = 1

    def may_follow_stream(self) -> bool:
        """Return whether another attempt may follow a stream that fails before its first output."""
        if self._left:
            return True
        retries = self.destination.retries
        return self._tries < retries.attempts and not _RETRIED_IN_BAND.isdisjoint(retries.on)

    def can_follow(self, failure: Failure) -> bool:
        """Return whether another attempt follows `failure`.

        No attempt follows status 508 (loop detected), or an error event whose status is not in `retries.on`.
        """
        if failure.status == LOOP_STATUS:
            return False
        if failure.is_in_band and failure.status not in self.destination.retries.on:
            return False
        return bool(self._left) or self._seconds_before_retry(failure) is not None

    def advance(self, failure: Failure) -> float | None:
        """Move on to the next attempt; return the seconds to wait, None if there is no other attempt."""
        if not self.can_follow(failure):
            return None
        seconds = self._seconds_before_retry(failure)
        if seconds is not None:
            self._tries += 1
            return seconds
        self.destination, self._tries = self._left.pop(0), 1
        return 0.0

    def _seconds_before_retry(self, failure: Failure) -> float | None:
        """Return the seconds to wait before this upstream is asked again; None if it is not asked again."""
        retries = self.destination.retries
        if self._tries >= retries.attempts or not failure.is_in(retries.on):
            return None
        return seconds_before(self._tries, retries, failure.info)


def seconds_before(tries: int, retries: Retries, info: ErrorInfo | None) -> float | None:
    """Return the seconds to wait after `tries` attempts: the backoff, or `Retry-After` if that is longer.

    Return None if `Retry-After` is longer than `LONGEST_RETRY_AFTER`.
    """
    longest = max(LONGEST_BACKOFF, retries.backoff)
    backoff: float = min(longest, retries.backoff * 2.0 ** min(tries - 1, 30))
    backoff *= 1 + random.uniform(0, JITTER)
    asked = info.retry_after_ms / 1000 if info is not None and info.retry_after_ms is not None else 0.0
    return None if asked > LONGEST_RETRY_AFTER else max(backoff, asked)
