"""Waits for the network, on an event loop or in the thread that reads the stream.

All other code of the client waits through one small interface, so that both clients share it: the coroutines
of the blocking client never suspend, and `run_now` runs them to their end.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, Final, Protocol, TypeVar

import anyio

__all__ = ["LoopWaits", "ThreadWaits", "WaitOver", "Waits", "run_now"]

_T = TypeVar("_T")

_LEAVE_SECONDS: Final = 1.0
"""Seconds to wait until an interrupted wait has ended."""


class WaitOver(Exception):
    """A wait ended without a result: its deadline has passed, or it was interrupted."""


class Waits(Protocol):
    """The waits of one stream, one at a time."""

    def now(self) -> float:
        """Return the seconds of a monotonic clock."""

    async def within(
        self, deadline: float, step: Callable[[], Awaitable[_T]], abort: Callable[[], None] | None = None
    ) -> _T:
        """Return the result of `step`.

        Args:
            deadline: the latest end, on the scale of `now`.
            step: waits for the network.
            abort: ends `step` from another thread.

        Raises:
            WaitOver: the deadline has passed, or `interrupt` was called.
        """

    async def sleep(self, seconds: float) -> None:
        """Sleep; `interrupt` ends the sleep early."""

    async def interrupt(self) -> None:
        """End the current wait of another task or thread; return once it has ended."""

    def release(self) -> None:
        """End the task that watches the clock; the next wait starts it anew."""


class LoopWaits:
    """Waits on an event loop, asyncio's or trio's."""

    def __init__(self) -> None:
        self._scope: anyio.CancelScope | None = None
        self._ended: anyio.Event | None = None

    def now(self) -> float:
        """See `Waits.now`."""
        return anyio.current_time()

    async def within(
        self, deadline: float, step: Callable[[], Awaitable[_T]], abort: Callable[[], None] | None = None
    ) -> _T:
        """See `Waits.within`; a cancelled step needs no `abort`."""
        del abort
        try:
            with anyio.CancelScope(deadline=deadline) as self._scope:
                return await step()
            raise WaitOver
        finally:
            self._scope = None
            if self._ended is not None:
                self._ended.set()

    async def sleep(self, seconds: float) -> None:
        """See `Waits.sleep`."""
        with suppress(WaitOver):
            await self.within(self.now() + seconds, anyio.sleep_forever)

    async def interrupt(self) -> None:
        """See `Waits.interrupt`."""
        if self._scope is not None:
            self._ended = self._ended or anyio.Event()
            self._scope.cancel()
            await self._ended.wait()

    def release(self) -> None:
        """Do nothing: the event loop watches the clock."""


class ThreadWaits:
    """Waits in the thread that reads the stream, by calls that block.

    state      entered by                     the wait
    ────────   ────────────────────────────   ────────────────────────────────────────────
    idle       construction, the step's end   there is none
    waiting    `within`, `sleep`              goes on
    aborted    the deadline, `interrupt`      ends as soon as the blocking call has noticed
    """

    def __init__(self) -> None:
        self._watchdog = _Watchdog()
        self._reader: int | None = None
        self._ended = threading.Event()
        self._woken = threading.Event()

    def now(self) -> float:
        """See `Waits.now`."""
        return time.monotonic()

    async def within(
        self, deadline: float, step: Callable[[], Awaitable[_T]], abort: Callable[[], None] | None = None
    ) -> _T:
        """See `Waits.within`."""
        self._begin()
        self._watchdog.arm(deadline, abort or self._woken.set)
        try:
            given = await step()
        except BaseException:
            if self._watchdog.disarm():
                raise WaitOver from None
            raise
        finally:
            self._end()
        if self._watchdog.disarm():
            raise WaitOver
        return given

    async def sleep(self, seconds: float) -> None:
        """See `Waits.sleep`."""
        self._begin()
        self._watchdog.arm(float("inf"), self._woken.set)
        self._woken.wait(seconds)
        self._watchdog.disarm()
        self._end()

    async def interrupt(self) -> None:
        """Do the same as `Waits.interrupt`; a signal handler in that thread does not wait for itself."""
        reader = self._reader
        if reader is not None and self._watchdog.fire() and reader != threading.get_ident():
            self._ended.wait(_LEAVE_SECONDS)

    def release(self) -> None:
        """See `Waits.release`."""
        self._watchdog.stop()

    def _begin(self) -> None:
        self._ended.clear()
        self._woken.clear()
        self._reader = threading.get_ident()

    def _end(self) -> None:
        self._reader = None
        self._ended.set()


class _Watchdog:
    """Ends blocking calls whose deadline has passed, from a separate thread.

    The thread starts with the first deadline and ends when it wakes and nothing is under way. Only `stop`, or
    a deadline earlier than the one it sleeps for, wakes it early, so that a read needs no switch of threads.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._deadline = float("inf")
        self._abort: Callable[[], None] | None = None
        self._has_fired = False
        self._wakes_at: float | None = None

    def arm(self, deadline: float, abort: Callable[[], None]) -> None:
        """Call `abort` at a deadline, by `time.monotonic`."""
        with self._changed:
            self._deadline, self._abort, self._has_fired = deadline, abort, False
            if deadline == float("inf"):
                return
            if self._wakes_at is None:
                self._wakes_at = deadline
                threading.Thread(target=self._watch, name="streamweir clock", daemon=True).start()
            elif deadline < self._wakes_at:
                self._changed.notify()

    def disarm(self) -> bool:
        """End the supervision of a call; return whether `abort` was called."""
        with self._changed:
            self._abort = None
            return self._has_fired

    def stop(self) -> None:
        """End the thread, unless a call is supervised."""
        with self._changed:
            self._changed.notify()

    def fire(self) -> bool:
        """Call `abort` now; return False if no call is supervised."""
        with self._changed:
            if self._abort is None:
                return False
            abort, self._abort, self._has_fired = self._abort, None, True
            abort()
            return True

    def _watch(self) -> None:
        with self._changed:
            while self._abort is not None:
                seconds = self._deadline - time.monotonic()
                if seconds <= 0:
                    abort, self._abort, self._has_fired = self._abort, None, True
                    abort()
                    break
                self._wakes_at = self._deadline
                self._changed.wait(None if seconds == float("inf") else seconds)
            self._wakes_at = None


def run_now(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of a coroutine that never suspends."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        given: _T = done.value
        return given
    coroutine.close()
    raise RuntimeError("a client without an event loop has waited for one")
