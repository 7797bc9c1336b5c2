"""Keeps the captures of ended streams, up to a number of bytes. The oldest captures are dropped first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from streamweir_gateway.console.ended_capture import KeptCapture

__all__ = ["CaptureShelf"]


class CaptureShelf:
    """Keeps the captures of ended requests.

    Attributes:
        max_bytes: the most bytes of all captures together, for `shrink`.
        max_streams: the most captures, for `shrink`.
        size: the bytes of all captures.
    """

    def __init__(self) -> None:
        self.max_bytes = self.max_streams = 0
        self.size = 0
        self._kept: OrderedDict[str, tuple[KeptCapture, int]] = OrderedDict()
        """The captures and their bytes, by the id of the row, the oldest first."""

    def get(self, row_id: str) -> KeptCapture | None:
        """Return the capture of a row; None if it is not kept."""
        found = self._kept.get(row_id)
        return None if found is None else found[0]

    def add(self, capture: KeptCapture) -> None:
        """Keep a capture, which does not grow any more. The caller has to call `shrink` soon."""
        size = capture.size
        self._kept[capture.row_id] = capture, size
        self.size += size

    def replace(self, capture: KeptCapture) -> None:
        """Keep a capture in the place of the one of the same row, if that one is still kept."""
        if capture.row_id in self._kept:
            size = capture.size
            self.size += size - self._kept[capture.row_id][1]
            self._kept[capture.row_id] = capture, size

    def shrink(self) -> Iterator[tuple[KeptCapture, bool]]:
        """Drop the oldest captures until all limits hold.

        Yields:
            Each dropped capture, and whether it was dropped for its bytes, not for the number of captures.
        """
        kept, most, most_bytes = self._kept, self.max_streams, self.max_bytes
        while kept and (len(kept) > most or self.size > most_bytes):
            _, (capture, size) = kept.popitem(last=False)
            is_for_bytes = self.size > most_bytes
            self.size -= size
            yield capture, is_for_bytes
