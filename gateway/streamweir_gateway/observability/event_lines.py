"""Lines of the log about the process and its surroundings: one for each change.

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
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamweir_gateway.config import GatewayConfig
    from streamweir_gateway.observability.metrics import BreakerState

__all__ = ["BreakerLines", "StoreLines", "drain_began", "drain_ended", "remark_on", "worker_replaced"]

logger = logging.getLogger("streamweir.server")


class BreakerLines:
    """Writes a line when a breaker opens and when it closes; a failed trial in between changes nothing."""

    def __init__(self) -> None:
        self._open: Final[set[str]] = set()

    def changed(self, upstream: str, state: BreakerState, failures: int) -> None:
        """Note the state of the breaker of the upstream with this label, after so many failures in a row."""
        if state == "open" and upstream not in self._open:
            self._open.add(upstream)
            logger.warning("breaker opened", extra={"upstream": upstream, "failures": failures})
        elif state == "closed" and upstream in self._open:
            self._open.discard(upstream)
            logger.info("breaker closed", extra={"upstream": upstream})


class StoreLines:
    """Writes a line when the store stops answering and when it answers again.

    Args:
        store: its URL, without credentials.
        clock: seconds that only grow.
    """

    def __init__(self, store: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store: Final = store
        self._clock: Final = clock
        self._away_since: float | None = None

    def changed(self, is_up: bool) -> None:
        """Note whether the store answers."""
        if not is_up and self._away_since is None:
            self._away_since = self._clock()
            logger.warning("store away", extra={"store": self._store})
        elif is_up and self._away_since is not None:
            seconds, self._away_since = self._clock() - self._away_since, None
            logger.info("store back", extra={"seconds": round(seconds, 3)})


def drain_began(open_streams: int) -> None:
    """Write that the process takes no new streams; so many are under way."""
    logger.info("drain begins", extra={"open": open_streams})


def drain_ended(open_streams: int, seconds: float) -> None:
    """Write that the drain is over; so many streams had not ended by themselves."""
    logger.info("drain ends", extra={"open": open_streams, "seconds": round(seconds, 3)})


def worker_replaced(reason: str) -> None:
    """Write that a worker is started in the place of one that is gone (`hung` or `exited`)."""
    logger.warning("worker replaced", extra={"reason": reason})


def remark_on(config: GatewayConfig) -> None:
    """Write a line for each value of the configuration that is probably a mistake."""
    for remark in config.remarks:
        logger.warning("configuration", extra={"remark": remark})
