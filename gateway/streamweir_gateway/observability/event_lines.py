"""Writes log lines about the process and its surroundings: one line for each change.

    breaker opened, breaker closed      an upstream is not asked for a while; it is asked again
    store away, store back              the store of runs does not answer; it answers again
    drain begins, drain ends            the process takes no new streams; the last one is over
    worker replaced                     a worker is started in the place of one that is gone

Source: the configuration contract (lines of their own).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from streamweir_gateway.config import GatewayConfig
    from streamweir_gateway.observability.metrics import BreakerState

__all__ = [
    "Absence",
    "BreakerLines",
    "StoreLines",
    "drain_began",
    "drain_ended",
    "remark_on",
    "worker_replaced",
]

logger = logging.getLogger("streamweir.server")


class BreakerLines:
    """Writes a line when a breaker opens and when it closes. A failed trial in between writes no line."""

    def __init__(self) -> None:
        self._open: Final[set[str]] = set()

    def changed(self, upstream: str, state: BreakerState, failures: int) -> None:
        """Note the state of an upstream's breaker, after `failures` failures in a row."""
        if state == "open" and upstream not in self._open:
            self._open.add(upstream)
            logger.warning("breaker opened", extra={"upstream": upstream, "failures": failures})
        elif state == "closed" and upstream in self._open:
            self._open.discard(upstream)
            logger.info("breaker closed", extra={"upstream": upstream})


class Absence(Protocol):
    """Holds the time since which the store has not answered. Workers share it: each change is noted once."""

    since: float
    """Seconds of a clock that all workers share; 0 while the store answers."""


class OwnAbsence:
    """The `Absence` of a process that has no other workers beside it."""

    since = 0.0


class StoreLines:
    """Writes a line when the store stops answering and when it answers again.

    The first worker that notices an absence writes the line and sets `Absence.since`. The first worker that
    gets an answer again writes the other line and clears `Absence.since`. Other workers write no line.

    Args:
        store: the URL of the store, without credentials.
        absence: the absence that all workers share; None: there are no workers.
        clock: returns seconds of a monotonic clock that all workers share.
    """

    def __init__(
        self, store: str, absence: Absence | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store: Final = store
        self._clock: Final = clock
        self._absence: Final = OwnAbsence() if absence is None else absence

    def changed(self, is_up: bool) -> None:
        """Note whether the store answers."""
        since = self._absence.since
        if not is_up and not since:
            self._absence.since = self._clock()
            logger.warning("store away", extra={"store": self._store})
        elif is_up and since:
            self._absence.since = 0.0
            logger.info("store back", extra={"seconds": round(self._clock() - since, 3)})


def drain_began(open_streams: int) -> None:
    """Write the line that the process accepts no new streams; `open_streams` are under way."""
    logger.info("drain begins", extra={"open": open_streams})


def drain_ended(open_streams: int, seconds: float) -> None:
    """Write the line that the drain is over; `open_streams` had to be ended."""
    logger.info("drain ends", extra={"open": open_streams, "seconds": round(seconds, 3)})


def worker_replaced(reason: str) -> None:
    """Write the line that a worker replaces a worker that has ended (`hung` or `exited`)."""
    logger.warning("worker replaced", extra={"reason": reason})


def remark_on(config: GatewayConfig) -> None:
    """Write a line for each configured value that is probably a mistake."""
    for remark in config.remarks:
        logger.warning("configuration", extra={"remark": remark})
