"""The circuit breaker of one upstream: closed, open, half-open.

What closes it is a stream's first event, not a status: an upstream that answers 200 and then nothing is no
better than one that answers 500.

Source: the configuration contract (`breaker`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from streamweir_gateway.config import Breaker
from streamweir_gateway.observability.metrics import BreakerState

__all__ = ["CircuitBreaker"]


TRIAL_SECONDS: Final = 1.0
"""What a client is told to wait while a trial is under way, whose end nobody knows."""


class CircuitBreaker:
    """Counts failures in a row; after so many nobody is let through for a while, then one at a time.

    Args:
        config: when it opens, and for how long; None: never.
        clock: seconds that only grow.

    Attributes:
        failures: in a row, so far.
        on_change: called with the state that a request has brought about.
    """

    def __init__(self, config: Breaker | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.failures = 0
        self.on_change: Callable[[BreakerState], None] = lambda _state: None
        self._config = config
        self._clock = clock
        self._until: float | None = None
        self._has_trial = False

    @property
    def state(self) -> BreakerState:
        """Who is let through: everyone (closed), nobody (open), or one request as a trial (half_open)."""
        if self._until is None:
            return "closed"
        return "open" if self._clock() < self._until else "half_open"

    @property
    def is_well(self) -> bool:
        """Nothing is known against the upstream."""
        return self._until is None and not self.failures

    @property
    def open_seconds(self) -> float:
        """How long it has been open; 0 where it is not."""
        if self._until is None or self._config is None:
            return 0.0
        return max(0.0, self._clock() - self._until + self._config.open_for)

    def blocked_for(self) -> float | None:
        """Return how many seconds nobody is let through; None: a request may go."""
        if self._until is None:
            return None
        left = self._until - self._clock()
        if left > 0:
            return left
        return TRIAL_SECONDS if self._has_trial else None

    def enter(self) -> bool:
        """Let a request through that is not blocked; is it the trial? Then it has to `leave` at its end."""
        if self._until is None:
            return False
        self._has_trial = True
        self.on_change("half_open")
        return True

    def leave(self) -> None:
        """The trial is over, whatever it gave."""
        self._has_trial = False

    def succeeded(self) -> None:
        """A first event came."""
        self.failures = 0
        if self._until is not None:
            self._until = None
            self.on_change("closed")

    def failed(self, *, is_trial: bool) -> None:
        """A request failed before its first event, through the upstream's fault."""
        if self._config is None:
            return
        self.failures += 1
        closed = self._until is None and self.failures >= self._config.failures
        if closed or is_trial:  # what was under way when it opened says nothing new
            self._until = self._clock() + self._config.open_for
            self.on_change("open")
