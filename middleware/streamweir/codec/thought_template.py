"""Reads pieces of thinking each of which is a message of its own, as agents report what they do.

    {"messageId":"m-1","text":"Reading","timestamp":1}    decoded; the template is learned from it
    {"messageId":"m-2","text":"Writing","timestamp":2}    fits the template; text and id are parsed

This is the counterpart of `message_template` for texts whose events differ in their `message_id`, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec

from streamweir.codec.holes import Hole, fits, hole_at, text_hole
from streamweir.codec.message_path import value_at
from streamweir.codec.message_template import TextFields
from streamweir.errors import MalformedEvent
from streamweir.events import Event, SessionStart, Status, Thinking
from streamweir.framing import Frame
from streamweir.ids import MAX_ID_CHARACTERS, room_for_json

__all__ = ["ThoughtTemplate", "ThoughtTemplates"]

_LONGEST: Final = 4 << 10
"""The longest message that is learned from, in bytes."""

_MOST_LEARNED: Final = 8
"""The most templates that one stream learns."""

_NO_FRAME: Final = Frame(b"")

_TEXT_AND_ID: Final = 2
_MARKS: Final = (b",\r", b",\t")
"""Put between the values of one message, with blanks of JSON; a line feed is put between two messages."""
_NO_MARKS: Final = bytes(byte for byte in range(256) if byte not in b"\r\t\n")
_MOST_CHANGING: Final = len(_MARKS) + 1
"""The most values that may change in a message."""

_texts: Final = msgspec.json.Decoder(list[str]).decode
_values: Final = msgspec.json.Decoder(list[int | float | str]).decode
_REFUSALS: Final = (msgspec.MsgspecError, ValueError)


class ThoughtTemplate:
    """The bytes of a message around its text and its id.

    Args:
        event: the event of the message.
        name: the event name of its frame.
        data: the message.
        holes: the places of the values that change, in the order of their places.
        places: the numbers of the text and of the id among them.

    Attributes:
        event: an event of which the text and the `message_id` are replaced.
        name: the event name of the frames.
        first: the bytes before the first value that changes.
        last: the bytes after the last one.
    """

    __slots__ = ("_decode", "_inner", "_marks", "_places", "event", "first", "last", "name")

    def __init__(
        self,
        event: Thinking,
        name: str | None,
        data: bytes,
        holes: Sequence[Hole],
        places: tuple[int, int],
    ) -> None:
        self.event = event
        self.name = name
        self.first, self.last = data[: holes[0].begin], data[holes[-1].end :]
        inner = [data[one.end : other.begin] for one, other in pairwise(holes)]
        self._inner = [*zip(inner, _MARKS, strict=False)]
        self._marks = b"".join(mark for _, mark in self._inner).replace(b",", b"") + b"\n"
        self._decode = _texts if len(holes) == _TEXT_AND_ID else _values
        self._places = places

    @classmethod
    def learn(cls, frame: Frame, event: Thinking, fields: TextFields) -> ThoughtTemplate | None:
        """Return the template of `frame`, which was read as the one event `event`; None if none fits."""
        data = frame.data
        try:
            message = frame.json()
        except MalformedEvent:
            return None
        message_id = _id_of(event)
        ids = [path for path in fields.ids if value_at(message, path) == message_id]
        texts = [path for path in fields.texts if value_at(message, path) == event.content]
        if len(ids) != 1 or len(texts) != 1:
            return None
        ignored = [path for path in fields.ignored if value_at(message, path) is not None]
        a_text, an_id = text_hole(data, 0, texts[0]), hole_at(data, ids[0], is_text=False)
        if a_text is None or an_id is None:
            return None
        beside = [hole for path in ignored if (hole := hole_at(data, path, is_text=False))]
        holes = sorted((a_text, an_id, *beside))
        if len(holes) > _MOST_CHANGING or not fits(data, 0, holes):
            return None
        return cls(event, frame.event, data, holes, (holes.index(a_text), holes.index(an_id)))

    def thoughts_in(self, messages: Sequence[bytes]) -> tuple[list[str], list[str], int] | None:
        """Return the ids and the texts of messages, and roughly the most bytes that these take.

        None if a message does not fit, or has an empty text, an empty id or one that is too long.

        The messages become one list of JSON, `"m-1",<CR>"Reading",<LF>"m-2",<CR>"Writing"`. No value has a
        control byte, so each of these is where it was put.

        Args:
            messages: the messages without the bytes `first` and `last`.
        """
        values, count = b",\n".join(messages), len(messages)
        for constant, mark in self._inner:
            values = mark.join(values.split(constant))  # `replace` searches twice
        if values.translate(None, _NO_MARKS) != (self._marks * count)[:-1]:
            return None
        try:
            found: list[Any] = self._decode(b"[%b]" % values)
        except _REFUSALS:
            return None
        if len(found) != (width := len(self._marks)) * count:
            return None
        text_place, id_place = self._places
        ids, texts = found[id_place::width], found[text_place::width]
        if width > _TEXT_AND_ID and {*map(type, ids), *map(type, texts)} != {str}:
            return None
        if not (all(ids) and all(texts)):
            return None
        if len("".join(ids)) > MAX_ID_CHARACTERS and max(map(len, ids)) > MAX_ID_CHARACTERS:
            return None
        return ids, texts, room_for_json(values, width * count)

    def matches(self, event: Thinking, frame: Frame) -> bool:
        """Return whether this template reads `frame` as `event`."""
        data = frame.data
        end = len(data) - len(self.last)
        if not (_are_alike(self.event, event) and frame.event == self.name and len(self.first) < end):
            return False
        if not (data.startswith(self.first) and data.endswith(self.last)):
            return False
        found = self.thoughts_in([data[len(self.first) : end]])
        return found is not None and found[:2] == ([_id_of(event)], [event.content])


class ThoughtTemplates:
    """The template of the thoughts of one stream that are messages of their own.

    A template is in force from a message that it reads as the decoder did. It ends with the next message that
    is decoded to something else.

    Args:
        fields: the text fields of the dialect.

    Attributes:
        current: the template in force; None if no template is in force.
    """

    __slots__ = ("_event", "_fields", "_frame", "_known", "_left", "current")

    def __init__(self, fields: TextFields) -> None:
        self._fields = fields
        self._known: ThoughtTemplate | None = None
        self._left = _MOST_LEARNED
        self._event: Thinking | None = None
        """The latest message, if it is a thought that `learn` may learn from; `_frame` is its frame."""
        self._frame = _NO_FRAME
        self.current: ThoughtTemplate | None = None

    def note(self, frame: Frame, event: Event | None) -> None:
        """Note that `frame` was decoded to `event`; None: it was decoded to no event or to several."""
        last, self.current, self._event = self._event, None, None
        if type(event) is not Thinking or not _is_thought(event) or len(frame.data) > _LONGEST:
            self._frame = _NO_FRAME
        elif self._known is not None and self._known.matches(event, frame):
            self.current = self._known
        else:
            self._event, self._frame = event, frame
            if last is not None and _are_alike(last, event):
                self.learn()

    def note_begin(self, frame: Frame, events: Sequence[Event]) -> None:
        """Note that `frame` was decoded to several events, perhaps to a thought and the news before it."""
        *news, last = events
        if all(map(_is_news, news)):
            self.note(frame, last)

    def learn(self) -> ThoughtTemplate | None:
        """Return the template in force; first learn it from the latest message, if that is a thought.

        Learning takes as long as decoding: call it only when further messages have come.
        """
        event, self._event = self._event, None
        if event is not None and self._left:
            self._left -= 1
            template = ThoughtTemplate.learn(self._frame, event, self._fields)
            if template is not None:
                self.current = self._known = template
        return self.current


def _are_alike(one: Thinking, other: Thinking) -> bool:
    """Return whether two thoughts differ only in their text and in the id of their message."""
    first, second = one.meta or {}, other.meta or {}
    if one.stage != other.stage or [*first] != [*second]:
        return False
    return {**first, "message_id": ""} == {**second, "message_id": ""}


def _is_thought(event: Thinking) -> bool:
    """Return whether an event is only a piece of thinking of a message with an id."""
    if not (event.content and event.meta and event.meta.get("message_id")) or "extra" in event.meta:
        return False
    return event.with_text(event.content) == event


def _is_news(event: Event) -> bool:
    """Return whether an event is the start of the session or a state, which only one message means."""
    return type(event) is SessionStart or (type(event) is Status and "extra" not in (event.meta or ()))


def _id_of(event: Thinking) -> str | None:
    return event.meta.get("message_id") if event.meta else None
