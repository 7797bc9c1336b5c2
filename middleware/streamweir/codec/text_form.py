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

from streamweir.codec.block_forms import BLOCK_END, STRICT_PLACES, block_expression, message_expression
from streamweir.codec.holes import Hole
from streamweir.codec.json_pattern import JsonPattern
from streamweir.framing.event_names import remembered_name

__all__ = ["TextForm"]

_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NUMBER: Final = "-?[0-9]{1,20}+"
_PLACES: Final = {
    "<text>": f"(?P<text>{_STRING})",
    "<string>": _STRING,
    "<string_or_null>": f"(?:{_STRING}|null)",
    "<number>": _NUMBER,
    "<ignored>": f"({_STRING}|{_NUMBER})",
}
_PLACES_OF_BLOCK: Final = {**_PLACES, **STRICT_PLACES}
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
        usual_block: the SSE block of such a message, as most servers write it, up to its end; empty if it
            differs from stream to stream.
    """

    def __init__(self, *parts: str, usual_block: str = "") -> None:
        self._parts = parts
        self.usual_block = usual_block

    @cached_property
    def _pattern(self) -> JsonPattern:
        return JsonPattern(rf"{message_expression(self._parts, _PLACES)}\Z", re.DOTALL)

    @cached_property
    def _block(self) -> JsonPattern:
        return JsonPattern(block_expression(self._parts, _PLACES_OF_BLOCK), re.DOTALL)

    def holes_in(self, data: bytes, text: str) -> list[Hole] | None:
        """Return the places of the values that change in a message; None if it does not have this form.

        Args:
            data: the message.
            text: the text that was read from it.
        """
        found = self._pattern.match(data)
        if found is None:
            return None
        begin, end = found.span("text")
        try:
            is_read = _text(data[begin:end]) == text
        except (msgspec.MsgspecError, ValueError):
            return None
        return _holes_of(found) if is_read else None

    def block_at(self, data: bytes, begin: int) -> tuple[bytes, str | None, bytes, list[Hole]] | None:
        """Return the parts of the SSE block at `begin`, which has not been decoded.

        Args:
            data: one read.
            begin: the beginning of the block in it.

        Returns:
            The bytes before the message, the event name, the message, and the places of the values that
            change in it. The text itself may still be no valid string. None if the block does not have this
            form, or has a value that has to be decoded.
        """
        found = self._block.match(data, begin)
        if found is None:
            return None
        before, name = found.group("begin", "name")
        start = begin + len(before)
        message = data[start : found.end() - len(BLOCK_END)]
        event = None if name is None else remembered_name(name)
        return before, event, message, _holes_of(found, 2, start)


def _holes_of(found: re.Match[bytes], skipped: int = 0, start: int = 0) -> list[Hole]:
    """Return the places of the values that change in a message.

    Args:
        found: the match of the message, or of its block.
        skipped: the number of groups before the message.
        start: the beginning of the message in the bytes that were matched.
    """
    begin, end = found.span("text")
    holes = [Hole(begin - start, end - start, (), is_text=True)]
    if found.lastindex != skipped + 1:  # the text is not the only group
        for group in range(skipped + 1, found.re.groups + 1):
            place = found.span(group)
            if place[0] not in (-1, begin):
                holes.append(Hole(place[0] - start, place[1] - start, (), is_text=False))
        holes.sort()
    return holes
