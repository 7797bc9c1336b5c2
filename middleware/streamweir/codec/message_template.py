"""Reads runs of texts quickly: a message that differs from earlier messages only in its text is read by a
template.

    {"type":"token","content":"Hel","timestamp":1}    decoded
    {"type":"token","content":"lo ","timestamp":2}    decoded: means the same, with another text
    {"type":"token","content":"wor","timestamp":3}    fits the template; only the string "wor" is parsed
    ──────────────────────────     ─────────────── ─  the template: what is constant

Most of a stream is pieces of text. The messages around them are equal byte for byte, except for a time or a
counter. Constant bytes with a JSON string in the place of a string, and numbers in the places of numbers, are
the same JSON with another text and other numbers; so they mean the same event with another text. Anything
else is decoded.

A template is learned from the stream itself, for any dialect. It relies only on the fields that a decoder
declares (`TextFields`). A template is used only after it has read two messages as the decoder has read them.
One message is enough if the dialect itself declares the message, because its template is then equal for all
streams.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Final, Self

import msgspec

from streamweir.codec.holes import Hole, fits, hole_at, text_hole
from streamweir.codec.message_path import Path, value_at
from streamweir.codec.text_form import TextForm
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Thinking
from streamweir.framing import Frame
from streamweir.jsontext import parse_json, write_json

__all__ = ["CountingTemplate", "MessageTemplate", "Path", "Piece", "TextFields", "are_alike"]

Piece = Content | Thinking
"""An event that holds one more piece of text and nothing else."""

_NO_PREFIX: Final = re.compile(rb"")

_text: Final = msgspec.json.Decoder(str).decode
_ignored: Final = msgspec.json.Decoder(int | float | str).decode
_REFUSALS: Final = (msgspec.MsgspecError, ValueError)


class TextFields:
    """The places of texts in a dialect's messages, and of other values that change and have no meaning.

    The dialect promises two things. If a message was read as only the text at one of `texts`, then the same
    message with any other text that is not empty is also read as only that text, unless
    `Decoder.accepts_text` returns False. And the decoder ignores the numbers and strings at `ignored`, such
    as times and counters.

    Args:
        texts: the places of texts.
        ignored: places of numbers and strings that have no meaning.
        usual: a message with only a piece of the answer, as most servers of the dialect write it, apart from
            blanks. Its template need not be learned, which would take longer than a short answer.
        form: the form of such a message, if it has values that are constant in a stream.
        learned_after: a template is learned after this number of alike texts in a row. To learn a template
            takes as long as to decode one to five messages; it is more for plainer messages.
        counts: whether the numbers at `ignored` are running counts, for example of tokens. The latest message
            is then kept, and decoded if the stream breaks off.
        prefix: matches the constant bytes that a dialect writes before the JSON of a message.
        is_stateless: a message with only a text means the same, whatever messages other than texts were read
            before it. Its template then stays in force behind such messages.
        grows: a message may hold all of the text so far (`whole` is `snapshot`). If one was read as only
            that, the same message with a longer text is read as only the longer text, unless
            `Decoder.accepts_text` returns False for the new part.
        ids: the places of the ids of messages. If a message was read as only a piece of thinking whose
            `message_id` is the text at one of them, then the same message with another text and another id is
            read as only that piece with that id, unless `Decoder.accepts_thoughts` stops before it. The same
            is true if `SessionStart` or `Status` events without `extra` were read before it: the other
            message does not mean them again.
    """

    def __init__(  # noqa: PLR0913, PLR0917 (a declaration)
        self,
        texts: tuple[Path, ...],
        ignored: tuple[Path, ...] = (),
        usual: Mapping[str, str] | None = None,
        learned_after: int = 1,
        counts: bool = False,
        prefix: re.Pattern[bytes] = _NO_PREFIX,
        form: TextForm | None = None,
        is_stateless: bool = False,
        grows: bool = False,
        ids: tuple[Path, ...] = (),
    ) -> None:
        self.texts = texts
        self.form = form
        self.ignored = ignored
        self.learned_after = learned_after
        self.template = CountingTemplate if counts else MessageTemplate
        self.prefix = prefix
        self.usual = usual
        self.is_stateless = is_stateless
        self.grows = grows
        self.ids = ids

    @cached_property
    def known(self) -> tuple[MessageTemplate, ...]:
        """The templates of the usual message. They hold no data of any stream."""
        usual = self.usual
        if usual is None:
            return ()
        text = next(text for path in self.texts if (text := value_at(usual, path)) is not None)
        spellings = (write_json(usual), json.dumps(usual).encode())
        templates = (MessageTemplate.learn(Frame(data), Content(text), self) for data in spellings)
        return tuple(template for template in templates if template is not None)


class MessageTemplate:
    """The bytes of a message around its text.

    Class attributes:
        grows: the texts are those of `GrowingTemplate`.

    Attributes:
        event: the event of the message; its text is replaced.
        known: see `GrowingTemplate`; empty for any other one.
    """

    grows: ClassVar[bool] = False
    known = b""

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
        if len(holes) == 1:  # most messages
            self._before, self._after = data[: holes[0].begin], data[holes[0].end :]
            self._before_size, self._after_size = len(self._before), len(self._after)
            self._ignored_before: tuple[bytes, ...] = ()
            self._ignored_after: tuple[bytes, ...] = ()
            return
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
    def learn(cls, frame: Frame, event: Piece, fields: TextFields) -> Self | None:
        """Return the template of `frame`, which was read as the one event `event`; None if none fits."""
        data = frame.data
        prefix = fields.prefix.match(data)
        begin = prefix.end() if prefix else 0
        try:
            message = parse_json(data[begin:])[0] if begin else frame.json()
        except MalformedEvent:  # bare text, where a dialect takes that
            return None
        texts = [path for path in fields.texts if value_at(message, path) == event.content]
        text = text_hole(data, begin, texts[0]) if len(texts) == 1 else None
        if text is None:
            return None
        ignored = [path for path in fields.ignored if value_at(message, path) is not None]
        beside = [hole for path in ignored if (hole := hole_at(data, path, is_text=False))]
        holes = sorted([text, *beside])
        return cls(event, frame.event, data, holes) if fits(data, begin, holes) else None

    def of(self, event: Piece) -> MessageTemplate:
        """Return the template of the same messages with another event; only if the text alone changes."""
        other = MessageTemplate.__new__(MessageTemplate)
        other.event, other._name = event, self._name
        other._before, other._after = self._before, self._after
        other._before_size, other._after_size = self._before_size, self._after_size
        other._ignored_before = other._ignored_after = ()
        return other

    def matches(self, piece: Piece, frame: Frame) -> bool:
        """Return whether this template reads `frame` as the same `piece`."""
        return are_alike(self.event, piece) and self.text_of(frame) == piece.content

    def text_of(self, frame: Frame) -> str | None:
        """Return the text of a message of this template; None if it does not fit, or the text is empty."""
        data = frame.data
        if data[: self._before_size] != self._before or not data.endswith(self._after):
            return None
        if frame.event != self._name:
            return None
        return self.text_in(data, self._before_size, len(data) - self._after_size)

    def text_in(self, data: bytes, begin: int, end: int) -> str | None:
        """Return the text of a message whose `edges` are known to be in `data`; None if it has no text.

        Args:
            data: the message, or bytes that hold it.
            begin: the end of the first edge.
            end: the beginning of the second edge.
        """
        try:
            if self._ignored_before or self._ignored_after:
                begin, end = self._text_bounds(data, begin, end)
            return _text(data[begin:end]) or None
        except _REFUSALS:
            return None

    def _text_bounds(self, data: bytes, begin: int, end: int) -> tuple[int, int]:
        """Return where the text begins and ends in a message, between the ignored values; see `text_in`.

        Raises:
            MsgspecError, ValueError: the message does not fit.
        """
        for constant in self._ignored_before:
            stop = data.index(constant, begin, end)
            _ignored(data[begin:stop])
            begin = stop + len(constant)
        for constant in self._ignored_after:
            start = data.rindex(constant, begin, end)
            _ignored(data[start + len(constant) : end])
            end = start
        return begin, end

    @property
    def constants(self) -> tuple[bytes, ...]:
        """The constant bytes of a message. Between them are the values that change."""
        return self._before, *self._ignored_before, *reversed(self._ignored_after), self._after

    @property
    def text_place(self) -> int:
        """The number of changing values before the text."""
        return len(self._ignored_before)

    def note_latest(self, data: bytes) -> None:
        """Note the last message that was read by this template, if `text_in` was not called for it."""

    def around_text(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the bytes before and after the text of a message that fits this template."""
        begin, end = self._before_size, len(data) - self._after_size
        for constant in self._ignored_before:
            begin = data.index(constant, begin, end) + len(constant)
        for constant in self._ignored_after:
            end = data.rindex(constant, begin, end)
        return data[:begin], data[end:]

    @property
    def edges(self) -> tuple[bytes, bytes]:
        """The bytes before the first changing value, and the bytes after the last one."""
        return self._before, self._after

    @property
    def is_constant(self) -> bool:
        """Whether the text is the only value that changes."""
        return not (self._ignored_before or self._ignored_after)


class CountingTemplate(MessageTemplate):
    """A template for messages with running counts; see `TextFields.counts`.

    Attributes:
        latest: the data of the message that was read last; empty before the first message.
    """

    __slots__ = ("latest",)

    def __init__(self, event: Piece, name: str | None, data: bytes, holes: Sequence[Hole]) -> None:
        super().__init__(event, name, data, holes)
        self.latest = b""

    def note_latest(self, data: bytes) -> None:
        """Keep the message."""
        self.latest = data

    def text_in(self, data: bytes, begin: int, end: int) -> str | None:
        """Return the text of a message that fits this template, and keep the message."""
        text = MessageTemplate.text_in(self, data, begin, end)
        if text is not None:
            self.latest = data[begin - self._before_size : end + self._after_size]
        return text


def are_alike(one: Piece, other: Piece) -> bool:
    """Return whether two pieces of text differ only in their text."""
    return one.meta == other.meta and one.with_text(other.content) == other
