"""Stored events without an object for each of them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, overload

__all__ = ["JoinedLines"]

_BLOCK_BYTES: Final = 49
"""The memory that a block takes in addition to its bytes."""


class JoinedLines(Sequence[bytes]):
    """Lines that are kept in blocks. The lines of a block are joined by `\\n` until one of them is asked for.

    Args:
        block: the first block; a line among several holds no other `\\n`.
        count: the number of its lines; 0: there is no block yet.

    Attributes:
        total: the number of lines.
        size: the bytes of the lines, without those that join them.
        memory: the bytes of memory that the lines take.
    """

    __slots__ = ("_blocks", "_ends", "memory", "size", "total")

    def __init__(self, block: bytes = b"", count: int = 0) -> None:
        self._blocks = [block] if count else []
        self._ends = array("q", [count] if count else [])
        """For each block the position after its last line."""
        self.total = count
        self.size = len(block) - count + 1 if count else 0
        self.memory = len(block) + _BLOCK_BYTES if count else 0

    @classmethod
    def of(cls, lines: Sequence[bytes]) -> JoinedLines:
        """Return `lines` as they are if they are joined, else in a block for each, as it may hold `\\n`."""
        if isinstance(lines, cls):
            return lines
        joined = cls()
        for line in lines:
            joined.extend(cls(line, 1))
        return joined

    def extend(self, lines: JoinedLines) -> None:
        """Append the blocks of other lines."""
        self._blocks += lines._blocks
        for end in lines._ends:
            self._ends.append(self.total + end)
        self.total += lines.total
        self.size += lines.size
        self.memory += lines.memory

    def __len__(self) -> int:
        return self.total

    def __iter__(self) -> Iterator[bytes]:
        for place in range(len(self._blocks)):
            yield from self._lines_of(place)

    @overload
    def __getitem__(self, index: int) -> bytes: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        wanted = range(self.total)[index]
        if isinstance(wanted, int):
            return self._between(wanted, wanted + 1)[0]
        if wanted.step == 1:
            return self._between(wanted.start, wanted.stop)
        lines = [*self]
        return [lines[at] for at in wanted]

    def _between(self, start: int, stop: int) -> list[bytes]:
        found: list[bytes] = []
        place = bisect_right(self._ends, start)
        while start < stop:
            lines, end = self._lines_of(place), self._ends[place]
            found += lines[start - end + len(lines) : stop - end + len(lines)]
            start, place = end, place + 1
        return found

    def _lines_of(self, place: int) -> list[bytes]:
        count = self._ends[place] - (self._ends[place - 1] if place else 0)
        block = self._blocks[place]
        return [block] if count == 1 else block.split(b"\n")
