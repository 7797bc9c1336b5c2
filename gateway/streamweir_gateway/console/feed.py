"""Sends the feed: an SSE stream of changes for one viewer, at the speed at which the viewer reads.

Source: the console contract, section 1 (`feed`).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from starlette.types import Receive, Send

from streamweir_gateway.console.answer_events import ExpectedAnswer
from streamweir_gateway.console.live_captures import LineFollower
from streamweir_gateway.console.viewer_presence import run_until_left
from streamweir_gateway.console.viewers import Viewer, Viewers, sse

__all__ = ["Feed", "send_events"]

PING_SECONDS: Final = 10.0
PAUSE_SECONDS: Final = 0.1
"""The seconds between two sends. Changes in between are merged."""
_PING: Final = b": ping\n\n"
_START: Final = {
    "type": "http.response.start",
    "status": 200,
    "headers": [
        (b"content-type", b"text/event-stream; charset=utf-8"),
        (b"x-accel-buffering", b"no"),
    ],
}


class Feed:
    """Sends the feed to one viewer until the viewer leaves.

    Args:
        viewers: makes the frames.
        viewer: the viewer.
        info: returns the facts of the configuration.
        lines: the lines of the stream that the viewer follows; None: it follows no stream.
    """

    def __init__(
        self,
        viewers: Viewers,
        viewer: Viewer,
        info: Callable[[], dict[str, Any]],
        lines: LineFollower | None = None,
    ) -> None:
        self._viewers = viewers
        self._viewer = viewer
        self._info = info
        self._lines = lines
        self._pings_at = 0.0

    async def run(self, receive: Receive, send: Send) -> None:
        """Send until the viewer has left."""
        await run_until_left(receive, self._send(send))

    async def _send(self, send: Send) -> None:
        await send(_START)
        while True:
            for piece in self._news():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await asyncio.sleep(PAUSE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._pings_at - time.monotonic())):
                    await self._viewer.news.wait()

    def _news(self) -> Iterator[bytes]:
        """Yield all that the viewer has not been sent yet. Each piece is made when the one before is sent.

        Lines may come as fast as the viewer takes them, so changes go out between them.
        """
        yield from self._changes()
        while self._lines is not None and (lines := self._lines.take()):
            yield b"".join(sse("line", line.rstrip(b"\n")) for line in lines)
            yield from self._changes()

    def _changes(self) -> Iterator[bytes]:
        """Yield a ping if one is due, and all changes of rows, plots and configuration."""
        now = time.monotonic()
        if now >= self._pings_at:
            self._pings_at = now + PING_SECONDS
            yield _PING
        yield from self._viewers.frames(self._viewer, self._info)


async def send_events(answer: ExpectedAnswer, send: Send) -> None:
    """Send the events of one answer of the playground as they arrive; return when the answer has ended."""
    await send(_START)
    await send({"type": "http.response.body", "body": _PING, "more_body": True})
    async for batch in answer.batches():
        frames = b"".join(sse("event", line) for line in batch)
        await send({"type": "http.response.body", "body": frames, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
