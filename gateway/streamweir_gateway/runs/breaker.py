"""The circuit breaker of one upstream.

    state       requests                entered by                          next state
    ─────────   ─────────────────────   ─────────────────────────────────   ─────────────────────────────────
    closed      all                     construction, the first output of   open
                                        any stream
    open        none                    as many failures in a row as the    half_open, when `open_for` is
                                        configuration allows; a failed      over
                                        trial
    half_open   one at a time (trial)   time                                closed, open

Only the first output of a stream closes the breaker, neither a status nor an event that opens a stream: an
upstream that answers 200 and then sends no output has failed like one that answers 500.

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
"""The seconds that a client is told to wait while a trial is under way."""


class CircuitBreaker:
    """Counts failures in a row, and opens after too many. The docstring of this file lists its states.

    Args:
        config: the number of failures that opens the breaker, and the seconds to a trial; None: never.
        clock: returns seconds of a monotonic clock.

    Attributes:
        failures: the number of failures in a row.
        on_change: called with the new state after each change.
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
        """The state: closed, open or half_open."""
        if self._until is None:
            return "closed"
        return "open" if self._clock() < self._until else "half_open"

    def is_healthy(self) -> bool:
        """Return whether the breaker is closed and has counted no failure."""
        return self._until is None and not self.failures

    @property
    def open_seconds(self) -> float:
        """The seconds since the breaker opened; 0 if it is not open."""
        if self._until is None or self._config is None:
            return 0.0
        return max(0.0, self._clock() - self._until + self._config.open_for)

    def blocked_for(self) -> float | None:
        """Return the seconds until a request may pass; None if a request may pass now."""
        if self._until is None:
            return None
        left = self._until - self._clock()
        if left > 0:
            return left
        return TRIAL_SECONDS if self._has_trial else None

    def enter(self) -> bool:
        """Let a request pass; return whether it is a trial, whose caller has to call `leave` at its end."""
        if self._until is None:
            return False
        self._has_trial = True
        self.on_change("half_open")
        return True

    def leave(self) -> None:
        """Note that the trial has ended, whether it succeeded or failed."""
        self._has_trial = False

    def succeeded(self) -> None:
        """Close the breaker, because a stream has given its first output."""
        self.failures = 0
        if self._until is not None:
            self._until = None
            self.on_change("closed")

    def failed(self, *, is_trial: bool) -> None:
        """Count a failure: the upstream failed before its first output."""
        if self._config is None:
            return
        self.failures += 1
        closed = self._until is None and self.failures >= self._config.failures
        if closed or is_trial:  # requests that were under way when it opened do not count
            self._until = self._clock() + self._config.open_for
            self.on_change("open")
