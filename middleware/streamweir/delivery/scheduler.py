"""A timer and side tasks for one delivery, on asyncio or trio."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Awaitable, Callable
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Protocol

import anyio
from anyio.abc import TaskGroup

from streamweir.delivery.clock_sweep import TICK_SECONDS, Watched, sweep_of

__all__ = ["GroupScheduler", "LoopScheduler", "Scheduler", "start_task"]


class Scheduler(Protocol):
    """Runs functions in addition to the task that delivers."""

    def watch(self, look: Callable[[float], float], within: float = 0.0) -> None:
        """Set the only timer: call `look` soon, and again at each time that it returns.

        Args:
            within: seconds in which nothing can become due, so that `look` need not be called.
            look: gets `time.monotonic()` and returns the time of its next call; infinity: it is not called
                again.
        """
        ...

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """Run `function` in a separate task. It must not raise."""
        ...

    def close(self) -> None:
        """Stop the timer and cancel the tasks."""
        ...


class LoopScheduler(Watched):
    """A scheduler on the running asyncio loop. Its tasks are cancelled by `close`."""

    __slots__ = ("_context", "_look", "_sweep", "_tasks")

    def __init__(self) -> None:
        self.tick = None
        self._sweep = sweep_of(asyncio.get_running_loop())
        self._context: Context | None = None
        """The context of the code that set the timer; the timer's function is called in it."""
        self._look: Callable[[float], float] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def watch(self, look: Callable[[float], float], within: float = 0.0) -> None:
        """See `Scheduler`."""
        self._look, self._context = look, copy_context()
        self._sweep.look_soon(self, within)

    def set_timer(self, seconds: float, function: Callable[[], None]) -> None:
        """Set the only timer; see `GroupScheduler`."""
        if seconds == math.inf:
            self._stop()
            return
        self._look, self._context = partial(_call_once, function), copy_context()
        self._sweep.look_at(self, time.monotonic() + seconds)

    def look(self, now: float) -> float:
        """Call the function of the timer."""
        look, context = self._look, self._context
        return math.inf if look is None or context is None else context.run(look, now)

    def _stop(self) -> None:
        """Stop the timer, and drop the function, which refers to the stream."""
        self._look = self._context = None
        self._sweep.forget(self)

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """See `Scheduler`."""
        start_task(function, self._tasks)

    def close(self) -> None:
        """See `Scheduler`."""
        self._stop()
        for task in self._tasks:
            task.cancel()


class GroupScheduler:
    """A scheduler on asyncio or trio, whose tasks belong to a task group.

    Each task has its own cancel scope, so that `close` can cancel the task without cancelling the group. The
    traceback of a cancelled group would keep the stream in a reference cycle.

    Args:
        tasks: the task group; it outlives the delivery.
    """

    __slots__ = ("_scopes", "_tasks", "_timer")

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._scopes: set[anyio.CancelScope] = set()
        trio: Any = sys.modules.get("trio")
        is_trio = trio is not None and trio.lowlevel.in_trio_run()
        self._timer: LoopScheduler | _TaskTimer = _TaskTimer(tasks) if is_trio else LoopScheduler()

    def watch(self, look: Callable[[float], float], within: float = 0.0) -> None:
        """See `Scheduler`."""
        self._timer.watch(look, within)

    def set_timer(self, seconds: float, function: Callable[[], None]) -> None:
        """Set the only timer: call `function` after this many seconds; never if `seconds` is infinite."""
        self._timer.set_timer(seconds, function)

    def start(self, function: Callable[[], Awaitable[None]]) -> None:
        """See `Scheduler`."""
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        self._tasks.start_soon(self._run, function, scope)

    def close(self) -> None:
        """See `Scheduler`."""
        self._timer.close()
        for scope in tuple(self._scopes):
            scope.cancel()

    async def _run(self, function: Callable[[], Awaitable[None]], scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await function()
        finally:
            self._scopes.discard(scope)


class _TaskTimer:
    """A timer for a loop without timers: one task, which sleeps until the deadline of its inner scope.

    Args:
        tasks: the task group of the task.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._due = math.inf
        self._function: Callable[[], None]
        self._whole = anyio.CancelScope()
        self._sleep: anyio.CancelScope | None = None

    def watch(self, look: Callable[[float], float], within: float = 0.0) -> None:
        self.set_timer(max(TICK_SECONDS, within), partial(self._look, look))

    def _look(self, look: Callable[[float], float]) -> None:
        now = time.monotonic()
        seconds = look(now) - now
        if seconds < math.inf:
            self.set_timer(max(TICK_SECONDS, seconds), partial(self._look, look))

    def set_timer(self, seconds: float, function: Callable[[], None]) -> None:
        self._due, self._function = anyio.current_time() + seconds, function
        if self._sleep is not None:
            self._sleep.deadline = self._due
        elif seconds < math.inf:
            self._sleep = anyio.CancelScope(deadline=self._due)
            self._tasks.start_soon(self._run)

    def close(self) -> None:
        self._whole.cancel()

    async def _run(self) -> None:
        with self._whole:
            while True:
                self._sleep = anyio.CancelScope(deadline=self._due)
                with self._sleep:
                    await anyio.sleep_forever()
                if anyio.current_time() >= self._due:
                    self._due = math.inf
                    self._function()


def _call_once(function: Callable[[], None], now: float) -> float:
    del now
    function()
    return math.inf


def start_task(function: Callable[[], Awaitable[None]], tasks: set[asyncio.Task[None]]) -> None:
    """Run `function` in a task of the running asyncio loop; `tasks` contains the task until it ends."""
    task = asyncio.get_running_loop().create_task(_run(function))
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def _run(function: Callable[[], Awaitable[None]]) -> None:
    await function()
