"""Interruption of a waiting task from outside.

An interruption works like `asyncio.timeout`: the task is cancelled, and at the end of the block the
cancellation is turned into `Interrupted`. Cancellations that come from elsewhere pass through. A block that
is not interrupted costs nothing, unlike a cancel scope, and a task that does not wait is interrupted when it
waits next.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

__all__ = ["Interrupted", "InterruptibleWait"]


class Interrupted(Exception):
    """Raised in a block that was interrupted. The caller of `interrupt` has noted the reason elsewhere."""


class InterruptibleWait:
    """A `with` block that `interrupt` ends by raising `Interrupted` in it.

    The block belongs to the task that constructs it. It may be entered again, but not while entered.

    Args:
        loop: the running loop; None: it is looked up.
    """

    __slots__ = ("_is_open", "_outer", "_sent", "_task")

    def __init__(self, loop: asyncio.AbstractEventLoop | None = None) -> None:
        task: asyncio.Task[Any] | None = asyncio.current_task(loop)
        assert task is not None, "made outside of a task"
        self._task = task
        self._outer = 0
        self._sent = 0
        self._is_open = False

    @property
    def is_pending(self) -> bool:
        """Whether the block has been interrupted and the task has not left it yet."""
        return self._sent > 0

    def interrupt(self) -> None:
        """Interrupt the block. Do nothing if the task is not in the block, or is itself the caller."""
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
