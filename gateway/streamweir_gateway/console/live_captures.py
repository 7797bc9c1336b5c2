"""Makes the lines of captures that viewers follow during a stream. Each line is made once for all viewers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Final, Protocol

from streamweir_gateway.console.capture_lines import CaptureLines
from streamweir_gateway.console.capture_payload import CapturePayload

__all__ = ["LineFollower", "LiveCaptures"]

PULL_SECONDS: Final = 0.2
"""The seconds between two questions to the process that serves the stream."""
MAX_BYTES: Final = 8 << 20
"""The most bytes of lines of one stream that are kept for viewers that start later or read slowly."""
PIECE_BYTES: Final = 64 << 10
"""The least bytes of lines that are sent in one piece. Only one piece waits in memory for a slow viewer."""

Pull = Callable[[int], Awaitable[CapturePayload | None]]
"""Returns the log from the entry with a given number on; None if the log is not kept.

Raises `TimeoutError` if the process that serves the stream does not answer; it may answer later.
"""


class MakeLines(Protocol):
    """Makes the object that turns the log of a stream into lines."""

    def __call__(self, payload: CapturePayload) -> CaptureLines:
        """Return that object for a stream; `payload` has the first part of its log."""


class _LiveCapture:
    """The lines of one stream. A task makes lines as long as the stream has followers."""

    def __init__(self, pull: Pull, make: MakeLines) -> None:
        self.lines: deque[bytes] = deque()
        self.first = 0
        """The number of the first line that is still kept."""
        self.is_over = False
        self.followers = 0
        self.on_news: set[asyncio.Event] = set()
        self._size = 0
        self._pull = pull
        self._make = make
        self.task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        made: CaptureLines | None = None
        start = 0
        while not self.is_over:
            try:
                payload = await self._pull(start)
            except TimeoutError:
                await asyncio.sleep(PULL_SECONDS)
                continue
            if payload is None:
                break
            if made is None:
                made = self._make(payload)
            start = payload.count
            await asyncio.to_thread(made.feed, payload)
            self._add(made.take())
            self.is_over = payload.is_over
            if not self.is_over:
                await asyncio.sleep(PULL_SECONDS)
        self.is_over = True
        self._notify()

    def _add(self, lines: list[bytes]) -> None:
        self.lines += lines
        self._size += sum(map(len, lines))
        while self._size > MAX_BYTES and len(self.lines) > 1:
            self._size -= len(self.lines.popleft())
            self.first += 1
        if lines:
            self._notify()

    def _notify(self) -> None:
        for event in self.on_news:
            event.set()


class LineFollower:
    """Follows the lines of one stream for one viewer.

    Args:
        capture: the capture of the stream.
        news: set when more lines have been made.
    """

    def __init__(self, capture: _LiveCapture, news: asyncio.Event) -> None:
        self._capture = capture
        self._news = news
        self._next = 0
        capture.followers += 1
        capture.on_news.add(news)
        news.set()

    def take(self) -> list[bytes]:
        """Return the next lines, about `PIECE_BYTES` of them; an empty list if there are no more.

        Lines that this viewer was too slow to take are left out.
        """
        capture = self._capture
        self._next = max(self._next, capture.first)
        lines: list[bytes] = []
        size = 0
        for line in islice(capture.lines, self._next - capture.first, None):
            lines.append(line)
            size += len(line)
            if size >= PIECE_BYTES:
                break
        self._next += len(lines)
        return lines

    def close(self) -> None:
        """Stop following. The lines of a stream without followers are not made any more."""
        self._capture.followers -= 1
        self._capture.on_news.discard(self._news)
        if not self._capture.followers:
            self._capture.task.cancel()

    @property
    def is_last(self) -> bool:
        """Whether this is the only follower of the stream."""
        return not self._capture.followers


class LiveCaptures:
    """The streams that viewers follow, by the ids of their rows."""

    def __init__(self) -> None:
        self._captures: dict[str, _LiveCapture] = {}

    def follow(self, row_id: str, pull: Pull, make: MakeLines, news: asyncio.Event) -> LineFollower:
        """Let a viewer follow a stream.

        Args:
            row_id: the id of the stream's row.
            pull: returns the log of the stream.
            make: makes the object that turns the log into lines.
            news: set when more lines have been made.
        """
        capture = self._captures.get(row_id)
        if capture is None or not capture.followers:
            capture = self._captures[row_id] = _LiveCapture(pull, make)
        return LineFollower(capture, news)

    def leave(self, row_id: str, follower: LineFollower) -> None:
        """Stop a viewer's following of a stream."""
        follower.close()
        if follower.is_last:
            self._captures.pop(row_id, None)
