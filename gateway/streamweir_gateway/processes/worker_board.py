"""What a worker leaves in memory that it shares with its parent, who can read it when the worker hangs.

A message would not do: who hangs sends none, and the streams that a message of a second ago named are perhaps
not those under which it hangs.
"""

from __future__ import annotations

import ctypes
import struct
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from streamweir_gateway.observability.record import RequestRecord
    from streamweir_gateway.runs.live_streams import LiveStream

__all__ = ["WorkerBoard"]

MAX_NAMES: Final = 128
"""So many streams are named; all are counted."""

_NAME: Final = struct.Struct("256s")
"""Longer ones are cut; zeros at the end are none of it."""


class WorkerBoard:
    """One worker's. It is made by the parent and goes to the worker as it starts.

    Args:
        context: that the worker is started with.
    """

    def __init__(self, context: SpawnContext) -> None:
        self._beats = context.RawValue(ctypes.c_ulonglong, 0)
        self._count = context.RawValue(ctypes.c_ulonglong, 0)
        self._names = context.RawArray(ctypes.c_char, MAX_NAMES * _NAME.size)
        self._free = list(range(MAX_NAMES))
        self._places: dict[str, int] = {}

    # --- the worker -----------------------------------------------------------------------------------------

    def beat(self) -> None:
        """The event loop turns."""
        self._beats.value += 1

    def follow(self, stream: LiveStream) -> None:
        """Name a stream until its end."""
        record = stream.record
        self._opened(record)
        stream.on_end(lambda: self._ended(record))

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
        """How often the event loop has turned; each second once, while it does."""
        return int(self._beats.value)

    @property
    def open_streams(self) -> int:
        """How many streams are under way."""
        return int(self._count.value)

    def names(self) -> list[str]:
        """Return request id and endpoint of each, as far as they are named."""
        names = (data.rstrip(b"\0") for (data,) in _NAME.iter_unpack(self._names))
        return [name.decode("utf-8", "replace") for name in names if name]
