"""Wakes readers when a run changes in another process, over one connection for all runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from redis.asyncio.connection import AbstractConnection

from streamweir.runs.redis_health import BROKEN, connect

__all__ = ["Channel", "RunWakeups"]

_LINGER_SECONDS: Final = 5.0
"""The time for which a channel is kept after the last listener, as readers listen again for each page."""

_RECONNECT_SECONDS: Final = 0.2
_SILENCE_SECONDS: Final = 2.0
"""After this time without a message the server is sent a PING."""


class Channel:
    """The subscription of one run.

    Attributes:
        changed: an event that is set at the next change of the run or of the subscription, and then replaced
            by a new one.
        is_subscribed: the server sends a message for each change.
        listeners: the number of readers that listen.
    """

    __slots__ = ("changed", "is_subscribed", "listeners")

    def __init__(self) -> None:
        self.listeners = 0
        self.is_subscribed = False
        self.changed = asyncio.Event()

    def wake(self, *, subscribed: bool) -> None:
        """Set `changed` and replace it by a new event."""
        self.is_subscribed = subscribed
        self.changed.set()
        self.changed = asyncio.Event()


class RunWakeups:
    """Subscribes to the channels of runs that have listeners.

    Args:
        connect: returns a new connection, not yet connected.
        timeout: seconds within which the server has to answer.
    """

    def __init__(self, connect: Callable[[], AbstractConnection], *, timeout: float) -> None:
        self._connect: Final = connect
        self._timeout: Final = timeout
        self._channels: dict[str, Channel] = {}
        self._connection: AbstractConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._writing: set[asyncio.Task[None]] = set()

    @contextmanager
    def listen(self, name: str) -> Iterator[Channel]:
        """Listen to a channel; it also wakes its listeners once the server has confirmed the subscription."""
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = Channel()
            self._write("SUBSCRIBE", name)
            if self._reading is None:
                self._reading = asyncio.create_task(self._read())
        channel.listeners += 1
        try:
            yield channel
        finally:
            channel.listeners -= 1
            if not channel.listeners:
                asyncio.get_running_loop().call_later(_LINGER_SECONDS, self._leave, name)

    async def aclose(self) -> None:
        """Close the connection; no channel wakes its listeners any more."""
        self._channels.clear()
        tasks = {*self._writing, *([self._reading] if self._reading else [])}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _leave(self, name: str) -> None:
        channel = self._channels.get(name)
        if channel is not None and not channel.listeners:
            del self._channels[name]
            self._write("UNSUBSCRIBE", name)

    def _write(self, *command: str) -> None:
        if self._connection is not None:
            task = asyncio.create_task(self._send(self._connection, *command))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def _send(self, connection: AbstractConnection, *command: str) -> None:
        try:
            await connection.send_packed_command(connection.pack_command(*command))
        except BROKEN:
            await connection.disconnect(nowait=True)  # `_read` notices that and connects anew

    async def _read(self) -> None:
        try:
            while self._channels:
                try:
                    await self._read_connection()
                except (*BROKEN, TimeoutError):
                    await asyncio.sleep(_RECONNECT_SECONDS)
        finally:
            self._reading = None

    async def _read_connection(self) -> None:
        connection = self._connect()
        try:
            async with asyncio.timeout(self._timeout):
                await connect(connection)
            self._connection = connection
            await self._send(connection, "SUBSCRIBE", *self._channels)
            while self._channels:
                self._note(await self._message(connection))
        finally:
            self._connection = None
            for channel in self._channels.values():
                channel.wake(subscribed=False)
            await connection.disconnect(nowait=True)

    async def _message(self, connection: AbstractConnection) -> object:
        """Return the next message of the server.

        Raises:
            TimeoutError: the server does not even answer a PING.
        """
        try:
            async with asyncio.timeout(_SILENCE_SECONDS):
                return await connection.read_response()
        except TimeoutError:
            await self._send(connection, "PING")
            async with asyncio.timeout(self._timeout):
                return await connection.read_response()

    def _note(self, message: object) -> None:
        if isinstance(message, list) and len(message) == 3:
            kind, name, _ = message
            channel = self._channels.get(name.decode("utf-8", "replace"))
            if channel is not None and kind in (b"message", b"subscribe"):
                channel.wake(subscribed=True)
