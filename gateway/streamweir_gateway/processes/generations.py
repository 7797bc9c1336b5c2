"""Replaces the application of a running server: new requests go to the new application.

The old application finishes the requests that it has begun, and is stopped afterwards.

Source: the configuration contract, rules (`serve`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Protocol

from starlette.routing import Router
from starlette.types import ASGIApp, Receive, Scope, Send

from streamweir_gateway.connection.direct_exchange import Shortcut

__all__ = ["Application", "Generations"]


class Application(Protocol):
    """An application that can serve within the context manager that `lifespan` returns.

    Attributes:
        admin: the application for the admin address.
        shortcut: serves requests that need no task; None: every request needs a task.
    """

    admin: ASGIApp
    shortcut: Shortcut | None

    @property
    def requests(self) -> ASGIApp:
        """The application for all HTTP requests."""

    async def settle(self) -> None:
        """Stop serving requests without a task; return when every open request has a task."""

    async def until_idle(self) -> None:
        """Return when no request is open. No other requests may follow."""

    def lifespan(self) -> AbstractAsyncContextManager[object]:
        """Return the context manager within which the application can serve."""


class Generations:
    """The ASGI application that a server runs. `take_over` replaces the application behind it.

    Attributes:
        shortcut: serves requests that need no task; None: every request needs a task at present.

    Args:
        first: the first application.
        on_stop: awaited when all applications have stopped.
    """

    def __init__(self, first: Application, on_stop: Callable[[], Awaitable[object]] | None = None) -> None:
        self._first = first
        self._on_stop = on_stop
        self._current: _Generation | None = None
        self._requests: ASGIApp | None = None
        self.shortcut: Shortcut | None = None
        self._old: set[asyncio.Task[None]] = set()
        self._others = Router(lifespan=self._lifespan)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one request. As a coroutine function, every stream would keep one more coroutine."""
        if self._requests is None or scope["type"] != "http":
            return self._others(scope, receive, send)
        return self._requests(scope, receive, send)

    def admin(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve a request at the admin address."""
        assert self._current is not None, "it is listened on afterwards"
        return self._current.app.admin(scope, receive, send)

    async def take_over(self, app: Application) -> None:
        """Start `app`, and send it every new request.

        Raises:
            OSError, ValueError: `app` could not start; the old application goes on.
        """
        new = _Generation(app)
        await new.start()
        if self._current is not None:
            await self._current.app.settle()
        old, self._current = self._current, new
        self._requests, self.shortcut = app.requests, app.shortcut
        if old is not None:
            task = asyncio.create_task(old.finish())
            self._old.add(task)
            task.add_done_callback(self._old.discard)

    @asynccontextmanager
    async def _lifespan(self, _app: object) -> AsyncIterator[None]:
        """Start the first application; stop all applications at the end."""
        await self.take_over(self._first)
        yield
        for task in tuple(self._old):
            task.cancel()
        await asyncio.gather(*self._old, return_exceptions=True)
        if self._current is not None:
            await self._current.stop()
        if self._on_stop is not None:
            await self._on_stop()


class _Generation:
    """An application that has been started."""

    def __init__(self, app: Application) -> None:
        self.app = app
        self._life = AsyncExitStack()

    async def start(self) -> None:
        await self._life.enter_async_context(self.app.lifespan())

    async def stop(self) -> None:
        await self._life.aclose()

    async def finish(self) -> None:
        """Stop the application when it has no open requests, or at once if this task is cancelled."""
        try:
            await self.app.until_idle()
        finally:
            await self.stop()
