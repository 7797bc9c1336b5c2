"""The log of one stream: references to its bytes, with their times, within a number of bytes.

A log is full once its entries take half of what it may keep. From then on the newest entries are kept in the
other half: of those in between, the ones with bytes are left out and counted, all others stay.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = ["ENTRY_BYTES", "GONE", "RAW", "Entry", "LeftOut", "NumberedEntry", "StreamLog"]

ENTRY_BYTES: Final = 240
"""The memory that an entry takes beside its bytes, about."""

Entry: TypeAlias = Sequence[Any]
"""The kind of entry, the time (`time.monotonic`), and what the kind has; see `request_recorder.py`.

An entry that may hold secrets is a list. Its last element is `RAW` until they are masked.
"""

NumberedEntry: TypeAlias = tuple[int, Entry]

RAW: Final = None
"""The secrets of this entry are not masked yet."""
GONE: Final = -1
"""This entry was left out before its secrets were masked. It has bytes only at an edge of the gap."""

EDGE_BYTES: Final = 4096
"""Of a secret that begins or ends in a gap, so many bytes within the gap are seen."""

_LEFT_OUT: Final = {
    "read": ("read", 1),
    "read_part": ("read", 0),
    "write": ("write", 1),
    "write_part": ("write", 0),
    "kind": ("kind", 1),
}
"""By the kind of an entry that can be left out: under which kind it is counted, and as how many lines."""


class LeftOut(NamedTuple):
    """The number of bytes and of entries of one lane that were left out."""

    bytes: int = 0
    lines: int = 0


class StreamLog:
    """The entries of one stream, in the order in which they happened.

    Args:
        max_bytes: the most bytes to keep.

    Attributes:
        size: bytes that are kept.
        left_out: by kind of entry. A large read or write of which a part is kept counts with its bytes alone,
            unless its last part is left out.
    """

    __slots__ = ("_edges", "_half", "_head", "_kept", "_next", "_tail", "_tail_size", "left_out", "size")

    def __init__(self, max_bytes: int) -> None:
        self._half = max_bytes // 2
        self._head: list[Entry] = []
        self._kept: list[NumberedEntry] = []
        """Entries from between head and tail that are never left out."""
        self._tail: deque[tuple[int, Entry, int]] | None = None
        """Number, entry and size; None while the head is not full."""
        self._tail_size = 0
        self._next = 0
        self.size = 0
        self.left_out: dict[str, LeftOut] = {}
        self._edges: dict[str, _Edges] = {}

    def add(self, entry: Entry, size: int) -> None:
        """Add an entry that holds `size` bytes."""
        size += ENTRY_BYTES
        self.size = total = self.size + size
        if self._tail is None:
            if total <= self._half:
                self._head.append(entry)
                return
            self._tail, self._next = deque(), len(self._head)
        self._tail.append((self._next, entry, size))
        self._next += 1
        self._tail_size += size
        if self._tail_size > self._half:
            self._shrink(self._tail)

    def entries(self, start: int = 0) -> Iterator[NumberedEntry]:
        """Yield the kept entries from number `start` on, up to the first one that is not masked."""
        yield from takewhile(_is_masked, self._all(start))

    def _all(self, start: int) -> Iterator[NumberedEntry]:
        yield from enumerate(islice(self._head, start, None), start)
        yield from (numbered for numbered in self._kept if numbered[0] >= start)
        yield from ((number, entry) for number, entry, _ in self._tail or () if number >= start)

    def _shrink(self, tail: deque[tuple[int, Entry, int]]) -> None:
        while self._tail_size > self._half and tail:
            number, entry, size = tail.popleft()
            self._tail_size -= size
            if entry[0] in _LEFT_OUT:
                self.size -= size
                self._leave_out(entry)
            else:
                self._kept.append((number, entry))

    def _leave_out(self, entry: Entry) -> None:
        kind, lines = _LEFT_OUT[entry[0]]
        before = self.left_out.get(kind, LeftOut())
        data = entry[2]
        taken = data if isinstance(data, int) else len(data)
        self.left_out[kind] = LeftOut(before.bytes + taken, before.lines + lines)
        if isinstance(entry, list) and entry[-1] is RAW:
            entry[-1] = GONE
            self._edges.setdefault(kind, _Edges()).add(entry)


class _Edges:
    """The entries of one lane at the edges of its gap, which keep their bytes until they are masked.

    The secrets in the entries before and behind the gap are found by them.
    """

    __slots__ = ("_first_bytes", "_last", "_last_bytes")

    def __init__(self) -> None:
        self._first_bytes = 0
        self._last: deque[list[Any]] = deque()
        self._last_bytes = 0

    def add(self, entry: list[Any]) -> None:
        """Take an entry that is left out; an older one that is no longer at an edge loses its bytes."""
        size = len(entry[2])
        if self._first_bytes < EDGE_BYTES:
            self._first_bytes += size
            return
        self._last.append(entry)
        self._last_bytes += size
        while self._last_bytes - len(self._last[0][2]) >= EDGE_BYTES:
            oldest = self._last.popleft()
            self._last_bytes -= len(oldest[2])
            oldest[2] = b""


def _is_masked(numbered: NumberedEntry) -> bool:
    return numbered[1][-1] is not RAW or isinstance(numbered[1], tuple)
