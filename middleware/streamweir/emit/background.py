"""A task that outlives the call that starts it, on asyncio and on trio.

An async iterator cannot keep a task group open between its steps: a host may run each step in another task,
and may never run the last step. Therefore the task belongs to the event loop, and its starter has to end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any, Protocol

import anyio

__all__ = ["BackgroundTask", "start_in_background"]

_running: set[asyncio.Task[None]] = set()
"""Keeps the tasks alive: the event loop has only weak references."""


class BackgroundTask(Protocol):
    """A task that has been started."""

    def cancel(self) -> None:
        """Cancel the task; must be called in the event loop's own thread."""

    def cancel_from_anywhere(self) -> None:
        """Cancel the task; may be called in any thread, even after the event loop has ended."""


def start_in_background(function: Callable[[], Awaitable[None]], context: Context) -> BackgroundTask:
    """Start `function` in `context`. The function must not raise, because its exception would be lost."""
    trio: Any = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        return _TrioTask(function, context, trio)
    return _AsyncioTask(function, context)


class _AsyncioTask:
    def __init__(self, function: Callable[[], Awaitable[None]], context: Context) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(_run(function), context=context)
        _running.add(self._task)
        self._task.add_done_callback(_running.discard)

    def cancel(self) -> None:
        self._task.cancel()  # once: the clean-up of the task must not be cancelled

    def cancel_from_anywhere(self) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)


async def _run(function: Callable[[], Awaitable[None]]) -> None:
    await function()


class _TrioTask:
    def __init__(self, function: Callable[[], Awaitable[None]], context: Context, trio: Any) -> None:
        self._scope = anyio.CancelScope()
        self._trio = trio
        self._token = trio.lowlevel.current_trio_token()

        async def scoped() -> None:
            with self._scope:
                await function()

        trio.lowlevel.spawn_system_task(scoped, context=context)

    def cancel(self) -> None:
        self._scope.cancel()

    def cancel_from_anywhere(self) -> None:
        with contextlib.suppress(self._trio.RunFinishedError):
            self._token.run_sync_soon(self._scope.cancel)
