"""The metrics for Prometheus, their labels and their buckets.

Nothing is counted per event. Label values are bounded: templates and labels of the configuration, words of
the protocol's closed lists; a text of a client or an upstream never becomes one.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, NamedTuple, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

from streamweir import __version__
from streamweir.errors import CODES
from streamweir.refusal_codes import REFUSALS
from streamweir_gateway.observability.exposition import is_shared
from streamweir_gateway.observability.gap_histogram import GapCounts, GapHistogram, GapsOfEndpoint
from streamweir_gateway.observability.record import RequestRecord

__all__ = ["BreakerState", "Metrics", "make_metrics"]

BreakerState: TypeAlias = Literal["closed", "open", "half_open"]

_PREFIX: Final = "streamweir_"

NO_ENDPOINT: Final = "none"
"""The label of requests whose path no endpoint takes."""

_BREAKER: Final[dict[BreakerState, int]] = {"closed": 0, "open": 1, "half_open": 2}
_CODES: Final = frozenset({*CODES, *REFUSALS})

FIRST_EVENT_BOUNDS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0),
)
DURATION_BOUNDS: Final = (
    *(0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
    *(60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0),
)


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
"""By name: the labels, and the help text of the counter."""

_HISTOGRAMS: Final = {
    "time_to_first_event_seconds": (
        FIRST_EVENT_BOUNDS,
        "From the arrival of a request to its upstream's first event.",
    ),
    "stream_duration_seconds": (
        DURATION_BOUNDS,
        "From the arrival of a request to the end of its stream.",
    ),
}
"""By name: the buckets and the help text; all are labelled by endpoint."""

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
"""By name: the label, how values of processes are joined, and the help text."""


class _OfEndpoint(NamedTuple):
    """The series of one endpoint, looked up once."""

    open: Gauge
    first_event: Histogram
    gaps: GapsOfEndpoint
    duration: Histogram
    events: Counter
    upstream_bytes: Counter
    client_bytes: Counter


class Metrics:
    """The metrics of one process, in a registry of their own.

    Where several processes share them (`PROMETHEUS_MULTIPROC_DIR`), a process may have only one of these:
    `make_metrics` sees to it.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # they double the series, and processes cannot share them
        self.registry = registry = CollectorRegistry()
        self._counters = {
            name: Counter(_PREFIX + name, text, labels, registry=registry)
            for name, (labels, text) in _COUNTERS.items()
        }
        self._histograms = {
            name: Histogram(_PREFIX + name, text, _BY_ENDPOINT, buckets=bounds, registry=registry)
            for name, (bounds, text) in _HISTOGRAMS.items()
        }
        gap_counts = CollectorRegistry()
        self._gaps = GapCounts(gap_counts)
        registry.register(GapHistogram(gap_counts))
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
        self._of_endpoint: dict[str, _OfEndpoint] = {}
        self._of_request: dict[tuple[str, int | None, str, str, str], Counter] = {}
        self._of_stream: dict[tuple[str, str, str], Counter] = {}

    def endpoint_known(self, endpoint: str) -> None:
        """Show the series of an endpoint from the beginning, at 0."""
        self._endpoint(endpoint)

    def stream_opened(self, record: RequestRecord) -> None:
        """A stream begins."""
        if not record.is_open:
            self._endpoint(record.endpoint or NO_ENDPOINT).open.inc()
            record.is_open = True

    def request_ended(self, record: RequestRecord) -> None:
        """A request, and its stream if there was one, is over."""
        endpoint = record.endpoint or NO_ENDPOINT
        model, key = record.model or "", record.key or ""
        self._request(endpoint, record.status, _bounded(record.code), model, key).inc()
        if record.is_open:
            record.is_open = False
            self._stream_ended(endpoint, record)
        kept = {"kept": 1} if record.keeps_turn else {}
        for result, number in {**(record.turns or {}), **kept}.items():
            self._counters["turns"].labels(endpoint, result).inc(number)
        for kind, count in (("prompt", record.prompt_tokens), ("completion", record.completion_tokens)):
            if count:
                self._counters["tokens"].labels(endpoint, model, key, kind).inc(count)

    def request_relayed(self, endpoint: str, status: int) -> None:
        """A request is over that no stream was part of, and nothing went wrong with."""
        self._request(endpoint, status).inc()

    def retried(self, upstream: str) -> None:
        """An upstream is asked once more."""
        self._counters["retries"].labels(upstream).inc()

    def upstream_failed(self, upstream: str, code: str) -> None:
        """An attempt at an upstream failed."""
        self._counters["upstream_failures"].labels(upstream, _bounded(code)).inc()

    def worker_replaced(self, reason: Literal["hung", "exited"]) -> None:
        """Count a worker that was started in the place of one that ended."""
        self._counters["workers_replaced"].labels(reason).inc()

    def config_served(self, fingerprint: str) -> None:
        """Requests are served by this configuration from here on."""
        if self._served is not None and self._served != fingerprint:
            self._gauges["config_info"].labels(self._served).set(0)
        self._served = fingerprint
        self._gauges["config_info"].labels(fingerprint).set(1)

    def config_reloaded(self, outcome: Literal["taken_over", "refused"]) -> None:
        """The configuration was to be read again."""
        self._counters["config_reloads"].labels(outcome).inc()

    def resumed(self, endpoint: str, result: str) -> None:
        """A client read on in a run, or wanted to."""
        self._counters["resumes"].labels(endpoint, result).inc()

    def reader_opened(self) -> None:
        """A client reads a run that is kept."""
        self._gauges["readers_open"].inc()

    def reader_closed(self) -> None:
        """Do nothing more."""
        self._gauges["readers_open"].dec()

    def run_detached(self, cause: str) -> None:
        """A run is not kept any longer."""
        self._counters["runs_detached"].labels(cause).inc()

    def run_lost(self) -> None:
        """Count a run that was ended because it had no owner any more."""
        self._counters["runs_lost"].inc()

    def store_answered(self, seconds: float) -> None:
        """The store of runs took so long."""
        self._store_seconds.observe(seconds)

    def store_changed(self, is_up: bool) -> None:
        """The store of runs answers, or does not."""
        self._gauges["store_up"].set(int(is_up))

    def breaker_changed(self, upstream: str, state: BreakerState) -> None:
        """A breaker is in this state."""
        self._gauges["breaker_state"].labels(upstream).set(_BREAKER[state])

    def _stream_ended(self, endpoint: str, record: RequestRecord) -> None:
        series = self._endpoint(endpoint)
        series.open.dec()
        upstream = record.upstream or ""
        self._stream(endpoint, upstream, record.reason or "internal").inc()
        if record.first_event_ms is not None:
            series.first_event.observe(record.first_event_ms / 1000)
        if any(record.gaps):
            series.gaps.add(record.gaps, record.gap_seconds)
        if record.duration_ms is not None:
            series.duration.observe(record.duration_ms / 1000)
        for counter, amount in (
            (series.events, record.events),
            (series.upstream_bytes, record.bytes_in),
            (series.client_bytes, record.bytes_out),
        ):
            if amount:
                counter.inc(amount)
        if record.malformed:
            self._counters["malformed_events"].labels(endpoint, upstream).inc(record.malformed)
        if record.repairs:
            self._counters["tool_repairs"].labels(endpoint, upstream).inc(record.repairs)

    def _endpoint(self, endpoint: str) -> _OfEndpoint:
        series = self._of_endpoint.get(endpoint)
        if series is None:
            series = self._of_endpoint[endpoint] = _OfEndpoint(
                self._gauges["streams_open"].labels(endpoint),
                self._histograms["time_to_first_event_seconds"].labels(endpoint),
                self._gaps.of(endpoint),
                self._histograms["stream_duration_seconds"].labels(endpoint),
                self._counters["events"].labels(endpoint),
                self._counters["upstream_bytes"].labels(endpoint),
                self._counters["client_bytes"].labels(endpoint),
            )
        return series

    def _request(
        self, endpoint: str, status: int | None, code: str = "", model: str = "", key: str = ""
    ) -> Counter:
        found = self._of_request.get((endpoint, status, code, model, key))
        if found is None:
            shown = "none" if status is None else str(status)
            found = self._counters["requests"].labels(endpoint, shown, code, model, key)
            self._of_request[endpoint, status, code, model, key] = found
        return found

    def _stream(self, endpoint: str, upstream: str, reason: str) -> Counter:
        key = (endpoint, upstream, reason)
        counter = self._of_stream.get(key)
        if counter is None:
            counter = self._of_stream[key] = self._counters["streams"].labels(*key)
        return counter


def make_metrics() -> Metrics:
    """Return new metrics; where processes share them, the ones that this process has already."""
    return _metrics_of_process() if is_shared() else Metrics()


@cache
def _metrics_of_process() -> Metrics:
    return Metrics()


def _bounded(code: str | None) -> str:
    """Return a code that may be a label: an upstream's own, which is no word of ours, may not."""
    if code is None:
        return ""
    return code if code in _CODES else "UPSTREAM_ERROR"
