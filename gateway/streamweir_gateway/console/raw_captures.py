"""The captures of ended streams whose logs are not made yet, the oldest first. They are masked as one log.

A capture is noted while its stream runs. Its log is made and packed when its turn comes, or when a viewer
asks for it. So the log of a capture that makes room for newer ones before its turn is never made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from streamweir_gateway.console.ended_capture import RawCapture
from streamweir_gateway.console.ended_masking import EndedMasking

__all__ = ["RawCaptures"]


class RawCaptures(EndedMasking):
    """The captures that wait. It is a `Masking`, which packs them; packed captures are masked one by one.

    Args:
        pack: packs a capture, and has its secrets masked later.
    """

    def __init__(self, pack: Callable[[RawCapture], object]) -> None:
        self._pack = pack
        self._waiting: deque[RawCapture] = deque()
        self.add = self._waiting.append
        """Adds the capture of a stream that has ended."""

    def drop(self, capture: RawCapture) -> None:
        """Remove the oldest capture if it is this one, because it is not kept."""
        waiting = self._waiting
        while waiting and (waiting[0] is capture or not waiting[0].is_raw):  # not raw: packed for a viewer
            if waiting.popleft() is capture:
                return

    @property
    def has_work(self) -> bool:
        """Whether a capture waits."""
        return bool(self._waiting)

    def work(self, most: int) -> None:
        """Pack the oldest capture, unless a viewer's question has packed it."""
        del most
        if self._waiting and (capture := self._waiting.popleft()).is_raw:
            self._pack(capture)
