"""Forwards the headers and comments of an event stream if no frame arrives within 5 s.

    state     entered by                     what the client gets
    ───────   ────────────────────────────   ─────────────────────────────────────────────────────────────────
    waiting   construction                   nothing
    begun     5 s without a first frame      the headers, and each comment as soon as its line is whole
    decided   the first frame, the end of    the rest: an agent stream or a relayed answer
              the body, a failure (`close`)

Source: the configuration contract (`relay`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

__all__ = ["MEDIA_TYPE", "QUIET_SECONDS", "QuietStream", "comments_at"]

MEDIA_TYPE: Final = "text/event-stream"

QUIET_SECONDS: Final = 5.0
"""The longest time, in seconds, for which the headers of an event stream wait for its first frame."""


class QuietStream:
    """The beginning of one event stream.

    The docstring of this file lists its states. Only the reading task uses it.

    Args:
        begin: sends the headers.
        send: sends bytes of the body.
        pieces: the reads that have not been sent. Bytes that are sent here are removed from it.
    """

    def __init__(
        self,
        begin: Callable[[], Awaitable[None]],
        send: Callable[[bytes], Awaitable[None]],
        pieces: list[bytes],
    ) -> None:
        self._left = 0
        """The number of bytes that were sent since the last `pass_on`."""
        self._begin = begin
        self._send = send
        self._pieces = pieces
        self._task: asyncio.Task[None] | None = None
        self._timer = asyncio.get_running_loop().call_later(QUIET_SECONDS, self._start)

    async def pass_on(self) -> int:
        """Send the comments that have arrived, if the headers have been sent.

        Returns:
            The number of bytes that were sent since the last call.

        Raises:
            ClientGone: the client has left.
        """
        if self._task is not None:
            await self._task
            await self._send_comments()
        left, self._left = self._left, 0
        return left

    async def close(self) -> None:
        """Stop waiting to begin. If the headers are just being sent, wait until they are sent.

        If the client has left, the next send to it will fail.
        """
        self._timer.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])
            self._task.exception()  # looked at: else asyncio would log it

    def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._send_beginning())

    async def _send_beginning(self) -> None:
        await self._begin()
        await self._send_comments()

    async def _send_comments(self) -> None:
        held = b"".join(self._pieces)
        size = comments_at(held)
        self._pieces[:] = [held[size:]] if size < len(held) else []
        self._left += size
        if size:
            await self._send(held[:size])


def comments_at(data: bytes) -> int:
    """Return the number of bytes of whole comments and blank lines at the start of `data`."""
    size = 0
    for line in data.splitlines(keepends=True):
        is_whole = line.endswith(b"\n")
        if not is_whole or not (line.startswith(b":") or not line.strip(b"\r\n")):
            break
        size += len(line)
    return size
