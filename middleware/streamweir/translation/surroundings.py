"""Texts of a body known by what stands around each of them, so that a whole read is taken at once."""

from __future__ import annotations

from typing import Final

import msgspec

from streamweir.codec.message_template import MessageTemplate

__all__ = ["Surroundings"]

_text: Final = msgspec.json.Decoder(str).decode
_texts: Final = msgspec.json.Decoder(list[str]).decode


class Surroundings:
    """What a block begins and ends with that holds a text of a form.

    Args:
        form: of the message, in which nothing changes but the text.
        begin: what stands in front of the message.
        end: what stands behind it.

    Attributes:
        form: as given.
        before: what a block begins with.
        end: as given.
    """

    __slots__ = ("_after", "_begin", "_between", "_end", "before", "end", "form")

    def __init__(self, form: MessageTemplate, begin: bytes, end: bytes) -> None:
        before, after = form.constants or (b"", b"")
        self.form = form
        self.end = end
        self.before = begin + before
        self._after = after + end
        self._between = self._after + self.before
        self._begin, self._end = len(self.before), -len(self._after)

    @classmethod
    def of(cls, form: MessageTemplate, message: bytes, block: bytes) -> Surroundings | None:
        """Return what stands around `message` in its block; None where nothing can be known by it."""
        begin, found, end = block.partition(message)
        return cls(form, begin, end) if found and end and form.constants else None

    def texts_in(self, data: bytes) -> list[str] | None:
        """Return the texts of `data`, which is nothing but such blocks; None where anything else is in it."""
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
