"""What is due when in one stream, without I/O: shells note what happens, ask, and sleep in their own way.

    what is due           for           from                            while
    ───────────────────   ───────────   ─────────────────────────────   ─────────────────────────────────────
    total_timeout         total         the beginning
    first_event_timeout   first_event   asking the source               no event has come
    idle_timeout          idle          the last read                   not busy, no person is asked
    settled               5 s           the last read                   soft evidence, and the same
    settled               waiting       the last read                   a person is asked, not busy
    slow_client           write         the last that a client took     something is being written
    heartbeat             heartbeat     the last write                  nothing is, and there is a client

Times are seconds of one monotonic clock, whichever it is. Nothing is computed for an event: facts are plain
attributes, and a shell looks at the table when the next entry can have run out.

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
"""So much silence after soft evidence of the end, and the stream is over."""

Timeout: TypeAlias = Literal["total_timeout", "first_event_timeout", "idle_timeout"]
Due: TypeAlias = Timeout | Literal["settled", "slow_client", "heartbeat"]


class Evidence(Protocol):
    """What is known of a source: a reader, a translator."""

    @property
    def started(self) -> bool:
        """An event has come."""
        ...

    @property
    def complete(self) -> bool:
        """There is soft evidence of a proper end."""
        ...

    @property
    def waits(self) -> bool:
        """A person is asked, and the upstream may go on in the same connection."""
        ...


class Durations(Protocol):
    """How long to wait for a source, in seconds; None never runs out."""

    @property
    def first_event(self) -> float | None:
        """From asking to the first event."""
        ...

    @property
    def idle(self) -> float | None:
        """Between two reads."""
        ...

    @property
    def total(self) -> float | None:
        """For everything."""
        ...

    @property
    def waiting(self) -> float | None:
        """Between two reads while a person is asked."""
        ...


class StreamClock:
    """The clocks of one stream, or of one side of it.

    Args:
        source: of the events; None while there is none.
        now: when the stream began.
        timeouts: for the source.
        heartbeat: seconds of silence before one; None: never.
        write: seconds for which a client may take nothing; None: for ever.

    Attributes:
        source: of the events; may be exchanged for another attempt.
        timeouts: likewise.
        write: likewise.
        began: when the stream began.
        asked: when the source was asked; None while it has not been.
        last_read: when something last came, or the wait for it began; None before.
        is_busy: what came is being handed on, so that neither side is the one that is silent.
        last_write: when something was last sent to the client, or the beginning.
        writing_since: since when the client has taken nothing of what is being written; None: nothing is.
        is_closed: nothing more is written, no heartbeat either.
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
        source: Evidence | None = None,
        *,
        now: float,
        timeouts: Durations = NO_TIMEOUTS,
        heartbeat: float | None = None,
        write: float | None = None,
    ) -> None:
        self.source = source
        self.timeouts = timeouts
        self.heartbeat = heartbeat
        self.write = write
        self.began = self.last_write = now
        self.asked: float | None = None
        self.last_read: float | None = None
        self.is_busy = False
        self.writing_since: float | None = None
        self.is_closed = False
        self._unsent: tuple[float, int | None] | None = None
        """Of which write, and how much of it the client had not taken."""

    def note_unsent(self, unsent: int | None, now: float) -> None:
        """Take note of how much of what is being written the client has not taken: less means that it reads.

        Args:
            unsent: bytes; None where nobody knows.
            now: the time.
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
        """Return what has run out first; a heartbeat only where nothing else has. None: nothing has."""
        over = [(when, due) for when, due in self._deadlines() if now >= when]
        ends = [deadline for deadline in over if deadline[1] != "heartbeat"]
        return min(ends or over)[1] if over else None

    def next_due(self) -> tuple[float, Due | None]:
        """Return what runs out next, and when, if nothing happens until then."""
        return min(self._deadlines(), default=(math.inf, None))

    def next_look(self, now: float) -> float:
        """Return until when nothing can be due, whatever happens meanwhile."""
        looks = [row.earliest(self, now) for row in _TABLE]
        if self.write is not None:
            looks.append(now + self.write / 4)  # often enough to see that a client reads
        return min(looks)

    def _deadlines(self) -> Iterator[tuple[float, Due]]:
        for row in _TABLE:
            since, seconds = row.since(self), row.seconds(self)
            if since is not None and seconds is not None:
                yield since + seconds, row.due


class _Row(NamedTuple):
    """One line of the table: from when something runs, None while it does not, and for how long."""

    due: Due
    since: Callable[[StreamClock], float | None]
    seconds: Callable[[StreamClock], float | None]

    def earliest(self, clock: StreamClock, now: float) -> float:
        """When it can be due, if it is restarted or begins to run now or later."""
        seconds, since = self.seconds(clock), self.since(clock)
        if seconds is None:
            return math.inf
        return (now if since is None else since) + seconds


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
    return None if is_writing or clock.is_closed else clock.last_write


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
