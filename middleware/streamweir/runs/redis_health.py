"""Watches whether a Redis server answers; lists the exceptions of a broken connection."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError

__all__ = ["BROKEN", "StoreHealth", "connect"]

BROKEN: Final = (RedisError, OSError, EOFError, RuntimeError, TypeError, AttributeError)
"""Exceptions of a broken connection: uvloop's transports raise RuntimeError; the parser and the writer of the
client library raise TypeError or AttributeError once the server has closed the connection.
"""

_PROBE_SECONDS: Final = 1.0


async def connect(connection: AbstractConnection) -> None:
    """Connect; raise one of `BROKEN` on failure."""
    opening: Awaitable[None] = connection.connect()  # type: ignore[no-untyped-call]
    await opening


class StoreHealth:
    """Whether the server answers.

    state   entered by                            commands
    ─────   ───────────────────────────────────   ─────────────────────────
    up      construction, an answer to a probe    are sent
    down    `went_down`; a probe once a second    fail at once

    Attributes:
        is_up: the state.
        on_change: called with the new state.
        on_answer: called with the seconds that an answer took.

    Args:
        connect: returns a new connection, not yet connected.
        timeout: seconds within which the server has to answer.
    """

    def __init__(self, connect: Callable[[], AbstractConnection], timeout: float) -> None:
        self.is_up = True
        self.on_change: Callable[[bool], object] | None = None
        self.on_answer: Callable[[float], object] | None = None
        self._connect: Final = connect
        self._timeout: Final = timeout
        self._probing: asyncio.Task[None] | None = None

    def went_down(self) -> None:
        """Note that the server does not answer, and probe it once a second."""
        self._set(False)
        if self._probing is None:
            self._probing = asyncio.create_task(self._probe())

    async def aclose(self) -> None:
        """Stop probing."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])

    async def _probe(self) -> None:
        try:
            while not self.is_up:
                await asyncio.sleep(_PROBE_SECONDS)
                self._set(await self._answers())
        finally:
            self._probing = None

    def answered(self, seconds: float) -> None:
        """Note how long an answer took."""
        if self.on_answer is not None:
            self.on_answer(seconds)

    def _set(self, is_up: bool) -> None:
        self.is_up = is_up
        if self.on_change is not None:
            self.on_change(is_up)

    async def _answers(self) -> bool:
        connection = self._connect()
        try:
            async with asyncio.timeout(self._timeout):
                await connect(connection)
                await connection.send_command("PING")
                await connection.read_response()
        except (*BROKEN, TimeoutError):
            return False
        finally:
            await connection.disconnect(nowait=True)
        return True
