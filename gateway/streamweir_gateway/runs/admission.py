"""Admits attempts to an upstream: its circuit breaker and its `max_streams` decide. All endpoints share them.

Source: the configuration contract (`max_streams`, `breaker`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

from msgspec import Struct

from streamweir.redaction import hide_credentials
from streamweir_gateway.config import UpstreamConfig
from streamweir_gateway.observability.metrics import BreakerState
from streamweir_gateway.runs.breaker import CircuitBreaker

__all__ = ["Admission", "Admissions", "CircuitOpen", "Overloaded", "Permit"]


class CircuitOpen(Exception):
    """The breaker of the upstream is open.

    Attributes:
        seconds: the seconds until the breaker lets a request through.
    """

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the breaker lets nobody through for {seconds:.1f} s")
        self.seconds = seconds


class Overloaded(Exception):
    """The upstream has `max_streams` streams already."""


class Admission:
    """Admits attempts to one upstream.

    Attributes:
        label: the name of the upstream in logs and metrics.
        max_streams: the most attempts at the same time; None: no limit.
        open_streams: the number of attempts under way.
        breaker: the circuit breaker of the upstream.
    """

    def __init__(self, config: UpstreamConfig) -> None:
        self.label = config.label
        self._url = config.url
        self.max_streams = config.max_streams
        self.open_streams = 0
        self.breaker = CircuitBreaker(config.breaker)

    @cached_property
    def shown_url(self) -> str:
        """The URL of the upstream without credentials. The patterns are compiled when it is first shown."""
        return hide_credentials(self._url)

    def admit_if_healthy(self) -> Permit | None:
        """Admit an attempt if a stream is free and the breaker has counted no failure; else return None."""
        is_full = self.max_streams is not None and self.open_streams >= self.max_streams
        if is_full or not self.breaker.is_healthy():
            return None
        self.open_streams += 1
        return Permit(self)

    def admit(self) -> Permit:
        """Admit an attempt, which releases the permit when it ends.

        Raises:
            CircuitOpen: the breaker is open.
            Overloaded: the upstream has `max_streams` streams.
        """
        breaker = self.breaker
        is_healthy = breaker.is_healthy()
        if not is_healthy and (seconds := breaker.blocked_for()) is not None:
            raise CircuitOpen(seconds)
        if self.max_streams is not None and self.open_streams >= self.max_streams:
            raise Overloaded
        self.open_streams += 1
        return Permit(self, not is_healthy and breaker.enter())


class Permit(Struct, eq=False):
    """The permission for one attempt. Until its release, it counts towards the upstream's `max_streams`.

    Attributes:
        admission: the admission of the upstream.
        is_trial: whether the attempt tries an upstream whose breaker is half open.
    """

    admission: Admission
    is_trial: bool = False

    def succeeded(self) -> None:
        """Report to the breaker that the upstream has sent its first output."""
        self.admission.breaker.succeeded()
        if self.is_trial:
            self._end_trial()

    def failed(self) -> None:
        """Report to the breaker that the upstream failed before its first output."""
        self.admission.breaker.failed(is_trial=self.is_trial)
        if self.is_trial:
            self._end_trial()

    def complete(self) -> None:
        """Release the permit, because the upstream has answered completely."""
        self.admission.open_streams -= 1
        if not self.admission.breaker.is_healthy():
            self.succeeded()

    def release(self) -> None:
        """Release the permit, whether the attempt succeeded or failed."""
        self.admission.open_streams -= 1
        if self.is_trial:
            self._end_trial()

    def _end_trial(self) -> None:
        self.is_trial = False
        self.admission.breaker.leave()


class Admissions:
    """The admissions of a process: one for each upstream.

    `of` makes an upstream's admission at its first call.

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
        """Return the admission of an upstream, known by its name, or by its URL if it has no name."""
        key = config.name or config.url
        if key not in self._all:
            self._all[key] = admission = Admission(config)
            admission.breaker.on_change = partial(self._breaker_changed, admission)
            admission.breaker.on_change(admission.breaker.state)
        return self._all[key]

    def _breaker_changed(self, admission: Admission, state: BreakerState) -> None:
        self._on_breaker(admission.label, state, admission.breaker.failures)
