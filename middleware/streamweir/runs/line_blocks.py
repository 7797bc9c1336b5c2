"""The events of one run in memory, in blocks as they were appended."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from streamweir.runs.joined_lines import JoinedLines

__all__ = ["LineBlocks"]

_BLOCK_BYTES: Final = 49
"""The memory that a block takes in addition to its bytes."""


class LineBlocks:
    """Lines of which those that were appended together, as `JoinedLines`, stay joined.

    Attributes:
        total: the number of lines.
        memory: the bytes of memory that they take.
    """

    __slots__ = ("_blocks", "_ends", "memory", "total")

    def __init__(self) -> None:
        self.total = self.memory = 0
        self._blocks: list[bytes] = []
        self._ends = array("q")
        """For each block the position after its last line."""

    @staticmethod
    def memory_of(lines: Sequence[bytes]) -> int:
        """Return the bytes of memory that the lines will take."""
        if isinstance(lines, JoinedLines):
            return len(lines.block) + _BLOCK_BYTES
        return sum(map(len, lines)) + _BLOCK_BYTES * len(lines)

    def extend(self, lines: Sequence[bytes], memory: int) -> None:
        """Append lines.

        Args:
            lines: the lines; those of a list may hold `\\n`.
            memory: the result of `memory_of` for them.
        """
        self.memory += memory
        if isinstance(lines, JoinedLines):
            self._blocks.append(lines.block)
            self.total += lines.total
            self._ends.append(self.total)
            return
        self._blocks += lines
        self._ends.extend(range(self.total + 1, self.total + len(lines) + 1))
        self.total += len(lines)

    def between(self, start: int, stop: int) -> list[bytes]:
        """Return the lines from position `start` on and before `stop`, as far as there are any."""
        found: list[bytes] = []
        place, stop = bisect_right(self._ends, start), min(stop, self.total)
        while start < stop:
            end = self._ends[place]
            total = end - (self._ends[place - 1] if place else 0)
            lines = JoinedLines(self._blocks[place], total)
            found += lines[total - (end - start) : total - (end - stop)]
            start, place = end, place + 1
        return found
