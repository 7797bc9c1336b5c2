"""The metrics for Prometheus, their labels and their buckets.

Nothing is counted per event. The number of label values is bounded: they are templates and labels of the
configuration, or words of the protocol's closed lists. A text of a client or upstream never becomes a label.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from typing import Final, Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from streamweir import __version__
from streamweir.errors import CODES
from streamweir.refusal_codes import REFUSALS
from streamweir_gateway.observability.counted_histograms import (
    DURATION,
    EVENT_GAP,
    FIRST_EVENT,
    CountedHistograms,
    HistogramCounters,
)
from streamweir_gateway.observability.endpoint_counts import EndpointCounts, EndpointSeries
from streamweir_gateway.observability.exposition import FLUSH_SECONDS, is_shared
from streamweir_gateway.observability.record import RequestRecord

__all__ = ["BreakerState", "Metrics", "make_metrics"]

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]

_PREFIX: Final = "streamweir_"

NO_ENDPOINT: Final = "none"
"""The label of requests whose path belongs to no endpoint."""

_BREAKER: Final[dict[BreakerState, int]] = {"closed": 0, "open": 1, "half_open": 2}
_CODES: Final = frozenset({*CODES, *REFUSALS})

_Outcome: TypeAlias = tuple[str, int | None, str | None, str | None, str | None, str | None, str | None]
"""The endpoint, status, code, model and key of a request, the upstream, and the reason why its stream ended.

