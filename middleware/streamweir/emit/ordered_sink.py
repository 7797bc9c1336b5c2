"""Sends the texts of several tasks to one sink, in the order in which they were made."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio

from streamweir.stream_error import log_failure

__all__ = ["OrderedSink", "Sink"]

Sink: TypeAlias = Callable[[str], Awaitable[object]]


class OrderedSink:
    """Calls `sink` with one text after another.

    The first exception of the sink is raised to the caller; later ones are only logged.

    Args:
        request_id: the request id for the log.
    """

    def __init__(self, sink: Sink, *, request_id: str) -> None:
        self._sink = sink
        self._request_id = request_id
        self._failed = False
        self._unsent: deque[tuple[int, str]] = deque()
        self._texts = 0
        self._lock: anyio.Lock | None = None

    async def send(self, text: str) -> None:
        """Send `text` after all texts of earlier calls.

        A text is sent even if its task was cancelled while it waited. The order is that of the calls, because
        `text` is queued before anything is awaited.
        """
        self._texts += 1
        number = self._texts
        self._unsent.append((number, text))
        self._lock = self._lock or anyio.Lock()
        async with self._lock:
            while self._unsent and self._unsent[0][0] <= number:
                await self._call(self._unsent.popleft()[1])

    async def _call(self, text: str) -> None:
        try:
            await self._sink(text)
        except Exception as exc:
            if not self._failed:
                self._failed = True
                raise
            log_failure(exc, request_id=self._request_id)
