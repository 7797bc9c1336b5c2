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
    """

    __slots__ = ("_after", "_begin", "_between", "_end", "_is_constant", "_name", "before", "end", "template")

    def __init__(self, template: MessageTemplate, name: str | None, begin: bytes, end: bytes) -> None:
        constants = template.constants
        before, after = constants or (b"", b"")
        self.template = template
        self._is_constant = constants is not None
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
        if not self._is_constant:
            is_line = LF not in message and CR not in message
            return self.template.text_of(Frame(message, self._name)) if is_line else None
        try:
            return _text(message)
        except (msgspec.MsgspecError, ValueError):
            return None

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of `data`, which is nothing but such blocks; None where anything else is in it.

        None for several blocks, too, in which more changes than the text.
        """
        if not self._is_constant:
            text = self.text_in(data)
            return [text] if text else None
        if not (data.startswith(self.before) and data.endswith(self._after)):
            return None
        strings = data[self._begin : self._end]
        try:
            if self._between not in strings:
                text = _text(strings)
                return [text] if text else None
            pieces = strings.split(self._between)
            # no string goes on behind a line end, so that none is taken for two, or two for one
            texts = _texts(b"[%b]" % b",\n".join(pieces))
        except (msgspec.MsgspecError, ValueError):
            return None
        return texts if len(texts) == len(pieces) and all(texts) else None
