"""A lock that costs nothing while nobody else wants it.

anyio's own looks up the current task each time, which is as much as translating an event.
"""

from __future__ import annotations

from collections import deque

import anyio

__all__ = ["FairLock"]


class FairLock:
    """An asynchronous context manager: one task at a time, in the order in which they came.

    Attributes:
        is_taken: it is somebody's turn.
        waiting: those who wait for theirs, if anybody does.
    """

    def __init__(self) -> None:
        self.is_taken = False
        self.waiting: deque[anyio.Event] | None = None  # made for who waits: it takes 700 bytes

    async def __aenter__(self) -> None:
        if self.is_taken:
            await self.wait()
        else:
            self.is_taken = True

    async def wait(self) -> None:
        """Wait for the turn while it is taken; it is the caller's then, who passes it on."""
        mine = anyio.Event()
        waiting = self.waiting = deque() if self.waiting is None else self.waiting
        waiting.append(mine)
        try:
            await mine.wait()
        except BaseException:
            if mine in waiting:
                waiting.remove(mine)
            else:  # it came at the moment in which we were cancelled
                self.pass_on()
            raise

    async def __aexit__(self, *_: object) -> None:
        self.pass_on()

    def pass_on(self) -> None:
        """Let the next one have its turn."""
        if self.waiting:
            self.waiting.popleft().set()
        else:
            self.is_taken = False
