"""The histogram of the gaps between reads, made of counts that a stream brings with its end.

A histogram of `prometheus_client` takes one observation after the other: for gaps, work per event. So what is
counted is how many fell into each bucket, and their sum; a histogram is made of it when it is shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Metric
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

from streamweir_gateway.observability.record import GAP_BOUNDS

__all__ = ["GapCounts", "GapHistogram", "GapsOfEndpoint"]

_NAME: Final = "streamweir_event_gap_seconds"
_TEXT: Final = "From one read that gave events of an upstream to the next; counted when the stream ends."
_COUNTS: Final = "streamweir_event_gap_counts"
_SUMS: Final = "streamweir_event_gap_sums"
_ENDPOINT, _BOUND = "endpoint", "le"
_BUCKETS: Final = (*map(str, GAP_BOUNDS), "+Inf")


class _Source(Protocol):
    """Collects metrics: a registry."""

    def collect(self) -> Iterable[Metric]:
        """Return them."""
        ...


class GapsOfEndpoint:
    """The gaps in the streams of one endpoint.

    Args:
        buckets: counts the gaps of each bucket.
        total: adds up the gaps, in seconds.
    """

    def __init__(self, buckets: Sequence[Counter], total: Counter) -> None:
        self._buckets: Final = buckets
        self._total: Final = total

    def add(self, counts: Sequence[int], seconds: float) -> None:
        """Add so many gaps per bucket, the last one being that of the largest, and their sum."""
        self._total.inc(seconds)
        for bucket, count in zip(self._buckets, counts, strict=True):
            if count:
                bucket.inc(count)


class GapCounts:
    """Counts the gaps of one process.

    Args:
        registry: has the counts, which are not shown themselves.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._counts: Final = Counter(_COUNTS, _TEXT, (_ENDPOINT, _BOUND), registry=registry)
        self._sums: Final = Counter(_SUMS, _TEXT, (_ENDPOINT,), registry=registry)

    def of(self, endpoint: str) -> GapsOfEndpoint:
        """Return the counts of an endpoint; they are shown from here on."""
        buckets = [self._counts.labels(endpoint, bound) for bound in _BUCKETS]
        return GapsOfEndpoint(buckets, self._sums.labels(endpoint))


class GapHistogram(Collector):
    """Shows the metrics of a registry, with one histogram in the place of the counts.

    Args:
        source: the registry.
    """

    def __init__(self, source: _Source) -> None:
        self._source: Final = source

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        counts: defaultdict[str, dict[str, float]] = defaultdict(dict)
        sums: dict[str, float] = {}
        for metric in self._source.collect():
            if metric.name == _COUNTS:
                for sample in metric.samples:
                    counts[sample.labels[_ENDPOINT]][sample.labels[_BOUND]] = sample.value
            elif metric.name == _SUMS:
                sums |= {sample.labels[_ENDPOINT]: sample.value for sample in metric.samples}
            else:
                yield metric
        yield _histogram(counts, sums)


def _histogram(counts: dict[str, dict[str, float]], sums: dict[str, float]) -> HistogramMetricFamily:
    """A histogram; each bucket counts the gaps up to its bound."""
    histogram = HistogramMetricFamily(_NAME, _TEXT, labels=(_ENDPOINT,))
    for endpoint, by_bound in counts.items():
        below, buckets = 0.0, []
        for bound in _BUCKETS:
            below += by_bound.get(bound, 0.0)
            buckets.append((bound, below))
        histogram.add_metric((endpoint,), buckets, sums.get(endpoint, 0.0))
    return histogram
