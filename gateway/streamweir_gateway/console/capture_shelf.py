"""Keeps the captures of ended streams, up to a number of bytes. The oldest captures are dropped first."""

from __future__ import annotations

from collections import deque

from streamweir_gateway.console.ended_capture import KeptCapture

__all__ = ["CaptureShelf"]


class CaptureShelf:
    """Keeps the captures of ended requests.

    Args:
        max_bytes: the most bytes of all captures together.
        max_streams: the most captures.

    Attributes:
        max_bytes: the argument; it may be set anew.
        max_streams: the argument; it may be set anew.
        size: the bytes of all captures.
    """

    def __init__(self, max_bytes: int, max_streams: int) -> None:
        self.max_bytes = max_bytes
        self.max_streams = max_streams
        self.size = 0
        self._kept: dict[str, KeptCapture] = {}
        """The captures, by the id of the row."""
        self._order: deque[KeptCapture] = deque()
        """The captures, the oldest first."""

    def get(self, row_id: str) -> KeptCapture | None:
        """Return the capture of a row; None if it is not kept."""
        return self._kept.get(row_id)

    def add(self, capture: KeptCapture) -> None:
        """Keep a capture, which does not grow any more. The caller calls `shrink` afterwards."""
        self._kept[capture.row_id] = capture
        self._order.append(capture)
        self.size += capture.size

    @property
    def is_full(self) -> bool:
        """Whether `shrink` would drop a capture."""
        return bool(self._order) and (self.size > self.max_bytes or len(self._order) > self.max_streams)

    def shrink(self) -> list[tuple[KeptCapture, bool]]:
        """Drop the oldest captures until all limits hold.

        Returns:
            Each dropped capture, and whether it was dropped for its bytes, not for the number of captures.
        """
        dropped: list[tuple[KeptCapture, bool]] = []
        while self.is_full:
            capture = self._order.popleft()
            del self._kept[capture.row_id]
            dropped.append((capture, self.size > self.max_bytes))
            self.size -= capture.size
        return dropped
