"""Histograms of seconds, made from counts that each stream adds when it ends.

A histogram of `prometheus_client` takes each observation separately. That is work per event and, if processes
share the histogram, two writes into a file per observation. So two counters keep the number of observations
in each bucket and the sum; a histogram is made from them when it is shown.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from streamweir_gateway.observability.record import GAP_BOUNDS

__all__ = [
    "DURATION",
    "EVENT_GAP",
    "FIRST_EVENT",
    "CountedHistograms",
    "HistogramCounters",
    "HistogramOfEndpoint",
    "SecondsCounts",
    "Shape",
]

_COUNTS: Final = "_counts"
_SUMS: Final = "_sums"
_ENDPOINT, _BOUND = "endpoint", "le"


class Shape(NamedTuple):
    """Describes a histogram: its name, its help text, and the upper bounds of its buckets in seconds."""

    name: str
    text: str
    bounds: tuple[float, ...]

    @property
    def buckets(self) -> tuple[str, ...]:
        """The labels of the buckets. The last bucket has no upper bound."""
        return (*map(str, self.bounds), "+Inf")


FIRST_EVENT: Final = Shape(
    "streamweir_time_to_first_event_seconds",
    "From the arrival of a request to its upstream's first event.",
    (
        *(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
        *(1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0),
    ),
)
DURATION: Final = Shape(
    "streamweir_stream_duration_seconds",
    "From the arrival of a request to the end of its stream.",
    (
        *(0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0),
        *(60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0),
    ),
)
EVENT_GAP: Final = Shape(
    "streamweir_event_gap_seconds",
    "From one read that gave events of an upstream to the next; counted when the stream ends.",
    GAP_BOUNDS,
)
_SHAPES: Final = (FIRST_EVENT, DURATION, EVENT_GAP)


class _Source(Protocol):
    """Collects metrics, like a registry."""

    def collect(self) -> Iterable[Metric]:
        """Return the metrics."""


class SecondsCounts:
    """Counts observations until they are added to their histogram.

    Args:
        bounds: the bounds of the buckets.
    """

    __slots__ = ("_bounds", "_counts", "_seconds")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._seconds = 0.0

    def note(self, seconds: float) -> None:
        """Count one observation."""
        self._counts[bisect_left(self._bounds, seconds)] += 1
        self._seconds += seconds

    def add(self, counts: Sequence[int], seconds: float) -> None:
        """Add the observations of a stream: the number in each bucket, and the sum of the seconds."""
        self._counts = [before + count for before, count in zip(self._counts, counts, strict=True)]
        self._seconds += seconds

    def move_to(self, histogram: HistogramOfEndpoint) -> None:
        """Add the observations to a histogram, and reset the counts."""
        if any(self._counts):
            histogram.add(self._counts, self._seconds)
            self._counts, self._seconds = [0] * len(self._counts), 0.0


class HistogramOfEndpoint:
    """The counters of one histogram of one endpoint.

    Args:
        buckets: counts the observations of each bucket.
        total: adds up the observations, in seconds.
    """

    def __init__(self, buckets: Sequence[Counter], total: Counter) -> None:
        self._buckets: Final = buckets
        self._total: Final = total

    def add(self, counts: Sequence[int], seconds: float) -> None:
        """Add the numbers of observations of the buckets (the last has no bound), and their sum."""
        self._total.inc(seconds)
        for bucket, count in zip(self._buckets, counts, strict=True):
            if count:
                bucket.inc(count)


class HistogramCounters:
    """The counters of one histogram in one process.

    Args:
        shape: the shape of the histogram.
        registry: contains the counters, which are not shown themselves.
    """

    def __init__(self, shape: Shape, registry: CollectorRegistry) -> None:
        self._shape: Final = shape
        labels = (_ENDPOINT, _BOUND)
        self._counts: Final = Counter(shape.name + _COUNTS, shape.text, labels, registry=registry)
        self._sums: Final = Counter(shape.name + _SUMS, shape.text, (_ENDPOINT,), registry=registry)

    def of(self, endpoint: str) -> HistogramOfEndpoint:
        """Return the counters of an endpoint. They are shown from now on."""
        buckets = [self._counts.labels(endpoint, bucket) for bucket in self._shape.buckets]
        return HistogramOfEndpoint(buckets, self._sums.labels(endpoint))


class CountedHistograms(Collector):
    """Shows the metrics of a registry, with histograms in place of their counters.

    Args:
        source: the registry.
    """

    def __init__(self, source: _Source) -> None:
        self._source: Final = source

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        counters: dict[str, Metric] = {}
        names = {shape.name + suffix for shape in _SHAPES for suffix in (_COUNTS, _SUMS)}
        for metric in self._source.collect():
            if metric.name in names:
                counters[metric.name] = metric
            else:
                yield metric
        for shape in _SHAPES:
            yield _histogram(shape, counters.get(shape.name + _COUNTS), counters.get(shape.name + _SUMS))


def _histogram(shape: Shape, counts: Metric | None, sums: Metric | None) -> HistogramMetricFamily:
    """Return a histogram; each bucket counts the observations up to its bound."""
    by_endpoint: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for sample in () if counts is None else counts.samples:
        by_endpoint[sample.labels[_ENDPOINT]][sample.labels[_BOUND]] = sample.value
    totals = {sample.labels[_ENDPOINT]: sample.value for sample in (() if sums is None else sums.samples)}
    histogram = HistogramMetricFamily(shape.name, shape.text, labels=(_ENDPOINT,))
    for endpoint, by_bound in by_endpoint.items():
        below, buckets = 0.0, []
        for bucket in shape.buckets:
            below += by_bound.get(bucket, 0.0)
            buckets.append((bucket, below))
        histogram.add_metric((endpoint,), buckets, totals.get(endpoint, 0.0))
    return histogram
