"""The timer that all clocks of an event loop share."""

import asyncio
import gc
import math
import random
import time
from collections.abc import Callable
from typing import Any
from weakref import ref

import pytest

from patience import PROMPTLY, let_loop_run
from streamweir.delivery.clock_sweep import TICK_SECONDS, ClockSweep, Watched, sweep_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Clock(Watched):
    """Keeps the times at which it is looked at; `act` returns when to look again."""

    def __init__(self, act: Callable[[float], float] = lambda _: math.inf) -> None:
        super().__init__()
        self.looks: list[float] = []
        self.act = act

    def look(self, now: float) -> float:
        self.looks.append(now)
        return self.act(now)


def sweep_here() -> ClockSweep:
    return sweep_of(asyncio.get_running_loop())


async def test_sweep_with_many_clocks_sets_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop, timers = asyncio.get_running_loop(), 0
    call_later = loop.call_later

    def counted(*args: Any, **options: Any) -> asyncio.TimerHandle:
        nonlocal timers
        timers += 1
        return call_later(*args, **options)

    sweep, soon = ClockSweep(loop), time.monotonic() + 5
    monkeypatch.setattr(loop, "call_later", counted)
    for _ in range(1000):
        sweep.look_at(Clock(), soon)
    assert timers == 1


async def test_first_look_at_patient_clocks_comes_within_a_second_at_few_times() -> None:
    sweep, clocks, began = sweep_here(), [Clock() for _ in range(20)], time.monotonic()
    for clock in clocks:
        sweep.look_soon(clock, 15.0)
        await asyncio.sleep(0.002)
    ticks = [clock.tick or 0 for clock in clocks]
    assert len({*ticks}) <= 2 + (time.monotonic() - began) / 0.1
    assert all(began + 0.85 < tick * TICK_SECONDS <= time.monotonic() + 1.0 for tick in ticks)
    for clock in clocks:
        sweep.forget(clock)


async def test_sweep_looks_at_every_clock_once_its_time_has_come() -> None:
    generator, sweep, began = random.Random(5), sweep_here(), time.monotonic()
    clocks = {Clock(): began + generator.uniform(-0.01, 0.15) for _ in range(200)}
    for clock, when in clocks.items():
        sweep.look_at(clock, when)
    await let_loop_run(0.25)
    for clock, when in clocks.items():
        (look,) = clock.looks
        assert look >= when - 0.002, "a loop's timer may be a millisecond early"


async def test_clock_is_looked_at_again_at_the_time_that_it_returns() -> None:
    clock, last = Clock(), asyncio.Event()

    def act(now: float) -> float:
        if len(clock.looks) == 4:
            last.set()
            return math.inf
        return now + 3 * TICK_SECONDS

    clock.act = act
    sweep_here().look_soon(clock)
    async with asyncio.timeout(PROMPTLY):
        await last.wait()
    pauses = [after - before for before, after in zip(clock.looks, clock.looks[1:], strict=False)]
    assert all(pause >= 3 * TICK_SECONDS - 0.002 for pause in pauses)
    await let_loop_run(5 * TICK_SECONDS)
    assert len(clock.looks) == 4


async def test_clock_that_is_forgotten_is_never_looked_at() -> None:
    sweep, forgotten, other = sweep_here(), Clock(), Clock()
    sweep.look_soon(forgotten)
    sweep.look_soon(other)
    sweep.forget(forgotten)
    await let_loop_run(3 * TICK_SECONDS)
    assert (len(forgotten.looks), len(other.looks)) == (0, 1)


async def test_clock_forgotten_by_another_one_of_its_tick_is_not_looked_at() -> None:
    sweep, when = sweep_here(), time.monotonic() + TICK_SECONDS
    clocks = [Clock() for _ in range(20)]

    def act(_: float) -> float:
        for clock in clocks:
            sweep.forget(clock)
        return math.inf

    for clock in clocks:
        clock.act = act
        sweep.look_at(clock, when)
    await let_loop_run(4 * TICK_SECONDS)
    assert sum(len(clock.looks) for clock in clocks) == 1


async def test_time_that_is_set_within_a_look_is_kept() -> None:
    sweep, clock = sweep_here(), Clock()

    def act(now: float) -> float:
        if len(clock.looks) == 1:
            sweep.look_at(clock, now + 2 * TICK_SECONDS)
        return math.inf

    clock.act = act
    sweep.look_soon(clock)
    await let_loop_run(8 * TICK_SECONDS)
    assert len(clock.looks) == 2


async def test_clock_that_raises_is_reported_and_stops_no_other_clock() -> None:
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))

    def fail(_: float) -> float:
        raise ValueError("a clock that fails")

    sweep, clocks = sweep_here(), [Clock(), Clock(fail), Clock()]
    for clock in clocks:
        sweep.look_soon(clock)
    await let_loop_run(3 * TICK_SECONDS)
    assert [len(clock.looks) for clock in clocks] == [1, 1, 1]
    assert [str(report["exception"]) for report in reports] == ["a clock that fails"]


def test_sweep_keeps_no_loop_that_is_over() -> None:
    async def use() -> None:
        sweep_here().look_soon(Clock())
        await let_loop_run(3 * TICK_SECONDS)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    loop.close()
    known = ref(loop)
    del loop
    gc.collect()
    assert known() is None
