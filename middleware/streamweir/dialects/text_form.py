"""Text after text: a message that differs from the last one in its text only is read by its form.

A stream consists of pieces of text, and the messages around them are alike to the byte, aside from a time or
a number that counts. Once a dialect has read two such messages the long way, the bytes around the text are
known; whatever has the same bytes and another string in that place is the same JSON with another text, so it
means the same event with another text. Anything else is read the long way.

The form is learned from the stream itself: it knows no dialect and no field, and it trusts nothing that it
has not checked on the bytes that it learned from.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, Thinking
from streamweir.framing import Frame
from streamweir.jsontext import parse_json

__all__ = ["Path", "TextFields", "TextForm", "TextForms"]

Piece = Content | Thinking
"""An event that says nothing but one more piece of text."""

Path = tuple[str | int, ...]
"""Where a value stands in a message: the keys of objects, the places in lists."""

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_PROBE: Final = "another text"
_OTHER: Final = 7041776

ENOUGH: Final = 4
"""After so many texts like one before them the form is learned: that takes as long as reading a few."""

_text: Final = msgspec.json.Decoder(str).decode
_ignored: Final = msgspec.json.Decoder(int | float | str).decode
_REFUSALS: Final = (msgspec.MsgspecError, ValueError)


class TextFields(NamedTuple):
    """Where the messages of a dialect have their text, and what changes beside it and means nothing.

    The dialect vouches for this: of a message that was read as nothing but the text at one of `texts`, any
    other text that is not empty is read likewise, unless `Decoder.goes_on` says no; and the reader takes no
    notice of the numbers and strings at `ignored`, times and counters.
    """

    texts: tuple[Path, ...]
    ignored: tuple[Path, ...] = ()


class _Hole(NamedTuple):
    """A value that changes from message to message: where it stands in the bytes, and in the message."""

    begin: int
    end: int
    path: Path
    is_text: bool


class TextForm:
    """The bytes of a message around its text.

    Attributes:
        event: what the message means, whatever its text.
    """

    __slots__ = ("_after", "_before", "_ignored_after", "_ignored_before", "_name", "event")

    def __init__(self, event: Piece, name: str | None, data: bytes, holes: Sequence[_Hole]) -> None:
        self.event = event
        self._name = name
        place = next(index for index, hole in enumerate(holes) if hole.is_text)
        ends = [0, *(hole.end for hole in holes)]
        begins = [*(hole.begin for hole in holes), len(data)]
        constants = [data[end:begin] for end, begin in zip(ends, begins, strict=True)]
        self._before, *ignored_before = constants[: place + 1]
        *ignored_after, self._after = constants[place + 1 :]
        self._ignored_before = tuple(ignored_before)
        self._ignored_after = tuple(reversed(ignored_after))

    @classmethod
    def learn(cls, frame: Frame, event: Piece, fields: TextFields) -> TextForm | None:
        """Return the form of `frame`, which was read as `event` and nothing else; None if it has none."""
        try:
            message = frame.json()
        except MalformedEvent:  # bare text, where a dialect takes that
            return None
        texts = (path for path in fields.texts if _at(message, path) == event.content)
        ignored = (path for path in fields.ignored if _at(message, path) is not None)
        beside = [hole for path in ignored if (hole := _hole(frame.data, path, is_text=False))]
        for path in texts:
            text = _hole(frame.data, path, is_text=True)
            if text is not None and _fits(frame.data, holes := sorted([text, *beside])):
                return cls(event, frame.event, frame.data, holes)
        return None

    def text_of(self, frame: Frame) -> str | None:
        """Return the text of a message that has this form; None if it has another, or no text."""
        data, before, after = frame.data, self._before, self._after
        if not (data.startswith(before) and data.endswith(after)) or frame.event != self._name:
            return None
        begin, end = len(before), len(data) - len(after)
        try:
            for constant in self._ignored_before:
                stop = data.index(constant, begin, end)
                _ignored(data[begin:stop])
                begin = stop + len(constant)
            for constant in self._ignored_after:
                start = data.rindex(constant, begin, end)
                _ignored(data[start + len(constant) : end])
                end = start
            return _text(data[begin:end]) or None
        except _REFUSALS:
            return None


class TextForms:
    """The form of the last text of one stream.

    It is learned where texts follow each other, and holds until a message of another form is decoded, or
    one of this form that means another event.

    Args:
        fields: of the dialect; None: nothing is learned.

    Attributes:
        form: the form in force, None if there is none.
    """

    __slots__ = ("_alike", "_fields", "_last", "form")

    def __init__(self, fields: TextFields | None) -> None:
        self._fields = fields
        self._last: Piece | None = None
        self._alike = 0
        self.form: TextForm | None = None

    def note(self, frame: Frame, event: Event | None) -> None:
        """`frame` was decoded: to `event`, or to none or several (None)."""
        if self._fields is None:
            return
        form, last = self.form, self._last
        self._last = piece = _piece_of(event)
        if piece is not None and form is not None and _are_alike(form.event, piece) and form.text_of(frame):
            return
        self.form = None
        is_alike = piece is not None and last is not None and _are_alike(last, piece)
        self._alike = self._alike + 1 if is_alike else 0
        if piece is not None and self._alike >= ENOUGH:
            self.form = TextForm.learn(frame, piece, self._fields)


def _piece_of(event: Event | None) -> Piece | None:
    """`event`, if it is a piece of text and nothing but that."""
    if isinstance(event, Thinking) and event.whole is None and event.content:
        return event
    is_plain = isinstance(event, Content) and not (event.whole or event.op or event.is_complete)
    return event if is_plain and isinstance(event, Content) and event.content else None


def _are_alike(one: Piece, other: Piece) -> bool:
    """Do two pieces differ in their text only?"""
    return one.with_text(other.content) == other


@cache
def _value_of(key: str, is_text: bool) -> re.Pattern[bytes]:
    value = _STRING if is_text else _STRING + rb"|" + _NUMBER
    return re.compile(rb'"%b"\s*:\s*(%b)' % (re.escape(key).encode(), value), re.DOTALL)


def _hole(data: bytes, path: Path, *, is_text: bool) -> _Hole | None:
    """Where the value at `path` stands, as far as its key tells; None unless only one place can be meant."""
    key = next(part for part in reversed(path) if isinstance(part, str))
    places = [match.span(1) for match in _value_of(key, is_text).finditer(data)]
    return _Hole(*places[0], path, is_text) if len(places) == 1 else None


def _fits(data: bytes, holes: Sequence[_Hole]) -> bool:
    """Are these the places of the values? Shown by reading the message with other values in them."""
    probe = data
    for hole in reversed(holes):
        value = b'"%b"' % _PROBE.encode() if hole.is_text else b"%d" % _OTHER
        probe = probe[: hole.begin] + value + probe[hole.end :]
    try:
        message, repaired = parse_json(probe)
    except MalformedEvent:
        return False
    found = [_at(message, hole.path) for hole in holes]
    return not repaired and found == [_PROBE if hole.is_text else _OTHER for hole in holes]


def _at(message: Any, path: Path) -> Any:
    for part in path:
        if isinstance(part, str):
            message = message.get(part) if isinstance(message, Mapping) else None
        else:
            message = message[part] if isinstance(message, list) and part < len(message) else None
    return message
