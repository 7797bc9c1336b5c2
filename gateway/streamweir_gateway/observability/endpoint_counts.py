"""Adds up counts of one endpoint before they are added to its metrics.

A counter of `prometheus_client` costs a lock for each addition, and a write into a file if processes share
the counter. So the numbers of streams are added up as plain integers, and added to the metrics together.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from prometheus_client import Counter, Gauge

from streamweir_gateway.observability.counted_histograms import (
    DURATION,
    EVENT_GAP,
    FIRST_EVENT,
    HistogramOfEndpoint,
    SecondsCounts,
)
from streamweir_gateway.observability.record import RequestRecord

__all__ = ["EndpointCounts", "EndpointSeries"]


class EndpointSeries(NamedTuple):
    """The metric series of one endpoint, looked up once."""

    open: Gauge
    first_event: HistogramOfEndpoint
    gaps: HistogramOfEndpoint
    duration: HistogramOfEndpoint
    events: Counter
    upstream_bytes: Counter
    client_bytes: Counter


class EndpointCounts:
    """Adds up the numbers of the streams of one endpoint.

    Attributes:
        opened: the number of streams that have begun, less those that have ended, since the last sum.

    Args:
        series: gets the sums.
    """

    __slots__ = (
        "_client_bytes",
        "_durations",
        "_events",
        "_first_events",
        "_gaps",
        "_series",
        "_upstream_bytes",
        "opened",
    )

    def __init__(self, series: EndpointSeries) -> None:
        self._series: Final = series
        self.opened = self._events = self._upstream_bytes = self._client_bytes = 0
        self._first_events = SecondsCounts(FIRST_EVENT.bounds)
        self._durations = SecondsCounts(DURATION.bounds)
        self._gaps = SecondsCounts(EVENT_GAP.bounds)

    def stream_ended(self, record: RequestRecord) -> None:
        """Count the stream of a request that has ended."""
        self.opened -= 1
        self._events += record.events or 0
        self._upstream_bytes += record.bytes_in or 0
        self._client_bytes += record.bytes_out or 0
        if record.first_event_ms is not None:
            self._first_events.note(record.first_event_ms / 1000)
        if record.duration_ms is not None:
            self._durations.note(record.duration_ms / 1000)
        if record.gaps is not None and record.gap_seconds:
            self._gaps.add(record.gaps, record.gap_seconds)

    def move_to_metrics(self) -> None:
        """Add the sums to the metrics, and reset them."""
        series = self._series
        if self.opened:
            series.open.inc(self.opened)
        for counter, amount in (
            (series.events, self._events),
            (series.upstream_bytes, self._upstream_bytes),
            (series.client_bytes, self._client_bytes),
        ):
            if amount:
                counter.inc(amount)
        self.opened = self._events = self._upstream_bytes = self._client_bytes = 0
        self._first_events.move_to(series.first_event)
        self._durations.move_to(series.duration)
        self._gaps.move_to(series.gaps)
