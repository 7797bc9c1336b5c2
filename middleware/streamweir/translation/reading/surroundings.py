"""Texts of a body known by what stands around each of them, so that a whole read is taken at once."""

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
    """What a block begins and ends with that holds a text of a template.

    Args:
        template: of the message.
        name: the event name of its frame.
        begin: what stands in front of the message.
        end: what stands behind it.

    Attributes:
        template: as given.
        before: what a block begins with, as far as nothing changes in it.
        end: as given.
        is_constant: nothing but the text differs from block to block.
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
        """Return what stands around the message of `frame` in its block; None where its end is not known."""
        begin, found, end = block.partition(frame.data)
        return cls(template, frame.event, begin, end) if found and end else None

    def text_in(self, data: bytes) -> str | None:
        """Return the text of `data`, which is one such block; None, or nothing, if it is anything else."""
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
        """Return the texts of the blocks that follow each other from `begin` on, and where the last one ends.

        The texts are None if the bytes up to there are for the parser. The end is `begin` if no block is
        whole.

        Args:
            data: one read.
            begin: a boundary in it.
            tries_all: all whole blocks may be texts; to be tried once for a read.
        """
        end = self.end
        stop = data.rfind(end, begin) + len(end)
        if stop < begin + len(end):
            return None, begin
        if not self.is_constant:
            return None, len(data)
        is_whole_read = not begin and stop == len(data)  # which has been tried by whoever has it
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
        """Return the texts of `data`, which is nothing but such blocks; None where anything else is in it.

        None for several blocks, too, in which more changes than the text.
        """
        if not self.is_constant:
            text = self.text_in(data)
            return [text] if text else None
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        strings = data[self._begin : self._end]
        try:
            if strings.find(self._between) < 0:  # `in` makes an exception to find out that this is no number
                text = _text(strings)
                return [text] if text else None
            pieces = strings.split(self._between)
            # no string goes on behind a line end, so that none is taken for two, or two for one
            texts = _texts(b"[%b]" % b",\n".join(pieces))
        except (msgspec.MsgspecError, ValueError):
            return None
        return texts if len(texts) == len(pieces) and all(texts) else None
