"""Waiting within one connection, at a tenth of the memory of asyncio's own event.

Every `asyncio.Event` holds a queue of 700 bytes; a connection has several of them and hardly ever a waiter.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl as UvicornFlowControl

__all__ = ["FlowControl", "LightEvent"]


class LightEvent:
    """`asyncio.Event` as far as uvicorn's protocol uses it."""

    __slots__ = ("_is_set", "_waiters")

    def __init__(self, *, is_set: bool = False) -> None:
        self._is_set = is_set
        self._waiters: tuple[asyncio.Future[None], ...] = ()

    def is_set(self) -> bool:
        """Need nobody wait?"""
        return self._is_set

    def set(self) -> None:
        """Let everyone go on who waits."""
        self._is_set = True
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)

    def clear(self) -> None:
        """Let everyone wait from here on."""
        self._is_set = False

    async def wait(self) -> bool:
        """Wait until it is set."""
        if not self._is_set:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters = (*self._waiters, waiter)
            try:
                await waiter
            finally:
                self._waiters = tuple(other for other in self._waiters if other is not waiter)
        return True


class FlowControl(UvicornFlowControl):
    """uvicorn's flow control on a `LightEvent`."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.read_paused = False
        self.write_paused = False
        writable: Any = LightEvent(is_set=True)
        self._is_writable_event = writable
