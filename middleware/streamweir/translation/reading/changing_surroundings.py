"""The bytes around the texts of a body whose blocks differ in more than the text, such as ids and times.

id: 7                                                          an id of SSE
data: {"type":"content","data":{"content":"Hel"},"metadata":{"timestamp":1790000000000,"sequence":7}}
      ───────────────────────────────────────  ──────────────────────────              ────────────  ──
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from streamweir.codec.message_template import CountingTemplate, MessageTemplate
from streamweir.translation.reading.counted_blocks import CountedBlocks
from streamweir.translation.reading.separator import Separator
from streamweir.translation.reading.surroundings import (
    Surroundings,
    TextReader,
    texts_in_lines,
    values_in_lines,
)

__all__ = ["ChangingSurroundings", "has_id"]

_MOST_MISSES: Final = 3
"""After this many texts in a row that differ from the latest block in a number, it counts as a counter."""

_NAME: Final = rb"(?:event: [^\r\n]*\n)?"
_WITH_ID: Final = re.compile(rb"%bid: ([^\r\n]*)\n%bdata: ?" % (_NAME, _NAME))
"""The bytes of a block with an id before its message."""

_ignored: Final = msgspec.json.Decoder(list[int | float | str]).decode


def has_id(begin: bytes) -> bool:
    """Return whether the bytes before the message of a block hold an id."""
    return _WITH_ID.fullmatch(begin) is not None


class ChangingSurroundings(TextReader):
    """The bytes around the values that change in the blocks of one template: the text, times, ids of SSE.

    Numbers next to the text, such as times in seconds, are often equal to those of the latest block.
    `_latest` has the surroundings of that block, in which only the text changes. `note` sets it, until three
    noted blocks in a row were followed by a different one; it stays None from then on. It is always None if
    blocks have ids.

    Args:
        template: the template of the messages.
        begin: the bytes of a block before its message.
        end: the bytes of a block after its message.
        note_id: is given the id of the latest block, if blocks have ids.

    Attributes:
        template: the argument.
        before: the bytes of a block up to the first value that changes.
        end: the argument.
    """

    __slots__ = (
        "_after",
        "_after_size",
        "_before_size",
        "_begin",
        "_counted",
        "_inner",
        "_keeps_latest",
        "_latest",
        "_misses",
        "_note_id",
        "_notes_blocks",
        "_separator",
        "_text_place",
        "before",
        "end",
        "template",
    )

    is_constant: Final = False

    def __init__(
        self, template: MessageTemplate, begin: bytes, end: bytes, note_id: Callable[[bytes], None]
    ) -> None:
        self.template = template
        self.end = end
        self._latest: Surroundings | None = None
        self._misses = 0
        self._begin = begin
        self._notes_blocks = True
        """Set while `note` is needed: blocks have ids, or the next block may differ only in its text."""
        self._keeps_latest = type(template) is CountingTemplate
        self._note_id: Callable[[bytes], None] | None = None
        first, *inner = template.constants
        if found := _WITH_ID.fullmatch(begin):
            self._note_id = note_id
            self._begin = begin[found.end(1) :]
            first, inner = begin[: found.start(1)], [self._begin + first, *inner]
        else:
            first = begin + first
        *self._inner, last = inner
        self.before, self._after = first, last + end
        self._before_size, self._after_size = len(self.before), len(self._after)
        self._separator = Separator(self._after + self.before)
        self._text_place = template.text_place + (self._note_id is not None)
        self._counted = CountedBlocks((first, *self._inner, self._after), self._text_place, end)

    def note(self, message: bytes) -> None:
        """Note the message of the latest block."""
        if self._note_id is not None or not self._notes_blocks:
            return
        self._misses += 1
        self._notes_blocks = self._misses <= _MOST_MISSES
        self._latest = None
        if self._notes_blocks:
            edges = self.template.around_text(message)
            self._latest = Surroundings.around(self.template, self._begin, self.end, edges)

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of bytes that consist of such blocks; None for any other bytes."""
        texts = None if self._latest is None else self._latest.texts_in(data)
        if texts is not None:
            self._misses = 0
            return texts
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        begin, end = self._before_size, len(data) - self._after_size
        if self._note_id is not None:
            begin = self._end_of_id(data, begin, end)
        if begin < 0:
            return None
        if data.find(b"\n", begin, end) >= 0:
            return self._texts_in(data)
        text = self.template.text_in(data, begin, end) if data.find(b"\r", begin, end) < 0 else None
        if text and self._notes_blocks:
            self._note_block(data)
        return [text] if text else None

    def run_in(self, data: bytes, begin: int, *, tries_all: bool) -> tuple[list[str] | None, int]:
        """Return the texts of consecutive blocks from `begin` on, and the end of the last block; see
        `Surroundings.run_in`.
        """
        stop = data.rfind(self.end, begin) + len(self.end)
        if stop < begin + len(self.end):
            return None, begin
        latest = self._latest
        if latest is not None and latest.is_first_in(data, begin):
            texts, end = latest.run_in(data, begin, tries_all=tries_all)
            if texts is not None:
                self._misses = 0
                return texts, end
        return self.texts_in(data[begin:stop]), stop

    def _end_of_id(self, data: bytes, begin: int, end: int) -> int:
        """Return the position after an id where the first value begins; -1 if the id is not in one line."""
        stop = data.find(self._inner[0], begin, end)
        return -1 if stop < 0 or _has_line_end(data, begin, stop) else stop + len(self._inner[0])

    def _texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of several blocks with these edges; None for any other bytes."""
        try:
            texts = self._counted.texts_in(data)
        except (msgspec.MsgspecError, ValueError):
            texts = None
        if texts is not None:
            if self._notes_blocks or self._keeps_latest:
                self._note_last(data[data.rfind(self.end, 0, -len(self.end)) + len(self.end) :])
            return texts
        blocks = self._separator.split(data[self._before_size : -self._after_size])
        if blocks is None:
            return None
        place = self._text_place
        joined, shared = _joined_constants(self._inner, blocks, place)
        texts = self._texts_between(joined, blocks, place, shared) if shared else None
        if texts is None:
            texts = self._texts_between(self._inner, blocks, place)
        if texts is not None and (self._notes_blocks or self._keeps_latest):
            self._note_last(self.before + blocks[-1] + self._after)
        return texts

    def _texts_between(
        self, constants: Sequence[bytes], blocks: Sequence[bytes], place: int, shared: Sequence[bytes] = ()
    ) -> list[str] | None:
        """Return the texts of blocks; None if a block does not have these constants between valid values.

        Args:
            constants: the bytes between the values of a block.
            blocks: without their edges.
            place: the number of values before the text.
            shared: values that are a part of the constants.
        """
        columns = _columns_of(blocks, constants)
        texts_of, ids = columns.pop(place), columns.pop(0) if self._note_id is not None else ()
        try:
            texts = texts_in_lines(texts_of)
            are_ids = not ids or _are_ids(ids)
            return texts if texts and are_ids and _are_values([*columns, shared]) else None
        except (msgspec.MsgspecError, ValueError):
            return None

    def _note_last(self, block: bytes) -> None:
        """Note the last block of a read of several."""
        self.template.note_latest(self._message_in(block))
        if self._notes_blocks:
            self._note_block(block)

    def _note_block(self, block: bytes) -> None:
        """Note the latest block, or its id if it has one."""
        if self._note_id is not None:
            self._note_id(block[self._before_size : block.find(self._inner[0], self._before_size)])
        else:
            self.note(self._message_in(block))

    def _message_in(self, block: bytes) -> bytes:
        begin = block.find(self._begin) + len(self._begin)  # ids are before it, and hold no line end
        return block[begin : -len(self.end)]


def _joined_constants(
    constants: Sequence[bytes], blocks: Sequence[bytes], place: int
) -> tuple[Sequence[bytes], Sequence[bytes]]:
    """Return the constants of blocks, of which two are joined by the value between them, and this value.

    It is the value behind the text, if the first and the last block have the same: the texts of a read mostly
    have one time. If they differ, or there is no such value, no value is returned.

    Args:
        constants: the bytes between the values of a block.
        blocks: without their edges.
        place: the number of values before the text.
    """
    if len(constants) < place + 2:
        return constants, ()
    before, after = constants[place], constants[place + 1]
    first = blocks[0]
    begin = first.find(before)
    value = first[begin + len(before) : first.find(after, begin)]
    joined = before + value + after
    if first.find(joined, begin) != begin or blocks[-1].find(joined) < 0:
        return constants, ()
    return [*constants[:place], joined, *constants[place + 2 :]], (value,)


def _columns_of(blocks: Sequence[bytes], constants: Iterable[bytes]) -> list[Sequence[bytes]]:
    """Return the bytes of each value between constants, block by block; `blocks` are without their edges."""
    columns: list[Sequence[bytes]] = []
    for constant in constants:
        column, rest = [], []
        for block in blocks:  # `zip` over the parts takes a quarter longer
            value, _, after = block.partition(constant)
            column.append(value)
            rest.append(after)
        columns.append(column)
        blocks = rest
    return [*columns, blocks]


def _has_line_end(data: bytes, begin: int, end: int) -> bool:
    return data.find(b"\n", begin, end) >= 0 or data.find(b"\r", begin, end) >= 0


def _are_ids(ids: Sequence[bytes]) -> bool:
    """Return whether each value is an id within one line."""
    joined = b"".join(ids)
    return not _has_line_end(joined, 0, len(joined))


def _are_values(columns: Sequence[Sequence[bytes]]) -> bool:
    """Return whether each value is a JSON number or string without a line end.

    Raises:
        MsgspecError, ValueError: a value is not JSON, or of another type.
    """
    values: list[bytes] = []
    for column in filter(None, columns):
        first = column[0]
        values += (first,) if column.count(first) == len(column) else column  # times are often equal
    return not values or values_in_lines(values, _ignored) is not None
