"""Text after text: a frame that differs from the last one in its text and in known numbers is filled in.

    id: 7                                                       written by the encoder for "Hel"
    data: {"type":"content","data":{"content":"Hel"},"metadata":{"request_id":"r","sequence":7}}

    id: %d                                                      the form
    data: {"type":"content","data":{"content":%b},"metadata":{"request_id":"r","sequence":%d}}

The counterpart of `message_template`. An encoder says by `Encoder.template_numbers` which numbers change, and
so that the frames of the texts that follow differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from io import BytesIO
from itertools import repeat
from typing import Final

import msgspec

from streamweir.jsontext import one_line, write_json

__all__ = ["POSITION", "SAMPLE_SIZE", "FrameTemplate", "Number"]

SAMPLE_SIZE: Final = 3
"""For so many texts finding out the form takes longer than it saves."""

_NUL: Final = b"\0"
_PIECE: Final = 64 << 10
"""Characters of a long text that are written at a time."""

Number = tuple[int, int]
"""A number in the frame of a text, and how much more it is in the frame of the next."""

_string: Final = msgspec.json.Encoder().encode
_lines: Final = msgspec.json.Encoder().encode_lines
"""They write strings as `write_json` does, in one call; a text that was read by a template is valid."""

_SSE_ID: Final = "sequence"
"""The number that is the id of an SSE block too."""

POSITION: Final = "\0position"
"""A number that is in the id alone, behind its last full stop."""


class FrameTemplate:
    """The frame of a text, framing included, with places for the text and for numbers.

    Args:
        template: as for the operator `%`.
        keys: of the numbers, in the order of their places; None is the text's.
    """

    __slots__ = ("_keys", "_numbers", "_template", "_text_place", "_values")

    def __init__(self, template: bytes, keys: tuple[str | None, ...]) -> None:
        self._template = template
        self._keys = keys
        self._text_place, self._numbers = _places_of(keys)
        self._values: list[bytes | int] = [0] * len(keys)
        """The values of one frame, in their places; written anew for each."""

    @classmethod
    def of(cls, written: bytes, text: str, numbers: Mapping[str, Number]) -> FrameTemplate | None:
        """Return the template of the frame `written`, which holds `text`; None if it cannot be found for
        certain.

        A value is found behind the colon of its key; a value that occurs twice could be at either place.
        """
        wanted: list[tuple[bytes, int, str | None]] = [(b":" + write_json(text), 1, None)]
        for name, (number, _) in numbers.items():
            if name != POSITION:
                wanted.append((b'"%b":%d' % (name.encode(), number), len(name) + 3, name))
        places: list[tuple[int, int, str | None]] = []
        for literal, start, key in wanted:
            if written.count(literal) != 1:
                return None
            begin = written.index(literal)
            places.append((begin + start, begin + len(literal), key))
        if written.startswith(b"id: "):
            end = written.index(b"\n")
            if POSITION in numbers:
                places.append((written.rindex(b".", 0, end) + 1, end, POSITION))
            elif _SSE_ID in numbers:
                places.append((4, end, _SSE_ID))
            else:
                return None
        places.sort()
        return cls(_template(written, places), tuple(key for _, _, key in places))

    def write_long(self, text: str, numbers: Mapping[str, Number]) -> bytes:
        """Return the frame of a long text; the only buffer as large as the text is the frame.

        Args:
            text: ASCII only.
            numbers: of the frame.
        """
        values = [_NUL if key is None else numbers[key][0] for key in self._keys]
        begin, _, end = (self._template % tuple(values)).partition(_NUL)  # JSON text holds none
        frame = BytesIO()
        frame.write(begin + b'"')
        for at in range(0, len(text), _PIECE):
            frame.write(memoryview(write_json(text[at : at + _PIECE]))[1:-1])
        frame.write(b'"' + end)
        return frame.getvalue()

    def write(self, texts: Sequence[str], numbers: Mapping[str, Number]) -> bytes:
        """Return the frames of `texts`; `numbers` are those of the first."""
        if len(texts) == 1:
            text = _string(texts[0])
            values = self._values
            values[self._text_place] = text if text.isascii() else one_line(text)
            for place, name in self._numbers:
                values[place] = numbers[name][0]
            written = self._template % tuple(values)
            values[self._text_place] = 0  # it may be large
            return written
        count, width = len(texts), len(self._keys)
        values = [0] * (count * width)
        for place, key in enumerate(self._keys):
            if key is None:
                lines = _lines(texts)
                values[place::width] = (lines if lines.isascii() else one_line(lines)).split(b"\n")[:count]
            else:
                first, step = numbers[key]
                values[place::width] = (
                    range(first, first + step * count, step) if step else repeat(first, count)
                )
        return (self._template * count) % tuple(values)


@lru_cache(maxsize=64)
def _places_of(keys: tuple[str | None, ...]) -> tuple[int, tuple[tuple[int, str], ...]]:
    """Return the place of the text, and the places of numbers with their keys."""
    numbers = tuple((place, key) for place, key in enumerate(keys) if key is not None)
    return keys.index(None), numbers


def _template(written: bytes, places: Sequence[tuple[int, int, str | None]]) -> bytes:
    parts, position = [], 0
    for begin, end, key in places:
        parts += [written[position:begin].replace(b"%", b"%%"), b"%b" if key is None else b"%d"]
        position = end
    return b"".join([*parts, written[position:].replace(b"%", b"%%")])
