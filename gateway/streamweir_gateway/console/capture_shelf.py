"""Keeps the logs of ended streams, up to a number of bytes. The oldest logs are dropped first."""

from __future__ import annotations

from collections import OrderedDict

from streamweir_gateway.console.request_recorder import RequestRecorder

__all__ = ["CaptureShelf"]


class CaptureShelf:
    """Keeps the recorders of ended requests.

    Args:
        max_bytes: the most bytes of all logs together.
        max_streams: the most recorders.

    Attributes:
        max_bytes: the argument; it may be set anew.
        max_streams: the argument; it may be set anew.
        size: the bytes of all logs.
    """

    def __init__(self, max_bytes: int, max_streams: int) -> None:
        self.max_bytes = max_bytes
        self.max_streams = max_streams
        self.size = 0
        self._kept: OrderedDict[str, RequestRecorder] = OrderedDict()

    def get(self, row_id: str) -> RequestRecorder | None:
        """Return the recorder of a row; None if it is not kept."""
        return self._kept.get(row_id)

    def add(self, recorder: RequestRecorder) -> None:
        """Keep a recorder whose log does not grow any more. The caller calls `shrink` afterwards."""
        self._kept[recorder.row_id] = recorder
        self.size += recorder.log.size

    def shrink(self) -> list[RequestRecorder]:
        """Drop the oldest recorders until all limits hold; return the dropped recorders."""
        gone: list[RequestRecorder] = []
        while self._kept and (self.size > self.max_bytes or len(self._kept) > self.max_streams):
            _, recorder = self._kept.popitem(last=False)
            self.size -= recorder.log.size
            gone.append(recorder)
        return gone
