"""Computes the numbers for the plots: one bucket per second and endpoint, for a quarter of an hour.

    open          rows that have not ended, at the end of the second
    started       rows that began in it
    first_event   of streams whose first event came in it: percentiles of the time to it
    gap           of streams that ended in it: percentiles of their largest gap between events
    reasons       of streams that ended in it

Source: the console contract, section 1 (`plots`).
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from math import ceil, floor
from typing import Any, Final

from streamweir_gateway.console.row import FINAL_STATES, PlottedRow, Row

__all__ = ["SECONDS", "Plots"]

SECONDS: Final = 900
MAX_SAMPLES: Final = 500
"""The most samples that a bucket keeps. Later samples do not count for its percentiles."""
_RECENT: Final = 3
"""The number of recent seconds whose buckets are usually still changed by values that become known late."""


class _Bucket:
    __slots__ = ("first_events", "gaps", "open", "reasons", "started")

    def __init__(self) -> None:
        self.open = 0
        self.started = 0
        self.first_events = array("f")
        self.gaps = array("f")
        self.reasons: dict[str, int] = {}

    def note_first(self, first: float) -> None:
        """Note the time to the first event of a row."""
        if len(self.first_events) < MAX_SAMPLES:
            self.first_events.append(first)

    def note_end(self, gap: float | None, reason: str | None) -> None:
        """Note the end of a row, and its largest gap."""
        if gap and len(self.gaps) < MAX_SAMPLES:
            self.gaps.append(gap)
        if reason is not None:
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def note_rows(self, rows: Sequence[PlottedRow]) -> None:
        """Note rows that began and ended in this second."""
        self.started += len(rows)
        firsts = [first for row in rows if (first := row.first_event_ms) is not None]
        self.first_events.extend(firsts[: MAX_SAMPLES - len(self.first_events)])
        self.gaps.extend([gap for row in rows if (gap := row.max_gap_ms)][: MAX_SAMPLES - len(self.gaps)])
        for reason, count in Counter([row.reason for row in rows]).items():
            if reason is not None:
                self.reasons[reason] = self.reasons.get(reason, 0) + count


class Plots:
    """Counts rows by the second.

    Args:
        now: Unix seconds.
    """

    def __init__(self, now: float) -> None:
        self._now = floor(now)
        self._buckets: dict[str | None, dict[int, _Bucket]] = {None: {}}
        """The buckets by endpoint, then by second. The key None is for all endpoints together."""
        self._open: Counter[str | None] = Counter()
        self._last_key: tuple[int, str] | None = None
        """The second and the endpoint of `_last`; None after a second has ended."""
        self._last: tuple[_Bucket, ...] = ()
        """The buckets that were found last."""

    def note(self, before: Row | None, row: Row, now: float) -> None:
        """Count a change of a row."""
        if now >= self._now + 1:
            self.tick(now)
        has_ended = row.state in FINAL_STATES
        if before is None and has_ended:
            self.note_ended((row,), now)
            return
        if before is None:
            self._note_start(row)
            self._note_open(row, row.began / 1000, now)
            self._count_open(row, 1)
        if row.first_event_ms is not None and (before is None or before.first_event_ms is None):
            self._note_first(row, row.first_event_ms)
        if before is not None and has_ended and before.state not in FINAL_STATES:
            self._count_open(row, -1)
            self._note_end(row, _end_of(row, now))

    def note_ended(self, rows: Iterable[PlottedRow], now: float) -> None:
        """Count rows that were not counted while they were open."""
        if now >= self._now + 1:
            self.tick(now)
        within: defaultdict[tuple[int, str | None], list[PlottedRow]] = defaultdict(list)
        for row in rows:
            began, duration = row.began, row.duration_ms
            if duration is not None and (began + duration) // 1000 == (second := began // 1000):
                within[second, row.endpoint].append(row)
            else:
                self._note_whole(row, now)
        for (second, _), group in within.items():
            for bucket in self._at(group[0], second):
                bucket.note_rows(group)

    def _note_whole(self, row: PlottedRow, now: float) -> None:
        """Count a row that began and ended."""
        began, ended, first = row.began / 1000, _end_of(row, now), row.first_event_ms
        self._note_open(row, began, ended)
        self._note_start(row)
        if first is not None:
            self._note_first(row, first)
        self._note_end(row, ended)

    def _note_start(self, row: PlottedRow) -> None:
        for bucket in self._at(row, row.began / 1000):
            bucket.started += 1

    def _note_first(self, row: PlottedRow, first: float) -> None:
        for bucket in self._at(row, row.began / 1000 + first / 1000):
            bucket.note_first(first)

    def _note_end(self, row: PlottedRow, ended: float) -> None:
        for bucket in self._at(row, ended):
            bucket.note_end(row.max_gap_ms, row.reason)

    def _note_open(self, row: PlottedRow, began: float, until: float) -> None:
        """Count a row in the seconds at whose ends it was open before it was known here."""
        first = max(floor(began), self._now - SECONDS + 1)
        for second in range(first, min(floor(until), self._now)):
            for endpoint in (None, row.endpoint or ""):
                self._bucket(endpoint, second).open += 1

    def tick(self, now: float) -> None:
        """Move the plots on to the present second."""
        second = floor(now)
        self._last_key = None
        while self._now < second:
            self._close_second(max(self._now, second - SECONDS))
            self._now = max(self._now + 1, second - SECONDS)

    def recent(self, endpoint: str | None = None) -> dict[str, Any]:
        """Return the last few complete seconds, for viewers that have the earlier ones."""
        return self._shown(range(self._now - _RECENT, self._now), endpoint)

    def all(self, endpoint: str | None = None) -> dict[str, Any]:
        """Return all complete seconds."""
        return self._shown(range(self._now - SECONDS, self._now), endpoint)

    def _close_second(self, second: int) -> None:
        """Note how many streams are open at the end of a second, and drop the oldest second."""
        for endpoint, count in self._open.items():
            if count:
                self._bucket(endpoint, second).open = count
        self._bucket(None, second).open = sum(self._open.values())
        for buckets in self._buckets.values():
            buckets.pop(second - SECONDS, None)
        for endpoint in [name for name, buckets in self._buckets.items() if name and not buckets]:
            del self._buckets[endpoint]

    def _count_open(self, row: Row, difference: int) -> None:
        self._open[row.endpoint or ""] += difference

    def _bucket(self, endpoint: str | None, second: int) -> _Bucket:
        buckets = self._buckets.get(endpoint)
        if buckets is None:
            buckets = self._buckets[endpoint] = {}
        bucket = buckets.get(second)
        if bucket is None:
            bucket = buckets[second] = _Bucket()
        return bucket

    def _at(self, row: PlottedRow, at: float) -> tuple[_Bucket, ...]:
        """Return the buckets of a second: that of all endpoints, and that of the row's endpoint."""
        second, endpoint = min(floor(at), self._now), row.endpoint or ""
        key = (second, endpoint)
        if key != self._last_key:
            if second <= self._now - SECONDS:
                return ()
            self._last_key, self._last = key, (self._bucket(None, second), self._bucket(endpoint, second))
        return self._last

    def _shown(self, seconds: Sequence[int], endpoint: str | None) -> dict[str, Any]:
        known = self._buckets.get(endpoint, {})
        buckets = [known.get(second) or _EMPTY for second in seconds]
        words = sorted({word for bucket in buckets for word in bucket.reasons})
        return {
            "t": [*seconds],
            "open": [bucket.open for bucket in buckets],
            "started": [bucket.started for bucket in buckets],
            "first_event": _percentiles([bucket.first_events for bucket in buckets], (50, 90, 99)),
            "gap": _percentiles([bucket.gaps for bucket in buckets], (50, 99)),
            "reasons": {word: [bucket.reasons.get(word, 0) for bucket in buckets] for word in words},
        }


_EMPTY: Final = _Bucket()


def _end_of(row: PlottedRow, now: float) -> float:
    """Return the end of a row in Unix seconds; `now` if the row has no duration."""
    return now if row.duration_ms is None else (row.began + row.duration_ms) / 1000


def _percentiles(samples: Iterable[Sequence[float]], which: Sequence[int]) -> dict[str, list[float | None]]:
    ordered = [sorted(each) for each in samples]
    return {f"p{percent}": [_percentile(each, percent) for each in ordered] for percent in which}


def _percentile(ordered: Sequence[float], percent: int) -> float | None:
    """Return the percentile by nearest rank; None without a sample."""
    if not ordered:
        return None
    return round(ordered[max(0, ceil(len(ordered) * percent / 100) - 1)], 1)
