"""Reads messages that each repeat the whole text and extend it. Only the new part of the text is parsed.

    {"code":0,"data":{"answer":"Hel","id":"m1"}}               decoded: the whole text until then
    {"code":0,"data":{"answer":"Hello ","id":"m1"}}            decoded: means the same, with more text
    {"code":0,"data":{"answer":"Hello wor","id":"m1"}}         begins and ends like the one before it
    ───────────────────────────────── ─── ────────────
    the bytes up to the known text    new the bytes behind the text

A JSON string that begins with the bytes of another one, without its last quote, holds that text and what the
rest of the bytes says: both are valid strings, so no escape and no character is cut in two.
"""

from __future__ import annotations

from typing import ClassVar, Final, Self

import msgspec

from streamweir.codec.message_template import MessageTemplate, Piece, TextFields
from streamweir.events import Content
from streamweir.framing import Frame

__all__ = ["GrowingTemplate", "is_whole_text"]

_QUOTE: Final = b'"'

_text: Final = msgspec.json.Decoder(str).decode
_REFUSALS: Final = (msgspec.MsgspecError, ValueError)


class GrowingTemplate(MessageTemplate):
    """The bytes around a text that each message repeats and extends.

    `text_of` and `text_in` return the new part of the text, and remember the text of that message as known:
    each message is read once, in the order of the stream.

    Attributes:
        known: the JSON of the text in the latest message, without its last quote.
    """

    __slots__ = ("known",)

    grows: ClassVar[bool] = True

    @classmethod
    def learn(cls, frame: Frame, event: Piece, fields: TextFields) -> Self | None:
        """Return the template of `frame`, which was read as the whole text `event`; None if none fits.

        The known text is set by `renew`.
        """
        template = super().learn(frame, event, fields)
        if template is not None:
            template.event = msgspec.structs.replace(event, content="")
            template.known = b""
        return template

    def renew(self, frame: Frame, event: Piece) -> bool:
        """Note a message that was decoded as the whole text `event`; return False if it does not fit."""
        data = frame.data
        if frame.event != self._name or not (data.startswith(self._before) and data.endswith(self._after)):
            return False
        if msgspec.structs.replace(self.event, content=event.content) != event:
            return False
        try:
            begin, end = self._text_bounds(data, self._before_size, len(data) - self._after_size)
            if _text(data[begin:end]) != event.content:
                return False
        except _REFUSALS:
            return False
        self.known = data[begin : end - 1]
        return True

    def matches(self, piece: Piece, frame: Frame) -> bool:
        """Return False: a piece of a text is no whole text."""
        del piece, frame
        return False

    def text_in(self, data: bytes, begin: int, end: int) -> str | None:
        """Return the new part of the text of a message; None if the text does not begin with the known one,
        or has nothing new. See `MessageTemplate.text_in`.
        """
        known = self.known
        try:
            if self._ignored_before or self._ignored_after:
                begin, end = self._text_bounds(data, begin, end)
            if not data.startswith(known, begin):
                return None
            new = _text(_QUOTE + data[begin + len(known) : end])
        except _REFUSALS:
            return None
        if new:
            self.known = data[begin : end - 1]
        return new or None


def is_whole_text(event: Piece) -> bool:
    """Return whether `event` is only all of a text so far."""
    if event.whole != "snapshot" or not event.content or event.opaque is not None:
        return False
    has_more = type(event) is Content and (event.op or event.is_complete)
    return not has_more and not (event.meta and "extra" in event.meta)
