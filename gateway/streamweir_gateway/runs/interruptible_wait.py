"""Ending what a task waits for, from outside of it and with a cause that the caller keeps.

As `asyncio.timeout` does it: the task is cancelled, and the cancellation is taken back where the waiting
ends, so that one that comes from elsewhere goes on its way. Unlike a cancel scope it costs nothing while
nobody interrupts, and a task that never waits gets it at its next step all the same.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

__all__ = ["Interrupted", "InterruptibleWait"]


class Interrupted(Exception):
    """What was waited for is not waited for any longer."""


class InterruptibleWait:
    """A `with` block in the task that makes it, which `interrupt` leaves by `Interrupted`.

    The block may be entered any number of times, not within itself.
    """

    __slots__ = ("_is_open", "_outer", "_sent", "_task")

    def __init__(self) -> None:
        task: asyncio.Task[Any] | None = asyncio.current_task()
        assert task is not None, "made outside of a task"
        self._task = task
        self._outer = 0
        self._sent = 0
        self._is_open = False

    @property
    def is_pending(self) -> bool:
        """The block has been interrupted and not left yet."""
        return self._sent > 0

    def interrupt(self) -> None:
        """End the block's waiting; nothing happens outside of it, nor from within its own task."""
        if self._is_open and asyncio.current_task() is not self._task:
            self._sent += 1
            self._task.cancel()

    def __enter__(self) -> Self:
        self._outer = self._task.cancelling()
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del error, trace
        self._is_open = False
        if not self._sent:
            return
        while self._sent:
            self._sent -= 1
            left = self._task.uncancel()
        if kind is not None and issubclass(kind, asyncio.CancelledError) and left <= self._outer:
            raise Interrupted
