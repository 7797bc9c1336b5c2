"""The bytes around a text that each block of a body repeats and extends."""

from __future__ import annotations

from typing import Final

from streamweir.codec.growing_template import GrowingTemplate
from streamweir.framing.control_bytes import CR, LF
from streamweir.translation.reading.surroundings import TextReader

__all__ = ["GrowingSurroundings"]


class GrowingSurroundings(TextReader):
    """The bytes before and after the whole text in the blocks of one template. Blocks are read one by one.

    Args:
        template: the template of the messages.
        begin: the bytes of a block before its message.
        end: the bytes of a block after its message.

    Attributes:
        template: the argument.
        before: the bytes of a block before the text.
        end: the argument.
    """

    __slots__ = ("_after", "_after_size", "_before_size", "_may_hold_lines", "before", "end", "template")

    is_constant: Final = False

    def __init__(self, template: GrowingTemplate, begin: bytes, end: bytes) -> None:
        before, after = template.edges
        self.template = template
        self.end = end
        self.before, self._after = begin + before, after + end
        self._before_size, self._after_size = len(self.before), len(self._after)
        self._may_hold_lines = not template.is_constant
        """There may be line ends beside an ignored number, but never in a JSON string."""

    def note(self, message: bytes) -> None:
        """Note the message of the latest block; the template knows its text."""

    def only_text_in(self, data: bytes) -> str | None:
        """Return the new part of the text in a single block; None for any other bytes."""
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        begin, end = self._before_size, len(data) - self._after_size
        if self._may_hold_lines and (data.find(LF, begin, end) >= 0 or data.find(CR, begin, end) >= 0):
            return None
        return self.template.text_in(data, begin, end)

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the new part of the text in a single block, in a list; None for any other bytes."""
        text = self.only_text_in(data)
        return [text] if text else None

    def run_in(self, data: bytes, begin: int, *, tries_all: bool) -> tuple[list[str] | None, int]:
        """Return the new part of the text in the first block from `begin` on, and the end of the block; see
        `Surroundings.run_in`.
        """
        del tries_all
        is_alike = data.startswith(self.before, begin)
        known = self._before_size + len(self.template.known) if is_alike else 0
        stop = data.find(self.end, begin + known) + len(self.end)
        if stop < len(self.end):
            return None, begin
        return self.texts_in(data[begin:stop]), stop
