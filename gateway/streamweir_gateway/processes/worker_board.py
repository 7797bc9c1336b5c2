"""Memory shared by a worker and its parent. The parent can read it even if the worker hangs.

Messages are not enough: a worker that hangs sends no messages, and its last message may not name the streams
that were open when it began to hang.
"""

from __future__ import annotations

import ctypes
import struct
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamweir_gateway.observability.record import RequestRecord
    from streamweir_gateway.runs.live_streams import LiveStream

__all__ = ["OpenStreams", "SharedAbsence", "WorkerBoard"]

MAX_NAMES: Final = 128
"""The most streams whose names are kept. All streams are counted."""

_NAME: Final = struct.Struct("256s")
"""A name of fixed length: longer names are cut, shorter names are padded with zeros."""


class SharedAbsence:
    """The time since which the store has not answered, in memory that all workers share; see `StoreLines`.

    Args:
        context: the context with which the workers are started.
    """

    def __init__(self, context: SpawnContext) -> None:
        self._since = context.RawValue(ctypes.c_double, 0.0)

    @property
    def since(self) -> float:
        """The time by `time.monotonic()`; 0 while the store answers."""
        return float(self._since.value)

    @since.setter
    def since(self, seconds: float) -> None:
        self._since.value = seconds


class OpenStreams:
    """The number of open streams of each worker, in memory that all workers share.

    Args:
        context: the context with which the workers are started.
        workers: the number of workers.
    """

    def __init__(self, context: SpawnContext, workers: int) -> None:
        self._counts = context.RawArray(ctypes.c_ulonglong, workers)

    @property
    def total(self) -> int:
        """The number of open streams of all workers."""
        return sum(self._counts)

    def __getitem__(self, worker: int) -> int:
        return int(self._counts[worker])

    def __setitem__(self, worker: int, count: int) -> None:
        self._counts[worker] = count


class WorkerBoard:
    """The shared memory of one worker. The parent makes it, and passes it to the worker at its start.

    Args:
        context: the context with which the worker is started.
        streams: the open streams of all workers.
        number: the number of the worker, from 0.
    """

    def __init__(self, context: SpawnContext, streams: OpenStreams, number: int) -> None:
        self._beats = context.RawValue(ctypes.c_ulonglong, 0)
        self._streams = streams
        self._number = number
        self._left = context.RawValue(ctypes.c_longlong, -1)
        self._names = context.RawArray(ctypes.c_char, MAX_NAMES * _NAME.size)
        self._free = list(range(MAX_NAMES))
        self._places: dict[str, int] = {}

    # --- the worker -----------------------------------------------------------------------------------------

    def beat(self) -> None:
        """Note that the event loop runs."""
        self._beats.value += 1

    def follow(self, stream: LiveStream) -> None:
        """Keep the name of a stream until the stream ends."""
        record = stream.record
        self._opened(record)
        stream.on_end(lambda: self._ended(record))

    def has_streams_anywhere(self) -> bool:
        """Return whether any worker has an open stream."""
        return self._streams.total > 0

    def note_drained(self, left: int) -> None:
        """Note the number of streams that a drain had to end."""
        self._left.value = left

    def _opened(self, record: RequestRecord) -> None:
        self._streams[self._number] += 1
        if self._free and record.request_id not in self._places:
            place = self._places[record.request_id] = self._free.pop()
            self._write(place, f"{record.request_id} {record.endpoint}")

    def _ended(self, record: RequestRecord) -> None:
        self._streams[self._number] -= 1
        place = self._places.pop(record.request_id, None)
        if place is not None:
            self._write(place, "")
            self._free.append(place)

    def _write(self, place: int, name: str) -> None:
        _NAME.pack_into(self._names, place * _NAME.size, name.encode("utf-8", "replace"))

    # --- the parent -----------------------------------------------------------------------------------------

    @property
    def beats(self) -> int:
        """The number of signs of life that the worker has given."""
        return int(self._beats.value)

    @property
    def open_streams(self) -> int:
        """The number of open streams."""
        return self._streams[self._number]

    @property
    def ended_streams(self) -> int:
        """The number of streams that were cut by the end of the worker, by its drain or by a kill."""
        left = int(self._left.value)
        return self.open_streams if left < 0 else left

    def names(self) -> list[str]:
        """Return the request id and the endpoint of each stream whose name is kept."""
        names = (data.rstrip(b"\0") for (data,) in _NAME.iter_unpack(self._names))
        return [name.decode("utf-8", "replace") for name in names if name]
