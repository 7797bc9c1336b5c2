"""Starting and stopping an ASGI application, as a server does it.

Source: the ASGI specification, "Lifespan Protocol", 2.0.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp

__all__ = ["Lifespan", "StartFailed"]


class StartFailed(Exception):  # noqa: N818 - it says what happened
    """The application could not start."""


class Lifespan:
    """One application's life; `start` before its first request, `stop` after its last."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._has_answered = asyncio.Event()
        self._ends = asyncio.Event()
        self._asked = False
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the application.

        Raises:
            StartFailed: it says so, or raised.
        """
        self._task = asyncio.create_task(self._run())
        await self._has_answered.wait()
        if self._failure is not None:
            await self._task
            raise StartFailed(self._failure)

    async def stop(self) -> None:
        """Stop the application, and wait until it has."""
        self._ends.set()
        if self._task is not None:
            await self._task

    async def _run(self) -> None:
        try:
            scope: dict[str, Any] = {
                "type": "lifespan",
                "asgi": {"version": "3.0", "spec_version": "2.0"},
                "state": {},
            }
            await self._app(scope, self._receive, self._send)
        except Exception as error:
            self._failure = self._failure or repr(error)
        finally:
            self._has_answered.set()

    async def _receive(self) -> MutableMapping[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "lifespan.startup"}
        await self._ends.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "lifespan.startup.failed":
            self._failure = message.get("message", "")
        self._has_answered.set()
