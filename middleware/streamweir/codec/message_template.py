"""Text after text: a message that differs from others in its text only is read by its template.

    {"type":"token","content":"Hel","timestamp":1}    decoded
    {"type":"token","content":"lo ","timestamp":2}    decoded: means the same, with another text
    {"type":"token","content":"wor","timestamp":3}    fits the template; only the string "wor" is parsed
    ──────────────────────────     ─────────────── ─  the template: what is constant

A stream consists of pieces of text, and the messages around them are alike to the byte, aside from a time or
a number that counts. Constant bytes with a JSON string in the place of a string, and numbers in the places of
numbers, are the same JSON with another text and other numbers; so they mean the same event with another text.
Anything else is decoded.

A template is learned from the stream itself and knows no dialect. Nothing is assumed but what a decoder
declares (`TextFields`), and a template is used only after it was shown to say of two messages what the
decoder said; of one, where the dialect itself declares the message, whose template is the same for all
streams.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from streamweir.classification.failure_signs import reports_failure
from streamweir.codec.message_path import Path, value_at
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, Thinking
from streamweir.framing import Frame
from streamweir.jsontext import parse_json, write_json

if TYPE_CHECKING:
    from streamweir.codec.text_form import TextForm

__all__ = ["Hole", "MessageTemplate", "MessageTemplates", "Path", "Piece", "TextFields"]

Piece = Content | Thinking
"""An event that says nothing but one more piece of text."""

_STRING: Final = rb'"(?:[^"\\]++|\\.)*+"'
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_A_STRING: Final = re.compile(rb'"\s*+:\s*+(%b)' % _STRING, re.DOTALL)
_A_STRING_OR_NUMBER: Final = re.compile(rb'"\s*+:\s*+(%b|%b)' % (_STRING, _NUMBER), re.DOTALL)
"""The value behind a key, with the end of that value."""
_NO_PREFIX: Final = re.compile(rb"")
_PROBE: Final = "another text"
_OTHER: Final = 7041776

_KEPT: Final = 2
"""The number of templates of a stream that are kept for when texts go on after another event."""

_LONGEST_COMPARED: Final = 4 << 10
"""Bytes of the longest message that is kept for comparison: its events take many times its bytes."""

_TEXTS: Final = frozenset({Content, Thinking})

_LONGEST_USUAL: Final = 256 << 10
"""Bytes of the longest message that is compared with the usual one, which reads its text once more."""

_NO_FRAME: Final = Frame(b"")

_text: Final = msgspec.json.Decoder(str).decode
_ignored: Final = msgspec.json.Decoder(int | float | str).decode
_REFUSALS: Final = (msgspec.MsgspecError, ValueError)


class TextFields:
    """The places of texts in a dialect's messages, and of values beside them that change and have no meaning.

    The dialect vouches for this: of a message that was read as nothing but the text at one of `texts`, any
    other text that is not empty is read likewise, unless `Decoder.accepts_text` returns False; and the reader
    ignores the numbers and strings at `ignored`, times and counters.

    Args:
        texts: the places of texts.
        ignored: places of numbers and strings that have no meaning.
        usual: a message with only a piece of the answer, as most servers of the dialect write it, apart from
            blanks: a short answer is over before its template could be learned.
        form: likewise, the form of messages with values that are constant in a stream.
        learned_after: so many texts in a row that are like one before them. To learn a template takes as
            long as decoding one to five messages, the more the plainer they are.
        counts: the numbers at `ignored` are counts so far, such as those of tokens: the latest message is
            kept, to be decoded if the stream breaks off.
        prefix: matches the constant bytes that a dialect writes before the JSON of a message.
    """

    def __init__(
        self,
        texts: tuple[Path, ...],
        ignored: tuple[Path, ...] = (),
        usual: Mapping[str, str] | None = None,
        learned_after: int = 1,
        counts: bool = False,
        prefix: re.Pattern[bytes] = _NO_PREFIX,
        form: TextForm | None = None,
    ) -> None:
        self.texts = texts
        self.form = form
        self.ignored = ignored
        self.learned_after = learned_after
        self.template = CountingTemplate if counts else MessageTemplate
        self.prefix = prefix
        self.usual = usual

    @cached_property
    def known(self) -> tuple[MessageTemplate, ...]:
        """The templates of the usual message: nothing of any stream is in them."""
        usual = self.usual
        if usual is None:
            return ()
        text = next(text for path in self.texts if (text := value_at(usual, path)) is not None)
        spellings = (write_json(usual), json.dumps(usual).encode())
        templates = (MessageTemplate.learn(Frame(data), Content(text), self) for data in spellings)
        return tuple(template for template in templates if template is not None)


class Hole(NamedTuple):
    """A value that changes from message to message: its place in the bytes, and in the message."""

    begin: int
    end: int
    path: Path
    is_text: bool


class MessageTemplate:
    """The bytes of a message around its text.

    Attributes:
        event: the event of the message, for any text.
    """

    __slots__ = (
        "_after",
        "_after_size",
        "_before",
        "_before_size",
        "_ignored_after",
        "_ignored_before",
        "_name",
        "event",
    )

    def __init__(self, event: Piece, name: str | None, data: bytes, holes: Sequence[Hole]) -> None:
        self.event = event
        self._name = name
        constants: list[bytes] = []
        begin = place = 0
        for index, hole in enumerate(holes):
            constants.append(data[begin : hole.begin])
            begin = hole.end
            if hole.is_text:
                place = index
        constants.append(data[begin:])
        self._before, *ignored_before = constants[: place + 1]
        *ignored_after, self._after = constants[place + 1 :]
        self._before_size, self._after_size = len(self._before), len(self._after)
        self._ignored_before = tuple(ignored_before)
        self._ignored_after = tuple(reversed(ignored_after))

    @classmethod
    def learn(cls, frame: Frame, event: Piece, fields: TextFields) -> MessageTemplate | None:
        """Return the template of `frame`, which was read as `event` and nothing else; None if it has none."""
        data = frame.data
        prefix = fields.prefix.match(data)
        begin = prefix.end() if prefix else 0
        try:
            message = parse_json(data[begin:])[0] if begin else frame.json()
        except MalformedEvent:  # bare text, where a dialect takes that
            return None
        texts = [path for path in _in(data, fields.texts) if value_at(message, path) == event.content]
        text = _text_hole(data, begin, texts[0]) if len(texts) == 1 else None
        if text is None:
            return None
        ignored = [path for path in _in(data, fields.ignored) if value_at(message, path) is not None]
        beside = [hole for path in ignored if (hole := _hole(data, path, is_text=False))]
        holes = sorted([text, *beside])
        return cls(event, frame.event, data, holes) if _fits(data, begin, holes) else None

    def matches(self, piece: Piece, frame: Frame) -> bool:
        """Whether this template reads `frame` as the same `piece`."""
        return _are_alike(self.event, piece) and self.text_of(frame) == piece.content

    def text_of(self, frame: Frame) -> str | None:
        """Return the text of a message that has this template; None if it has another, or no text."""
        data = frame.data
        if not (data.startswith(self._before) and data.endswith(self._after)) or frame.event != self._name:
            return None
        begin, end = self._before_size, len(data) - self._after_size
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

    @property
    def value_behind(self) -> tuple[bytes, bytes, bytes] | None:
        """The bytes before the text, from it to the only value that may differ, and behind that; or None."""
        is_one = not self._ignored_before and len(self._ignored_after) == 1
        return (self._before, self._ignored_after[0], self._after) if is_one else None

    def note_latest(self, data: bytes) -> None:
        """Note the message of this template that was read last, if `text_of` was not asked."""

    def around_text(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the bytes before and behind the text of a message that has this template."""
        begin, end = self._before_size, len(data) - self._after_size
        for constant in self._ignored_before:
            begin = data.index(constant, begin, end) + len(constant)
        for constant in self._ignored_after:
            end = data.rindex(constant, begin, end)
        return data[:begin], data[end:]

    @property
    def constants(self) -> tuple[bytes, bytes] | None:
        """The bytes before and behind the text in every message; None if numbers change."""
        return None if self._ignored_before or self._ignored_after else (self._before, self._after)


