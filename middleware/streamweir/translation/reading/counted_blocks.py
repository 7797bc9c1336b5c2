"""Reads blocks that differ only in their text and in numbers, each of which counts up by one.

id: 7
    ─ counts
data: {"type":"content","data":{"content":"Hel"},"metadata":{"timestamp":1790000000000,"sequence":7}}
                                          ───── text                     ───────────── equal      ─ counts
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from operator import itemgetter
from typing import Final

import msgspec

from streamweir.codec.decimals import decimal, decimals
from streamweir.translation.reading.surroundings import texts_in_lines, values_in_lines

__all__ = ["CountedBlocks"]

_MOST_MISSES: Final = 4
_MOST_DIGITS: Final = 15

_ignored: Final = msgspec.json.Decoder(list[int | float | str]).decode


class CountedBlocks:
    """The blocks of one template whose numbers count.

    The texts of a read are where the block before it shows them. Then the read is written again, from these
    texts and from the numbers that are next. If the result is the same bytes, the texts are right. If not,
    or if a block between two reads was read by itself, the values of the first block of the read are used.
    After `_MOST_MISSES` tries in vain without a read that continues the read before, `texts_in` tries nothing
    any more.

    Args:
        constants: the bytes of a block before, between and after its values.
        place: the number of values before the text.
        end: the bytes of a block after its message.
    """

    __slots__ = (
        "_constants",
        "_end",
        "_line",
        "_lines",
        "_misses",
        "_next",
        "_of_text",
        "_place",
        "_written",
    )

    def __init__(self, constants: Sequence[bytes], place: int, end: bytes) -> None:
        self._constants = constants
        self._place = place
        self._end = end
        self._misses = 0
        self._written: Sequence[bytes] = ()
        """The bytes of a block around its text and its numbers; empty if they are unknown."""
        self._next: list[int | None] = []
        """The numbers of the next block, with None in the place of its text."""
        self._lines = self._line = 0
        """The number of lines of a block, and the number of those before its text."""
        self._of_text = itemgetter(slice(0))
        """Returns the text of the line that holds it."""

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of bytes that consist of such blocks; None for any other bytes, and for blocks
        that have to be read in another way.

        Raises:
            MsgspecError, ValueError: a value is not JSON, or of another type.
        """
        if self._misses >= _MOST_MISSES:
            return None
        if self._written and self._may_go_on(data):
            pieces = self._pieces_in(data)
            if pieces is not None:
                self._misses = 0
                return texts_in_lines(pieces)
            self._misses += 1
        self._misses += 1  # if `_learn` raises, too
        self._learn(data)
        pieces = self._pieces_in(data) if self._written else None
        if pieces is None:
            self._written = ()
            return None
        self._misses -= 1
        return texts_in_lines(pieces)

    def _may_go_on(self, data: bytes) -> bool:
        """Return whether one number of the first block is the one that is next."""
        first, last = self._next[0], self._next[-1]
        if first is not None:
            return data.startswith(self._written[0] + decimal(first))
        stop = data.find(self._end) + len(self._end)
        return last is None or data.endswith(decimal(last) + self._written[-1], 0, stop)

    def _pieces_in(self, data: bytes) -> list[bytes] | None:
        """Return the bytes of each text if `data` consists of the next blocks; None for any other bytes."""
        pieces = [*map(self._of_text, BytesIO(data).readlines()[self._line :: self._lines])]
        count = len(pieces)
        begin, *inner, end = self._written
        block = [end + begin, b""]
        for constant in inner:
            block += (constant, b"")
        parts = block * count
        for place, number in enumerate(self._next):
            parts[2 * place + 1 :: len(block)] = pieces if number is None else decimals(number, 1, count)
        parts[:1] = [begin]
        parts.append(end)
        if b"".join(parts) != data:
            return None
        self._next = [None if number is None else number + count for number in self._next]
        return pieces

    def _learn(self, data: bytes) -> None:
        """Learn from the first block of `data`. The values that are different in the last block count.

        Raises:
            MsgspecError, ValueError: a value that does not count is not JSON, or of another type.
        """
        size = len(self._end)
        block = data[: data.find(self._end) + size]
        values = self._values_in(block)
        last = self._values_in(data[data.rfind(self._end, 0, -size) + size :])
        self._written, written = (), [self._constants[0]]
        self._next = []
        equal: list[bytes] = []
        begin = 0
        for place, value in enumerate(values):
            constant = self._constants[place + 1]
            if place == self._place:
                begin = len(b"".join((*self._constants[: place + 1], *values[:place])))
                self._next.append(None)
            elif value == last[place]:
                equal.append(value)
                written[-1] += value + constant
                continue
            elif not value.isdigit() or len(value) > _MOST_DIGITS:
                self._misses = _MOST_MISSES
                return
            elif len(value) != len(last[place]):
                return
            else:
                self._next.append(int(value))
            written.append(constant)
        stop = begin + len(values[self._place])
        line = block.rfind(b"\n", 0, begin) + 1
        line_end = block.find(b"\n", stop) + 1
        if line_end and (not equal or values_in_lines(equal, _ignored) is not None):
            self._of_text = itemgetter(slice(begin - line, stop - line_end))
            self._line, self._lines = block.count(b"\n", 0, line), block.count(b"\n")
            self._written = written

    def _values_in(self, block: bytes) -> list[bytes]:
        """Return the values of a block; any bytes if it is another one."""
        first, *inner, last = self._constants
        rest = block[len(first) : -len(last)]
        values = []
        for constant in inner:
            value, _, rest = rest.partition(constant)
            values.append(value)
        return [*values, rest]
