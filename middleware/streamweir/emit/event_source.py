"""Makes an asynchronous iterator that can be closed from whatever content the application gives.

A synchronous iterator is advanced in a worker thread, always in one copy of the context, so that its context
variables persist.

Source: the library contract, section 3 (`content`).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextvars import copy_context
from typing import Any, Final, Self

import anyio
import anyio.to_thread

__all__ = ["EventSource"]

CLOSING_SECONDS: Final = 1.0
"""The longest wait for the clean-up of a generator."""

LEAVING_SECONDS: Final = CLOSING_SECONDS + 0.2
"""The longest time for which a caller waits until a content has been closed."""

_END: Final = object()


class EventSource:
    """The items of a content: an iterator or iterable, async or not, or a function that returns one.

    A single event (text or a dict) is a content too. A function is called when the first item is asked for.
    """

    def __init__(self, content: Any) -> None:
        self._content = content
        self._items: AsyncIterator[Any] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._items is None:
            self._items = await _open(self._content)
        return await self._items.__anext__()

    async def aclose(self) -> None:
        """Close the iterator, even if it has never begun; wait at most a second.

        Raises:
            Exception: any exception of the iterator.
        """
        items = self._content if self._items is None else self._items
        close = items.close if inspect.isgenerator(items) else getattr(items, "aclose", None)
        if close is None or isinstance(items, type):
            return
        with anyio.move_on_after(CLOSING_SECONDS, shield=True):
            closing = close()
            if inspect.isawaitable(closing):
                await closing


async def _open(content: Any) -> AsyncIterator[Any]:
    if callable(content) and not isinstance(content, AsyncIterable | Iterable):
        content = content()
        if inspect.isawaitable(content):
            content = await content
    if isinstance(content, str | bytes | bytearray | memoryview | Mapping):
        content = (content,)
    if isinstance(content, AsyncIterable):
        return content.__aiter__()
    if isinstance(content, Iterable):
        return _ThreadedIterator(iter(content))
    raise TypeError(f"the content of a stream must be iterable, not {type(content).__name__}")


class _ThreadedIterator:
    """A synchronous iterator, advanced in a worker thread."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._run = copy_context().run
        self._lock = threading.Lock()
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            item = await anyio.to_thread.run_sync(self._run, self._step, abandon_on_cancel=True)
        except anyio.get_cancelled_exc_class() as cancelled:
            # Without anyio's frames: they refer to the task, and the task to this exception.
            raise cancelled.with_traceback(None) from None
        if item is _END:
            raise StopAsyncIteration
        return item

    async def aclose(self) -> None:
        """Close a generator. If it is running, its thread closes it after the current step."""
        self._closed = True
        if self._lock.acquire(blocking=False):
            try:
                await anyio.to_thread.run_sync(self._run, self._close, abandon_on_cancel=True)
            finally:
                self._lock.release()

    def _step(self) -> Any:
        with self._lock:
            try:
                return _END if self._closed else next(self._items, _END)
            finally:
                if self._closed:
                    self._close()

    def _close(self) -> None:
        close: Callable[[], object] | None = getattr(self._items, "close", None)
        if close is not None:
            close()
