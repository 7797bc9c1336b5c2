"""The timeouts of a stream: each entry of the table, and the time until a shell may sleep."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir.options.timeouts import NO_TIMEOUTS, Timeouts
from streamweir.translation.clock import SETTLE_SECONDS, Due, StreamClock, timeout_error


class Source:
    def __init__(self, *, started: bool = False, complete: bool = False, waits: bool = False) -> None:
        self.started = started
        self.complete = complete
        self.waits = waits


def limits(**seconds: float) -> Timeouts:
    return Timeouts(**{"connect": None, "first_event": None, "idle": None, **seconds})


def clock(source: Source | None = None, facts: dict[str, Any] | None = None, **options: Any) -> StreamClock:
    made = StreamClock(source=source, began=100.0, **options)
    for name, value in (facts or {}).items():
        setattr(made, name, value)
    return made


BEGUN, COMPLETE = Source(started=True), Source(started=True, complete=True)
ASKING = Source(started=True, complete=True, waits=True)

RUNNING: list[tuple[Due, float, StreamClock]] = [
    ("total_timeout", 160.0, clock(timeouts=limits(total=60))),
    ("total_timeout", 160.0, clock(BEGUN, {"is_busy": True}, timeouts=limits(total=60))),
    ("first_event_timeout", 112.0, clock(facts={"asked": 102.0}, timeouts=limits(first_event=10))),
    ("first_event_timeout", 112.0, clock(Source(), {"asked": 102.0}, timeouts=limits(first_event=10))),
    ("idle_timeout", 113.0, clock(BEGUN, {"last_read": 103.0}, timeouts=limits(idle=10))),
    ("settled", 103.0 + SETTLE_SECONDS, clock(COMPLETE, {"last_read": 103.0})),
    ("settled", 103.0 + SETTLE_SECONDS, clock(COMPLETE, {"last_read": 103.0}, timeouts=limits(idle=10))),
    ("settled", 133.0, clock(ASKING, {"last_read": 103.0}, timeouts=limits(idle=10, waiting=30))),
    ("idle_timeout", 105.0, clock(COMPLETE, {"last_read": 103.0}, timeouts=limits(idle=2))),
    ("slow_client", 134.0, clock(facts={"writing_since": 104.0}, write=30)),
    ("heartbeat", 115.0, clock(heartbeat=15)),
    ("heartbeat", 120.0, clock(facts={"last_write": 105.0}, heartbeat=15)),
]


@pytest.mark.parametrize(("due", "when", "running"), RUNNING)
def test_entry_is_due_at_its_time_and_not_before(due: Due, when: float, running: StreamClock) -> None:
    assert running.next_due() == (when, due)
    assert running.due(when - 0.001) is None
    assert running.due(when) == due
    assert running.next_look(100.0) <= when


@pytest.mark.parametrize(
    "stopped",
    [
        clock(),
        clock(BEGUN, {"last_read": 100.0, "asked": 100.0}),
        clock(BEGUN, {"asked": 100.0}, timeouts=limits(first_event=10)),
        clock(Source(), timeouts=limits(first_event=10)),  # it has not been asked
        clock(Source(), {"last_read": 100.0}, timeouts=limits(idle=10)),
        clock(BEGUN, {"last_read": 100.0, "is_busy": True}, timeouts=limits(idle=10)),
        clock(COMPLETE, {"last_read": 100.0, "is_busy": True}),
        clock(COMPLETE),
        clock(write=30),
        clock(facts={"is_closed": True}, heartbeat=15),
        clock(facts={"is_busy": True}, heartbeat=15),
        clock(facts={"writing_since": 100.0}, heartbeat=15),
    ],
)
def test_entry_that_does_not_run_is_never_due(stopped: StreamClock) -> None:
    assert stopped.next_due()[1] is None
    assert stopped.due(1e9) is None


def test_due_returns_the_first_entry_and_heartbeats_last() -> None:
    running = clock(COMPLETE, {"last_read": 101.0}, timeouts=limits(idle=60, total=120), heartbeat=1)
    assert running.due(105.0) == "heartbeat"
    assert running.due(1000.0) == "settled"


def test_client_that_reads_slowly_is_not_due() -> None:
    running = clock(facts={"writing_since": 100.0}, write=30)
    running.note_unsent(500, 110.0)
    running.note_unsent(500, 120.0)
    assert running.next_due() == (130.0, "slow_client")
    running.note_unsent(400, 125.0)
    assert running.next_due() == (155.0, "slow_client")
    running.note_unsent(400, 130.0)
    assert running.next_due() == (155.0, "slow_client")
    running.writing_since = 140.0  # another write, of which less is unsent: that says nothing
    running.note_unsent(300, 141.0)
    assert running.next_due() == (170.0, "slow_client")
    running.note_unsent(None, 150.0)
    assert running.next_due() == (170.0, "slow_client")


def test_next_look_without_entries_is_never() -> None:
    assert clock().next_look(0.0) == float("inf")
    assert clock(BEGUN).next_look(100.0) == 100.0 + SETTLE_SECONDS
    assert clock(write=40).next_look(100.0) == 110.0


@pytest.mark.parametrize("due", ["total_timeout", "first_event_timeout", "idle_timeout"])
def test_timeout_error_names_the_timeout(due: Any) -> None:
    info = timeout_error(due)
    assert (info.code, info.reason) == ("UPSTREAM_TIMEOUT", due)


SECONDS = st.none() | st.integers(1, 20).map(float)
HAPPENINGS = st.lists(
    st.tuples(
        st.integers(0, 8), st.sampled_from(["read", "event", "soft", "busy", "written", "asked", "close"])
    ),
    max_size=20,
)


@given(HAPPENINGS, SECONDS, SECONDS, SECONDS, SECONDS)
def test_next_look_is_never_later_than_an_entry(
    happenings: list[tuple[int, str]],
    first_event: float | None,
    idle: float | None,
    total: float | None,
    heartbeat: float | None,
) -> None:
    """Facts change while the shell sleeps; at each look, no entry has run out before."""
    source = Source()
    timeouts = Timeouts(connect=None, first_event=first_event, idle=idle, total=total)
    watched = StreamClock(source=source, began=0.0, timeouts=timeouts, heartbeat=heartbeat)
    now, look = 0.0, watched.next_look(0.0)
    for pause, happening in [*happenings, (30, "close")]:
        while look <= now + pause:
            when, due = watched.next_due()
            assert when >= look, due
            if watched.due(look) == "heartbeat":
                watched.last_write = look
            elif watched.due(look) is not None:
                return
            look = watched.next_look(look)
        now += pause
        happen(watched, source, happening, now)


def happen(watched: StreamClock, source: Source, happening: str, now: float) -> None:
    match happening:
        case "read" | "event" | "soft" if not watched.is_busy:  # who is busy writes, before it reads again
            watched.last_read = now
            source.started = source.started or happening == "event"
            source.complete = source.complete or happening == "soft"
        case "busy":
            watched.is_busy = True
        case "written":
            watched.last_read = watched.last_write = now
            watched.is_busy = False
        case "asked":
            watched.asked = now
        case "close":
            watched.is_closed = True


def test_clock_without_timeouts_has_only_its_heartbeat() -> None:
    assert (NO_TIMEOUTS.first_event, NO_TIMEOUTS.idle, NO_TIMEOUTS.total) == (None, None, None)
