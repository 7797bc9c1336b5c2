"""Memory shared by a worker and its parent, which the parent can read when the worker hangs.

Messages are not enough: a worker that hangs sends none, and a message of a second ago may not name the
streams that it hangs with.
"""

from __future__ import annotations

import ctypes
import struct
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamweir_gateway.observability.record import RequestRecord
    from streamweir_gateway.runs.live_streams import LiveStream

__all__ = ["SharedAbsence", "WorkerBoard"]

MAX_NAMES: Final = 128
"""The most streams that are named. All streams are counted."""

_NAME: Final = struct.Struct("256s")
"""A name of fixed length: longer names are cut, shorter ones are padded with zeros."""


class SharedAbsence:
    """Since when the store does not answer, in memory that all workers share; see `StoreLines`.

    Args:
        context: the context with which the workers are started.
    """

    def __init__(self, context: SpawnContext) -> None:
        self._since = context.RawValue(ctypes.c_double, 0.0)

    @property
    def since(self) -> float:
        """Seconds of `time.monotonic`; 0 while the store answers."""
        return float(self._since.value)

    @since.setter
    def since(self, seconds: float) -> None:
        self._since.value = seconds


class WorkerBoard:
    """The board of one worker. The parent makes it and passes it to the worker at its start.

    Args:
        context: the context with which the worker is started.
    """

    def __init__(self, context: SpawnContext) -> None:
        self._beats = context.RawValue(ctypes.c_ulonglong, 0)
        self._count = context.RawValue(ctypes.c_ulonglong, 0)
        self._left = context.RawValue(ctypes.c_longlong, -1)
        self._names = context.RawArray(ctypes.c_char, MAX_NAMES * _NAME.size)
        self._free = list(range(MAX_NAMES))
        self._places: dict[str, int] = {}

    # --- the worker -----------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Note that the event loop runs."""
        self._beats.value += 1

    def follow(self, stream: LiveStream) -> None:
        """Name a stream until its end."""
        record = stream.record
        self._opened(record)
        stream.on_end(lambda: self._ended(record))

    def note_drained(self, left: int) -> None:
        """Note how many streams a drain had to end."""
        self._left.value = left

    def _opened(self, record: RequestRecord) -> None:
        self._count.value += 1
        if self._free and record.request_id not in self._places:
            place = self._places[record.request_id] = self._free.pop()
            self._write(place, f"{record.request_id} {record.endpoint}")

    def _ended(self, record: RequestRecord) -> None:
        self._count.value -= 1
        place = self._places.pop(record.request_id, None)
        if place is not None:
            self._write(place, "")
            self._free.append(place)

    def _write(self, place: int, name: str) -> None:
        _NAME.pack_into(self._names, place * _NAME.size, name.encode("utf-8", "replace"))

    # --- the parent -----------------------------------------------------------------------------------------

    @property
    def beats(self) -> int:
        """The number of signs of life so far."""
        return int(self._beats.value)

    @property
    def open_streams(self) -> int:
        """The number of open streams."""
        return int(self._count.value)

    @property
    def ended_streams(self) -> int:
        """The number of streams that the end of the worker has ended: by its drain, or by a kill."""
        left = int(self._left.value)
        return self.open_streams if left < 0 else left

    def names(self) -> list[str]:
        """Return request id and endpoint of each named stream."""
        names = (data.rstrip(b"\0") for (data,) in _NAME.iter_unpack(self._names))
        return [name.decode("utf-8", "replace") for name in names if name]
