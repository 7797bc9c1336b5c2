"""The timeouts of one stream, without I/O: shells note events, ask for the next entry, and sleep.

    entry                 for           from                            while
    ───────────────────   ───────────   ─────────────────────────────   ─────────────────────────────────────
    total_timeout         total         the beginning
    first_event_timeout   first_event   asking the source               no event has come
    idle_timeout          idle          the last read                   not busy, no question is open
    settled               5 s           the last read                   soft evidence, and the same
    settled               waiting       the last read                   a question is open, not busy
    slow_client           write         the last that a client took     something is being written
    heartbeat             heartbeat     the last write                  nothing is, and there is a client

Times are seconds of one monotonic clock. Nothing is computed per event: a shell sets plain attributes, and
looks at the table when the next entry may have run out.

Source: the configuration contract (`timeouts`, `heartbeat`); the standard protocol 1.1, sections 3.8 and 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final, Literal, NamedTuple, Protocol, TypeAlias

from streamweir.errors import ErrorInfo, error_info
from streamweir.options.timeouts import NO_TIMEOUTS

__all__ = ["SETTLE_SECONDS", "Due", "Durations", "Evidence", "StreamClock", "timeout_error"]

SETTLE_SECONDS: Final = 5.0
"""Seconds of silence after soft evidence of the end, until the stream is over."""

_LOOKS_PER_WRITE: Final = 4
"""How often one looks at the client in the time for which it may fail to read, to notice that it reads."""

Timeout: TypeAlias = Literal["total_timeout", "first_event_timeout", "idle_timeout"]
Due: TypeAlias = Timeout | Literal["settled", "slow_client", "heartbeat"]


class Evidence(Protocol):
    """The state of a source of events, such as a reader or a translator."""

    @property
    def started(self) -> bool:
        """Whether an event has come."""

    @property
    def complete(self) -> bool:
        """Whether there is soft evidence of a proper end."""

    @property
    def waits(self) -> bool:
        """Whether a person was asked, and the upstream may continue in this connection."""


class Durations(Protocol):
    """The timeouts for a source, in seconds; None: no timeout."""

    @property
    def first_event(self) -> float | None:
        """From the request to the first event."""

    @property
    def idle(self) -> float | None:
        """Between two reads."""

    @property
    def total(self) -> float | None:
        """For the whole stream."""

    @property
    def waiting(self) -> float | None:
        """Between two reads while a person is asked."""


class StreamClock:
    """The clocks of one stream, or of one side of it (source or client).

    It is no struct, because an attribute of a struct takes several times as long to set.
    """

    __slots__ = (
        "_unsent",
        "asked",
        "began",
        "heartbeat",
        "is_busy",
        "is_closed",
        "last_read",
        "last_write",
        "source",
        "timeouts",
        "write",
        "writing_since",
    )

    def __init__(
        self,
        began: float,
        heartbeat: float | None = None,
        source: Evidence | None = None,
        timeouts: Durations = NO_TIMEOUTS,
        write: float | None = None,
    ) -> None:
        self.began = began
        self.source = source
        self.timeouts = timeouts
        self.heartbeat = heartbeat
        self.write = write
        self.asked: float | None = None
        self.last_read: float | None = None
        self.last_write: float | None = None
        """When bytes were last written for the client; None: since `began` there were none."""
        self.is_busy = False
        self.writing_since: float | None = None
        self.is_closed = False
        self._unsent: tuple[float, int | None] | None = None
        """The write that `note_unsent` was last called for, and its bytes that the client had not read."""

    def begin_writing(self, write: float | None) -> float:
        """Set the seconds for which the client may fail to read.

        Returns:
            The seconds in which no entry of the client's side can run out if all begin to run now.
        """
        self.write = write
        soonest = math.inf if write is None else write / _LOOKS_PER_WRITE
        return soonest if self.heartbeat is None else min(soonest, self.heartbeat)

    def note_unsent(self, unsent: int | None, now: float) -> None:
        """Note how many bytes of the pending write the client has not read; if the number shrinks, the client
        is reading.
        """
        since, noted = self.writing_since, self._unsent
        if since is None:
            self._unsent = None
            return
        before = noted[1] if noted is not None and noted[0] == since else None
        if unsent is not None and before is not None and unsent < before:
            self.writing_since = since = now
        self._unsent = since, unsent

    def due(self, now: float) -> Due | None:
        """Return the entry that ran out first; a heartbeat only if no other entry has; None if no entry has
        run out.
        """
        return self.look(now)[0]

    def next_due(self) -> tuple[float, Due | None]:
        """Return the entry that runs out next, with its time, if nothing happens until then."""
        return min(self._deadlines(), default=(math.inf, None))

    def next_look(self, now: float) -> float:
        """Return the time before which no entry can run out, whatever events are noted meanwhile."""
        return self.look(now)[1]

    def look(self, now: float) -> tuple[Due | None, float]:
        """Return the results of `due` and `next_look`; the entries are computed once for both."""
        over: list[tuple[float, Due]] = []
        earliest = math.inf if self.write is None else now + self.write / _LOOKS_PER_WRITE
        for due, since_of, seconds_of in _TABLE:
            if (seconds := seconds_of(self)) is not None:
                since = since_of(self)
                when = (now if since is None else since) + seconds
                earliest = min(earliest, when)
                if since is not None and now >= when:
                    over.append((when, due))
        return _first(over), earliest

    def _deadlines(self) -> Iterator[tuple[float, Due]]:
        for row in _TABLE:
            since, seconds = row.since(self), row.seconds(self)
            if since is not None and seconds is not None:
                yield since + seconds, row.due


class _Row(NamedTuple):
    """One entry: the time since when it runs (None: it does not run), and its duration."""

    due: Due
    since: Callable[[StreamClock], float | None]
    seconds: Callable[[StreamClock], float | None]


def _first(over: list[tuple[float, Due]]) -> Due | None:
    ends = [deadline for deadline in over if deadline[1] != "heartbeat"]
    return min(ends or over)[1] if over else None


def _first_event_since(clock: StreamClock) -> float | None:
    return None if clock.source is not None and clock.source.started else clock.asked


def _idle_since(clock: StreamClock) -> float | None:
    has_begun = clock.source is not None and clock.source.started
    is_running = has_begun and not (clock.is_busy or _waits(clock))
    return clock.last_read if is_running else None


def _settled_since(clock: StreamClock) -> float | None:
    is_complete = clock.source is not None and clock.source.complete
    return clock.last_read if is_complete and not (clock.is_busy or _waits(clock)) else None


def _asked_since(clock: StreamClock) -> float | None:
    return clock.last_read if _waits(clock) and not clock.is_busy else None


def _waits(clock: StreamClock) -> bool:
    return clock.source is not None and clock.source.waits


def _silent_since(clock: StreamClock) -> float | None:
    is_writing = clock.is_busy or clock.writing_since is not None
    if is_writing or clock.is_closed:
        return None
    return clock.began if clock.last_write is None else clock.last_write


_TABLE: Final = (
    _Row("total_timeout", lambda clock: clock.began, lambda clock: clock.timeouts.total),
    _Row("first_event_timeout", _first_event_since, lambda clock: clock.timeouts.first_event),
    _Row("idle_timeout", _idle_since, lambda clock: clock.timeouts.idle),
    _Row("settled", _settled_since, lambda clock: None if clock.source is None else SETTLE_SECONDS),
    _Row("settled", _asked_since, lambda clock: clock.timeouts.waiting),
    _Row("slow_client", lambda clock: clock.writing_since, lambda clock: clock.write),
    _Row("heartbeat", _silent_since, lambda clock: clock.heartbeat),
)


def timeout_error(due: Timeout) -> ErrorInfo:
    """Return the failure of a source that took too long."""
    return error_info("UPSTREAM_TIMEOUT", reason=due)
