"""The form of a dialect's usual texts, by which one message is enough to make the template of a stream.

    {"type":"content_block_delta","index":<number>,"delta":{"type":"text_delta","text":<text>}}

Without a declared form, two messages are compared to find the template (`message_template`). If a dialect
declares the form of its texts, the place of the text is known. So are the places of values that are equal in
all messages of a stream, such as an id or a model.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

import msgspec

from streamweir.codec.message_template import Hole, MessageTemplate, Piece, TextFields
from streamweir.framing import Frame

__all__ = ["TextForm"]

_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_PLACES: Final = {
    "<text>": f"(?P<text>{_STRING})",
    "<string>": _STRING,
    "<string_or_null>": f"(?:{_STRING}|null)",
    "<number>": r"-?[0-9]{1,20}+",
    "<ignored>": rf"({_STRING}|-?[0-9]{{1,20}}+)",
}
_text: Final = msgspec.json.Decoder(str).decode


class TextForm:
    """The form of a message that holds a text and values that are constant in a stream.

    The dialect makes the promises of `TextFields`. After a first message of this form, later messages are
    read by its template.

    Args:
        parts: the JSON of the message in pieces, without blanks. Messages with spaces after commas and colons
            fit too. `<text>` is the text, `<ignored>` a string or number that changes and has no meaning;
            `<string>`, `<string_or_null>` and `<number>` are constant. A part that ends with `?` may be
            missing.
    """

    def __init__(self, *parts: str) -> None:
        self._parts = parts

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        return re.compile("".join(map(_expression, self._parts)).encode(), re.DOTALL)

    def template_of(self, frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
        """Return the template of a message that was read as `piece`; None if it does not have this form.

        Args:
            frame: the frame of the message.
            piece: the only event of the message.
            fields: the text fields of the dialect.
        """
        data = frame.data
        found = self._pattern.fullmatch(data)
        if found is None:
            return None
        begin, end = found.span("text")
        try:
            if _text(data[begin:end]) != piece.content:
                return None
        except (msgspec.MsgspecError, ValueError):
            return None
        holes = [Hole(begin, end, (), is_text=True)]
        if found.lastindex != 1:  # the text is not the only group
            for group in range(1, found.re.groups + 1):
                place = found.span(group)
                if place[0] not in (-1, begin):
                    holes.append(Hole(*place, (), is_text=False))
            holes.sort()
        return fields.template(piece, frame.event, data, holes)


def _expression(part: str) -> str:
    """Return the regular expression of a part."""
    is_optional = part.endswith("?")
    expression = re.escape(part.removesuffix("?")).replace(",", ", ?").replace(":", ": ?")
    for place, pattern in _PLACES.items():
        expression = expression.replace(place, pattern)
    return f"(?:{expression})?" if is_optional else expression
