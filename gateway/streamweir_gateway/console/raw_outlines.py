"""The outlines of ended streams that are not packed yet, the oldest first. They are masked as one log.

An outline is noted while its stream runs, and is packed when its turn comes, or when a viewer asks for it. So
an outline that makes room for newer ones before its turn is never packed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from streamweir_gateway.console.ended_masking import EndedMasking
from streamweir_gateway.console.outline_recorder import OutlineRecorder

__all__ = ["RawOutlines"]


class RawOutlines(EndedMasking):
    """The outlines that wait. It is a `Masking`, which packs them; packed outlines are masked one by one.

    Args:
        pack: packs an outline, and has its secrets masked later.
    """

    def __init__(self, pack: Callable[[OutlineRecorder], object]) -> None:
        self._pack = pack
        self._waiting: deque[OutlineRecorder] = deque()
        self.add = self._waiting.append
        """Adds an outline that has ended."""

    def drop(self, outline: OutlineRecorder) -> None:
        """Remove the oldest outline if it is this one, because it is not kept."""
        waiting = self._waiting
        while waiting and (waiting[0] is outline or not waiting[0].is_raw):  # not raw: packed for a viewer
            if waiting.popleft() is outline:
                return

    @property
    def has_work(self) -> bool:
        """Whether an outline waits."""
        return bool(self._waiting)

    def work(self, most: int) -> None:
        """Pack the oldest outline, unless a viewer's question has packed it."""
        del most
        if self._waiting and (outline := self._waiting.popleft()).is_raw:
            self._pack(outline)