class CountingTemplate(MessageTemplate):
    """A template whose messages also count; see `TextFields.counts`.

    Attributes:
        latest: the data of the message that was read last; empty before the first.
    """

    __slots__ = ("latest",)

    def __init__(self, event: Piece, name: str | None, data: bytes, holes: Sequence[Hole]) -> None:
        super().__init__(event, name, data, holes)
        self.latest = b""

    def note_latest(self, data: bytes) -> None:
        """Keep the message."""
        self.latest = data

    def text_of(self, frame: Frame) -> str | None:
        """Return the text of a message that has this template, and keep the message."""
        text = MessageTemplate.text_of(self, frame)
        if text is not None:
            self.latest = frame.data
        return text


class MessageTemplates:
    """The template of the texts of one stream.

    It is in force from where texts follow each other until a message that does not fit it is decoded, or
    one that does and that means another event.

    Args:
        fields: of the dialect; None: every message is decoded.

    Attributes:
        current: the one in force, None if there is none.
    """

    __slots__ = ("_fields", "_frame", "_known", "_piece", "_row", "current")

    def __init__(self, fields: TextFields | None) -> None:
        self._fields = fields
        self._piece: Piece | None = None
        self._frame = _NO_FRAME
        self._row = 0
        """The number of texts in a row right before the last one."""
        self._known: tuple[MessageTemplate, ...] = ()
        self.current: MessageTemplate | None = None

    @property
    def latest(self) -> bytes:
        """The data of the latest message with the current template; empty unless its messages count."""
        return self.current.latest if type(self.current) is CountingTemplate else b""

    def note(self, frame: Frame, event: Event | None) -> None:
        """Note that `frame` was decoded to `event`; None if it gave no event or several."""
        if self._fields is None:
            return
        piece, last = (_piece_of(event) if type(event) in _TEXTS else None), self._piece
        if piece is None:
            self.current = None
            self._row = 0
        elif self.current is None or not self.current.matches(piece, frame):
            self._row = 0 if last is None else self._row + 1
            may_be_usual = self._fields.known and len(frame.data) <= _LONGEST_USUAL
            self.current = _usual_template_of(frame, piece, self._fields) if may_be_usual else None
            if self.current is None and not self._row and self._fields.form is not None:
                self.current = _formed_template_of(frame, piece, self._fields)
            if self.current is None and (self._known or self._row >= self._fields.learned_after):
                self.current = self._template_of(frame, piece, self._fields)
        if type(self.current) is CountingTemplate:
            self.current.latest = frame.data  # comparing has set it to a message before this one
        is_large = len(frame.data) > _LONGEST_COMPARED
        self._piece, self._frame = (None, _NO_FRAME) if is_large else (piece, frame)

    def _template_of(self, frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
        """Return a template that gives for two messages with different texts the events of the decoder."""
        last = self._piece
        if last is None or not _are_alike(last, piece):
            self._row = 0
            return None
        if last.content == piece.content or (piece.meta and reports_failure(piece.meta.get("extra"))):
            return None
        for template in self._known:
            if template.matches(piece, frame) and template.matches(last, self._frame):
                return template
        learned = fields.template.learn(frame, piece, fields) if self._row >= fields.learned_after else None
        if learned is None or not learned.matches(last, self._frame):
            return None
        self._known = (learned, *self._known[: _KEPT - 1])
        return learned


def _usual_template_of(frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
    """Return the template of the usual message of the dialect, if `frame` is one."""
    if piece.meta is not None:
        return None
    for template in fields.known:
        if template.matches(piece, frame):
            return template
    return None


def _formed_template_of(frame: Frame, piece: Piece, fields: TextFields) -> MessageTemplate | None:
    """Return the template of a first text that has the form of the dialect."""
    if fields.form is None or (piece.meta and "extra" in piece.meta) or len(frame.data) > _LONGEST_COMPARED:
        return None
    return fields.form.template_of(frame, piece, fields)


def _piece_of(event: Event | None) -> Piece | None:
    """Return `event`, if it is nothing but a piece of text."""
    if type(event) is Content:
        has_more = event.whole or event.op or event.is_complete or event.opaque
        return event if event.content and not has_more else None
    if type(event) is not Thinking or event.opaque is not None:
        return None
    return event if event.content and event.whole is None else None


def _are_alike(one: Piece, other: Piece) -> bool:
    """Return whether two pieces differ in their text only."""
    return one.meta == other.meta and one.with_text(other.content) == other


def _text_hole(data: bytes, begin: int, path: Path) -> Hole | None:
    """Return the place of the text at `path` of the JSON that starts at `begin`; None if uncertain."""
    if path:
        return _hole(data, path, is_text=True)
    return Hole(begin, len(data.rstrip()), path, is_text=True)


def _hole(data: bytes, path: Path, *, is_text: bool) -> Hole | None:
    """Return the bytes of the value at `path`, found by its key; None unless only one place is possible."""
    key = _key_at(path)
    value = _A_STRING if is_text else _A_STRING_OR_NUMBER
    found, at = None, data.find(key)
    while at >= 0:
        end = at + len(key)
        if match := value.match(data, end - 1):
            if found is not None:
                return None
            found, end = match, match.end()
        at = data.find(key, end)
    return None if found is None else Hole(*found.span(1), path, is_text)


@cache
def _key_at(path: Path) -> bytes:
    """Return the last key on the way to a value, as it is written in a message."""
    return b'"%b"' % next(part for part in reversed(path) if isinstance(part, str)).encode()


def _fits(data: bytes, begin: int, holes: Sequence[Hole]) -> bool:
    """Return whether the holes are the places of the values: tried by reading other values in them."""
    probe = data
    for hole in reversed(holes):
        value = b'"%b"' % _PROBE.encode() if hole.is_text else b"%d" % _OTHER
        probe = probe[: hole.begin] + value + probe[hole.end :]
    try:
        message, repaired = parse_json(probe[begin:])
    except MalformedEvent:
        return False
    found = [value_at(message, hole.path) for hole in holes]
    return not repaired and found == [_PROBE if hole.is_text else _OTHER for hole in holes]


def _in(data: bytes, paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the paths at which `data` may have a value, because their last key is in it."""
    return (path for path in paths if not path or data.find(_key_at(path)) >= 0)
