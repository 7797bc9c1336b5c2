"""Writes runs of texts quickly: a frame that differs from the last frame only in its text and in known
numbers is made from a template.

    id: 7                                                       written by the encoder for "Hel"
    data: {"type":"content","data":{"content":"Hel"},"metadata":{"request_id":"r","sequence":7}}

    id: %d                                                      the form
    data: {"type":"content","data":{"content":%b},"metadata":{"request_id":"r","sequence":%d}}

This is the counterpart of `message_template`. An encoder returns from `Encoder.template_numbers` the numbers
that change. By this it promises that the frames of later texts differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from streamweir.codec.decimals import decimals
from streamweir.codec.text_json import text_json, text_lines
from streamweir.jsontext import write_json

__all__ = ["POSITION", "SAMPLE_SIZE", "FrameTemplate", "Number", "later_numbers"]

SAMPLE_SIZE: Final = 3
"""For this number of texts or fewer, it takes longer to find the template than the template saves."""

_NUL: Final = b"\0"

Number = tuple[int, int]
"""A number in the frame of a text, and the difference to this number in the frame of the next text."""

_SSE_ID: Final = "sequence"
"""The key of the number that is also the id of an SSE block."""

POSITION: Final = "\0position"
"""The key of a number that occurs only in the SSE id, after the last full stop of the id."""


class FrameTemplate(msgspec.Struct, eq=False, gc=False):
    """The frame of a text, framing included, with places for the text and for numbers.

    Args:
        template: the bytes, with placeholders of the operator `%`.
        keys: the keys of the numbers, in the order of their places; None is the key of the text.
    """

    _template: bytes
    _keys: tuple[str | None, ...]
    _around: tuple[bytes, bytes] | None = None
    """The bytes of a frame before and after its text. Always None if frames have numbers."""
    _several: bytes = b""
    """The template with one kind of place, which is filled in with the values that several frames share, and
    with marks for those that change. Made for the first several texts.
    """

    @classmethod
    def of(cls, written: bytes, text: str, numbers: Mapping[str, Number]) -> FrameTemplate | None:
        """Return the template of the frame `written`, which holds `text`; None if the places of its values
        are not certain.

        The place of a value is after the colon of its key. A value that occurs twice may be at either place.
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

    def write(self, texts: Sequence[str], numbers: Mapping[str, Number]) -> bytes:
        """Return the frames of `texts`; `numbers` are the numbers of the first frame."""
        if len(texts) == 1:
            values: list[bytes | int] = [text_json(texts[0])] * len(self._keys)
            for place, key in enumerate(self._keys):
                if key is not None:
                    values[place] = numbers[key][0]
            return self._template % tuple(values)
        lines = text_lines(texts)
        for key in self._keys:
            if key is not None and numbers[key][1]:
                return self._joined(lines.split(b"\n"), numbers)
        begin, end = self._around or self._edges(numbers)
        return b"".join((begin, lines.replace(b"\n", end + begin), end))

    def _edges(self, numbers: Mapping[str, Number]) -> tuple[bytes, bytes]:
        """Return the bytes of a frame before and after its text."""
        values = [_NUL if key is None else numbers[key][0] for key in self._keys]
        begin, _, end = (self._template % tuple(values)).partition(_NUL)  # JSON text holds none
        if len(self._keys) == 1:
            self._around = begin, end
        return begin, end

    def _joined(self, texts: list[bytes], numbers: Mapping[str, Number]) -> bytes:
        """Return frames that differ in their numbers, too; `texts` are JSON."""
        if not self._several:  # JSON text holds no NUL
            places = self._template.replace(b"%%", _NUL).replace(b"%d", b"%b")
            self._several = places.replace(_NUL, b"%%")
        count = len(texts)
        changing: dict[str | None, list[bytes]] = {None: texts}
        columns: list[list[bytes]] = []
        equal: list[bytes] = []
        """The values that all frames share; the place of any other value is marked."""
        for key in self._keys:
            if key is not None and key not in changing:
                first, step = numbers[key]
                if not step:
                    equal.append(b"%d" % first)
                    continue
                changing[key] = decimals(first, step, count)
            equal.append(_NUL)
            columns.append(changing[key])
        begin, *inner, end = (self._several % tuple(equal)).split(_NUL)
        frame = [end + begin, b""]
        for constant in inner:
            frame += (constant, b"")
        parts = frame * count
        for place, column in enumerate(columns):
            parts[2 * place + 1 :: len(frame)] = column
        parts[0] = begin
        parts.append(end)
        return b"".join(parts)


def later_numbers(numbers: Mapping[str, Number], frames: int) -> Mapping[str, Number]:
    """Return the numbers in a frame that comes this many frames later."""
    return {key: (number + frames * step, step) for key, (number, step) in numbers.items()}


def _template(written: bytes, places: Sequence[tuple[int, int, str | None]]) -> bytes:
    parts, position = [], 0
    for begin, end, key in places:
        parts += [written[position:begin].replace(b"%", b"%%"), b"%b" if key is None else b"%d"]
        position = end
    return b"".join([*parts, written[position:].replace(b"%", b"%%")])
