"""The bytes around the texts of a body, by which a read that consists of texts is read without parsing."""

from __future__ import annotations

from typing import Final

import msgspec

from streamweir.codec.message_template import MessageTemplate
from streamweir.framing import Frame
from streamweir.framing.control_bytes import CR, LF

__all__ = ["Surroundings"]

_text: Final = msgspec.json.Decoder(str).decode
_texts: Final = msgspec.json.Decoder(list[str]).decode


class Surroundings:
    """The bytes before and behind the text in the blocks of one template.

    Args:
        template: of the messages.
        name: the event name of their frames.
        begin: the bytes of a block before its message.
        end: the bytes of a block behind its message.

    Attributes:
        template: the argument.
        before: the constant bytes at the beginning of a block.
        end: the argument.
        is_constant: blocks differ only in their text; else also in numbers, such as times.
    """

    __slots__ = ("_after", "_begin", "_between", "_end", "_name", "before", "end", "is_constant", "template")

    def __init__(self, template: MessageTemplate, name: str | None, begin: bytes, end: bytes) -> None:
        constants = template.constants
        before, after = constants or (b"", b"")
        self.template = template
        self.is_constant = constants is not None
        self._name = name
        self.end = end
        self.before = begin + before
        self._after = after + end
        self._between = self._after + self.before
        self._begin, self._end = len(self.before), -len(self._after)

    @classmethod
    def of(cls, template: MessageTemplate, frame: Frame, block: bytes) -> Surroundings | None:
        """Return the surroundings of the message of `frame` in its block; None if that has no line end."""
        begin, found, end = block.rpartition(frame.data)
        return cls(template, frame.event, begin, end) if found and end else None

    def text_in(self, data: bytes) -> str | None:
        """Return the text of one such block; None or empty for any other bytes."""
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        message = data[self._begin : self._end]
        if not self.is_constant:
            is_line = LF not in message and CR not in message
            return self.template.text_of(Frame(message, self._name)) if is_line else None
        try:
            return _text(message)
        except (msgspec.MsgspecError, ValueError):
            return None

    def run_in(self, data: bytes, begin: int, *, tries_all: bool) -> tuple[list[str] | None, int]:
        """Return the texts of consecutive blocks from `begin` on, and where the last block ends.

        The texts are None if the parser has to read the bytes up to that end. The end is `begin` if no block
        is whole.

        Args:
            data: one read.
            begin: a boundary in it.
            tries_all: first try whether all whole blocks are texts. Use it once per read: its time grows with
                the read.
        """
        end = self.end
        stop = data.rfind(end, begin) + len(end)
        if stop < begin + len(end):
            return None, begin
        is_whole_read = not begin and stop == len(data)  # the caller has tried it
        if tries_all and not is_whole_read and (texts := self.texts_in(data[begin:stop])) is not None:
            return texts, stop
        at = begin
        while at < stop and data.startswith(self.before, at):
            at = data.find(end, at) + len(end)
        if at > begin:
            return self.texts_in(data[begin:at]), at
        return None, data.find(end, begin) + len(end)

    def is_one_block(self, data: bytes) -> bool:
        """Does the first block of `data` end where `data` ends?"""
        return data.find(self.end) == len(data) - len(self.end)

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of bytes that consist of such blocks; None for any other bytes.

        Also None for several blocks that are not `is_constant`.
        """
        if not self.is_constant:
            text = self.text_in(data)
            return [text] if text else None
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        strings = data[self._begin : self._end]
        try:
            if strings.find(self._between) < 0:  # `in` is slow: it tries the bytes as a number first
                text = _text(strings)
                return [text] if text else None
            pieces = strings.split(self._between)
            # a string ends at a line end, so that none is taken for two, or two for one
            texts = _texts(b"[%b]" % b",\n".join(pieces))
        except (msgspec.MsgspecError, ValueError):
            return None
        return texts if len(texts) == len(pieces) and all(texts) else None
