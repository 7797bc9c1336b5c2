"""The newest entries of a log that is longer than the log may be.

The oldest entries are dropped first. A large write must not drop the reads before it, nor a large read the
writes: a lane keeps an eighth of the bytes as long as the other lane has more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from heapq import merge
from operator import itemgetter
from typing import Any, Final, TypeAlias

__all__ = ["LANE_OF_PART", "Entry", "NumberedEntry", "StreamTail"]

Entry: TypeAlias = Sequence[Any]
"""The kind of the entry, its time (`time.monotonic()`), and its values; see `stream_log.py`.

An entry that may hold secrets is a list. Its last element is `RAW` until its secrets are masked.
"""

NumberedEntry: TypeAlias = tuple[int, Entry]

LANE_OF_PART: Final = {"read_part": "read", "write_part": "write", "read": "read", "write": "write"}
"""The kind of line to which an entry with bytes belongs, by the kind of the entry."""

_SHARE: Final = 8


class _Lane:
    """The entries of one lane, the oldest first."""

    __slots__ = ("entries", "size")

    def __init__(self) -> None:
        self.entries: deque[tuple[int, Entry, int]] = deque()
        self.size = 0


class StreamTail:
    """The newest entries of a log, with their numbers.

    Args:
        max_bytes: the most bytes of all entries. The caller calls `drop` while `size` exceeds it.

    Attributes:
        size: the bytes of all entries.
    """

    __slots__ = ("_lanes", "_least", "_other", "size")

    def __init__(self, max_bytes: int) -> None:
        self.size = 0
        self._least = max_bytes // _SHARE
        """The bytes that the lane of reads or of writes keeps as long as the other one has more."""
        self._other = _Lane()
        self._lanes = {"read": _Lane(), "write": _Lane()}

    def add(self, number: int, entry: Entry, size: int) -> None:
        """Add an entry that takes `size` bytes."""
        lane = self._lanes.get(LANE_OF_PART.get(entry[0], ""), self._other)
        lane.entries.append((number, entry, size))
        lane.size += size
        self.size += size

    def drop(self) -> tuple[int, Entry, int]:
        """Remove the entry that is to be dropped next; return its number, the entry, and its bytes."""
        lane = self._to_shorten()
        dropped = lane.entries.popleft()
        lane.size -= dropped[2]
        self.size -= dropped[2]
        return dropped

    def _to_shorten(self) -> _Lane:
        """Return the lane with the oldest entry; the larger one, if a read or write of few is the oldest."""
        oldest = min(self._filled(), key=_number)
        if oldest is self._other or oldest.size - oldest.entries[0][2] >= self._least:
            return oldest
        return max(self._lanes.values(), key=_size)

    def __iter__(self) -> Iterator[NumberedEntry]:
        """Yield the entries in the order of their numbers."""
        lanes = [lane.entries for lane in self._filled()]
        return ((number, entry) for number, entry, _ in merge(*lanes, key=itemgetter(0)))

    def __bool__(self) -> bool:
        """Return whether there are entries."""
        return any(self._filled())

    def _filled(self) -> Iterator[_Lane]:
        return (lane for lane in (self._other, *self._lanes.values()) if lane.entries)


def _number(lane: _Lane) -> int:
    return lane.entries[0][0]


def _size(lane: _Lane) -> int:
    return lane.size
