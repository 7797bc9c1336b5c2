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
"""This entry was left out before its secrets were masked."""

_CAN_BE_LEFT_OUT: Final = frozenset({"read", "write", "kind"})


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
        left_out: by kind of entry.
    """

    __slots__ = ("_half", "_head", "_kept", "_next", "_tail", "_tail_size", "left_out", "size")

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
            if entry[0] in _CAN_BE_LEFT_OUT:
                self.size -= size
                self._leave_out(entry)
            else:
                self._kept.append((number, entry))

    def _leave_out(self, entry: Entry) -> None:
        before = self.left_out.get(entry[0], LeftOut())
        data = entry[2]
        taken = data if isinstance(data, int) else len(data)
        self.left_out[entry[0]] = LeftOut(before.bytes + taken, before.lines + 1)
        if isinstance(entry, list) and entry[-1] is RAW:
            entry[2], entry[-1] = b"", GONE


def _is_masked(numbered: NumberedEntry) -> bool:
    return numbered[1][-1] is not RAW or isinstance(numbered[1], tuple)