The reason is None for a request without a stream.
"""

_BY_ENDPOINT: Final = ("endpoint",)
_BY_BOTH: Final = ("endpoint", "upstream")

_COUNTERS: Final[dict[str, tuple[tuple[str, ...], str]]] = {
    "requests": (
        ("endpoint", "status", "code", "model", "key"),
        "Requests that ended, by HTTP status, code of the error or refusal, model and key (empty: none).",
    ),
    "streams": (
        ("endpoint", "upstream", "reason"),
        "Streams that ended, by the upstream asked last and the reason of their end.",
    ),
    "tokens": (
        ("endpoint", "model", "key", "kind"),
        "Tokens that upstreams have reported, by model and key (empty: none), prompt or completion.",
    ),
    "events": (_BY_ENDPOINT, "Events sent to clients, or folded."),
    "upstream_bytes": (_BY_ENDPOINT, "Bytes of bodies from upstreams, decoded."),
    "client_bytes": (_BY_ENDPOINT, "Bytes of bodies of streams to clients."),
    "malformed_events": (_BY_BOTH, "Upstream events that could not be read."),
    "tool_repairs": (_BY_BOTH, "Tool calls whose start was made up, or whose end came twice."),
    "turns": (
        ("endpoint", "result"),
        "Turns of conversations in requests: restored, carried, lost, mended; and those that were kept.",
    ),
    "retries": (("upstream",), "Requests sent to an upstream once more."),
    "upstream_failures": (("upstream", "code"), "Attempts at an upstream that failed."),
    "config_reloads": (
        ("outcome",),
        "Times that the configuration was to be read again: taken_over (by each worker) or refused.",
    ),
    "resumes": (("endpoint", "result"), "Clients that read on in a run that is kept, by what came of it."),
    "runs_detached": (("cause",), "Runs that were not kept to their end."),
    "runs_lost": ((), "Runs that were ended because nobody owned them any longer."),
    "workers_replaced": (("reason",), "Workers started in the place of one that is gone."),
}
"""For each counter, by name: its labels and its help text."""

_STORE_BOUNDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)

_GAUGES: Final[dict[str, tuple[str | None, Literal["livesum", "livemax", "livemin", "max"], str]]] = {
    "streams_open": ("endpoint", "livesum", "Streams under way."),
    "breaker_state": (
        "upstream",
        "livemax",
        "An upstream's breaker: 0 closed, 1 open, 2 half-open; the highest of all workers.",
    ),
    "config_info": ("hash", "livemax", "1 for the configuration file that is served, by its hash."),
    "readers_open": (None, "livesum", "Clients that read a run that is kept."),
    "store_up": (None, "livemin", "Whether the store of runs answers."),
    "build_info": ("version", "max", "Always 1; the label is the version."),
}
"""For each gauge, by name: its label, the way in which values of processes are joined, and its help text."""


class Metrics:
    """The metrics of one process, in a separate registry.

    Numbers of requests are added up, and put into the metrics before this process shows them. If several
    processes share metrics (`PROMETHEUS_MULTIPROC_DIR`), they are put there within `FLUSH_SECONDS`. Then a
    process must have only one `Metrics`, which `make_metrics` ensures.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # they double the series, and processes cannot share them
        self._registry = registry = CollectorRegistry()
        self._counters = {
            name: Counter(_PREFIX + name, text, labels, registry=registry)
            for name, (labels, text) in _COUNTERS.items()
        }
        counted = CollectorRegistry()
        self._first_events = HistogramCounters(FIRST_EVENT, counted)
        self._durations = HistogramCounters(DURATION, counted)
        self._gaps = HistogramCounters(EVENT_GAP, counted)
        registry.register(CountedHistograms(counted))
        self._store_seconds = Histogram(
            _PREFIX + "store_seconds",
            "How long the store of runs took to answer what left for it together.",
            buckets=_STORE_BOUNDS,
            registry=registry,
        )
        self._gauges = {
            name: Gauge(
                _PREFIX + name,
                text,
                () if label is None else (label,),
                multiprocess_mode=mode,
                registry=registry,
            )
            for name, (label, mode, text) in _GAUGES.items()
        }
        self._gauges["build_info"].labels(__version__).set(1)
        for reason in ("hung", "exited"):
            self._counters["workers_replaced"].labels(reason)
        for outcome in ("taken_over", "refused"):
            self._counters["config_reloads"].labels(outcome)
        self._served: str | None = None
        self._of_endpoint: dict[str, EndpointCounts] = {}
        self._outcomes: defaultdict[_Outcome, int] = defaultdict(int)
        """The numbers of requests that are not in the counters yet, by all that is the same in them."""
        self._waiting: defaultdict[tuple[str, tuple[str | None, ...]], int] = defaultdict(int)
        """Other amounts that are not in the counters yet, by the name and labels of the counter."""
        self._is_shared = is_shared()
        self._is_timer_set = False

    @property
    def registry(self) -> CollectorRegistry:
        """The registry of the metrics, after all waiting numbers were put into it."""
        self.flush()
        return self._registry

    def flush(self) -> None:
        """Put the waiting numbers into the metrics."""
        self._is_timer_set = False
        for counts in self._of_endpoint.values():
            counts.move_to_metrics()
        outcomes, self._outcomes = self._outcomes, defaultdict(int)
        for (endpoint, status, code, model, key, upstream, reason), number in outcomes.items():
            self._add("requests", (endpoint, _shown(status), code, model, key), number)
            if reason is not None:
                self._add("streams", (endpoint, upstream, reason), number)
        waiting, self._waiting = self._waiting, defaultdict(int)
        for (name, labels), amount in waiting.items():
            self._add(name, labels, amount)

    def endpoint_known(self, endpoint: str) -> None:
        """Show the series of an endpoint with the value 0 from the beginning."""
        self._endpoint(endpoint)

    def stream_opened(self, record: RequestRecord) -> None:
        """Count a stream that begins."""
        if not record.is_open:
            endpoint = record.endpoint or NO_ENDPOINT
            (self._of_endpoint.get(endpoint) or self._endpoint(endpoint)).opened += 1
            record.is_open = True
            if self._is_shared:
                self._flush_soon()

    def request_ended(self, record: RequestRecord) -> None:
        """Count a request that has ended, and its stream if it had one."""
        endpoint, model, key = record.endpoint or NO_ENDPOINT, record.model, record.key
        reason = None
        if record.is_open:
            record.is_open, reason = False, record.reason or "internal"
            (self._of_endpoint.get(endpoint) or self._endpoint(endpoint)).stream_ended(record)
            if record.malformed:
                self._count("malformed_events", (endpoint, record.upstream), record.malformed)
            if record.repairs:
                self._count("tool_repairs", (endpoint, record.upstream), record.repairs)
        code = None if record.code is None else _bounded(record.code)
        self._outcomes[endpoint, record.status, code, model, key, record.upstream, reason] += 1
        if record.turns:
            for result, number in record.turns.items():
                self._count("turns", (endpoint, result), number)
        if record.keeps_turn:
            self._count("turns", (endpoint, "kept"))
        if record.prompt_tokens:
            self._count("tokens", (endpoint, model, key, "prompt"), record.prompt_tokens)
        if record.completion_tokens:
            self._count("tokens", (endpoint, model, key, "completion"), record.completion_tokens)
        if self._is_shared:
            self._flush_soon()

    def request_relayed(self, endpoint: str, status: int) -> None:
        """Count a relayed request that has ended without a stream and without a failure."""
        self._outcomes[endpoint, status, None, None, None, None, None] += 1
        if self._is_shared:
            self._flush_soon()

    def retried(self, upstream: str) -> None:
        """Count a retry at an upstream."""
        self._counters["retries"].labels(upstream).inc()

    def upstream_failed(self, upstream: str, code: str) -> None:
        """Count a failed attempt at an upstream."""
        self._counters["upstream_failures"].labels(upstream, _bounded(code)).inc()

    def worker_replaced(self, reason: Literal["hung", "exited"]) -> None:
        """Count a worker that was started in place of one that has ended."""
        self._counters["workers_replaced"].labels(reason).inc()

    def config_served(self, fingerprint: str) -> None:
        """Show the fingerprint of the configuration with which requests are served from now on."""
        if self._served is not None and self._served != fingerprint:
            self._gauges["config_info"].labels(self._served).set(0)
        self._served = fingerprint
        self._gauges["config_info"].labels(fingerprint).set(1)

    def config_reloaded(self, outcome: Literal["taken_over", "refused"]) -> None:
        """Count an attempt to reload the configuration, by its outcome."""
        self._counters["config_reloads"].labels(outcome).inc()

    def resumed(self, endpoint: str, result: str) -> None:
        """Count a request to read a run, by its result."""
        self._counters["resumes"].labels(endpoint, result).inc()

    def reader_opened(self) -> None:
        """Count a client that reads a stored run."""
        self._gauges["readers_open"].inc()

    def reader_closed(self) -> None:
        """Count the end of a client's reading of a stored run."""
        self._gauges["readers_open"].dec()

    def run_detached(self, cause: str) -> None:
        """Count a run that is not stored any longer."""
        self._counters["runs_detached"].labels(cause).inc()

    def run_lost(self) -> None:
        """Count a run that was ended because its owner was gone."""
        self._counters["runs_lost"].inc()

    def store_answered(self, seconds: float) -> None:
        """Observe the time that the store of runs took for an answer."""
        self._store_seconds.observe(seconds)

    def store_changed(self, is_up: bool) -> None:
        """Show whether the store of runs answers."""
        self._gauges["store_up"].set(int(is_up))

    def breaker_changed(self, upstream: str, state: BreakerState) -> None:
        """Show the state of a breaker."""
        self._gauges["breaker_state"].labels(upstream).set(_BREAKER[state])

    def _count(self, name: str, labels: tuple[str | None, ...], amount: int = 1) -> None:
        self._waiting[name, labels] += amount

    def _add(self, name: str, labels: Iterable[str | None], amount: int) -> None:
        self._counters[name].labels(*[label or "" for label in labels]).inc(amount)

    def _flush_soon(self) -> None:
        """Put the waiting numbers into the metrics soon, because another process shows them."""
        if self._is_timer_set:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
        else:
            self._is_timer_set = True
            loop.call_later(FLUSH_SECONDS, self.flush)

    def _endpoint(self, endpoint: str) -> EndpointCounts:
        counts = self._of_endpoint.get(endpoint)
        if counts is None:
            counts = self._of_endpoint[endpoint] = EndpointCounts(
                EndpointSeries(
                    self._gauges["streams_open"].labels(endpoint),
                    self._first_events.of(endpoint),
                    self._gaps.of(endpoint),
                    self._durations.of(endpoint),
                    self._counters["events"].labels(endpoint),
                    self._counters["upstream_bytes"].labels(endpoint),
                    self._counters["client_bytes"].labels(endpoint),
                )
            )
        return counts


def make_metrics() -> Metrics:
    """Return new metrics. If processes share metrics, return the metrics that this process has already."""
    return _metrics_of_process() if is_shared() else Metrics()


@cache
def _metrics_of_process() -> Metrics:
    return Metrics()


def _bounded(code: str) -> str:
    """Return a code that may be a label. An upstream's own code may not, because it can be any text."""
    return code if code in _CODES else "UPSTREAM_ERROR"


def _shown(status: int | None) -> str:
    return "none" if status is None else str(status)
