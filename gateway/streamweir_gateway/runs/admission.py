"""Who may start a stream at an upstream: its breaker and its limit on streams, shared by a process.

Source: the configuration contract (`max_streams`, `breaker`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from streamweir_gateway.config import UpstreamConfig
from streamweir_gateway.observability.metrics import BreakerState
from streamweir_gateway.runs.breaker import CircuitBreaker

__all__ = ["Admission", "Admissions", "CircuitOpen", "Overloaded", "Permit"]


class CircuitOpen(Exception):
    """The upstream is not asked for a while.

    Attributes:
        seconds: how long.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the breaker lets nobody through for {seconds:.1f} s")
        self.seconds = seconds


class Overloaded(Exception):
    """As many streams as are allowed are under way at the upstream."""


class Admission:
    """One upstream's door.

    Attributes:
        label: what logs and metrics call the upstream.
        max_streams: at the same time; None: any number.
        open_streams: attempts under way.
        breaker: of the upstream.
    """

    def __init__(self, config: UpstreamConfig) -> None:
        self.label = config.label
        self.max_streams = config.max_streams
        self.open_streams = 0
        self.breaker = CircuitBreaker(config.breaker)

    def admit_to_well(self) -> Permit | None:
        """Let one attempt in where nothing is known against the upstream; else None."""
        is_full = self.max_streams is not None and self.open_streams >= self.max_streams
        if is_full or not self.breaker.is_well:
            return None
        self.open_streams += 1
        return Permit(self, is_trial=False)

    def admit(self) -> Permit:
        """Let one attempt in, which releases its permit at the end.

        Raises:
            CircuitOpen, Overloaded: it has to stay out.
        """
        seconds = self.breaker.blocked_for()
        if seconds is not None:
            raise CircuitOpen(seconds)
        if self.max_streams is not None and self.open_streams >= self.max_streams:
            raise Overloaded
        self.open_streams += 1
        return Permit(self, is_trial=self.breaker.enter())


class Permit:
    """One attempt's place at an upstream."""

    __slots__ = ("_admission", "_is_trial")

    def __init__(self, admission: Admission, *, is_trial: bool) -> None:
        self._admission = admission
        self._is_trial = is_trial

    def succeeded(self) -> None:
        """The first event came."""
        self._admission.breaker.succeeded()
        self._end_trial()

    def failed(self) -> None:
        """The upstream failed before its first event."""
        self._admission.breaker.failed(is_trial=self._is_trial)
        self._end_trial()

    def end_well(self) -> None:
        """The attempt is over, and the upstream has answered all of it."""
        admission = self._admission
        admission.open_streams -= 1
        if not admission.breaker.is_well:
            self.succeeded()

    def release(self) -> None:
        """The attempt is over, whatever came of it."""
        self._admission.open_streams -= 1
        self._end_trial()

    def _end_trial(self) -> None:
        if self._is_trial:
            self._is_trial = False
            self._admission.breaker.leave()


class Admissions:
    """The doors of all upstreams of a process, one each, made when the first endpoint asks for it.

    Args:
        on_breaker: called with an upstream's label, the state that its breaker begins in or changes to, and
            the number of failures in a row.
    """

    def __init__(self, on_breaker: Callable[[str, BreakerState, int], None] = lambda *_: None) -> None:
        self._all: dict[str, Admission] = {}
        self._on_breaker = on_breaker

    def __iter__(self) -> Iterator[Admission]:
        return iter(tuple(self._all.values()))

    def of(self, config: UpstreamConfig) -> Admission:
        """Return the door of an upstream: that of its name, or of its URL where it has none."""
        key = config.name or config.url
        if key not in self._all:
            self._all[key] = admission = Admission(config)
            admission.breaker.on_change = partial(self._breaker_changed, admission)
            admission.breaker.on_change(admission.breaker.state)
        return self._all[key]

    def _breaker_changed(self, admission: Admission, state: BreakerState) -> None:
        self._on_breaker(admission.label, state, admission.breaker.failures)
