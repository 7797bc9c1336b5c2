"""The events of a run in the form of the store: JSON with all fields that the stages have set.

    [Unix milliseconds, type, text, other fields]
    [Unix milliseconds, type, text, other fields, copied frames, their place]

`text` is null for events that are not a piece of text. The position of an event is its sequence number. The
first event also has the field `source`, with which every reader writes the run.

The second form is that of runs whose first client gets the frames of the upstream. The copied frames of all
events together are the body of that client. An event without frames of its own has empty ones, and the place
is the number of bytes before them in the body. An event in the first form was made after the frames ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.events import EVENT_TYPES, Content, Event, SessionStart, Thinking
from streamweir.jsontext import json_to_keep, one_line, write_json
from streamweir.translation.items import TextRun

__all__ = ["EventReader", "EventWriter", "Source", "UnreadableRun", "copied_in", "with_copied"]

_NO_TEXT: Final = b"null"
_TEXTS: Final[tuple[type[Event], ...]] = (Content, Thinking)
_PIECE_FIELDS: Final = frozenset({"content", "format", "channel", "stage", "meta"})
"""The fields that pieces in a text run may have; an event with another field is stored by itself."""


_write_string: Final = msgspec.json.Encoder().encode
_lines: Final = msgspec.json.Encoder().encode_lines
"""Encodes strings like `write_json`, but many in one call."""


class UnreadableRun(Exception):
    """The store returned a line that is not an event of a run."""


class Source(msgspec.Struct, frozen=True):
    """The facts about a run's stream that its encoders need.

    Attributes:
        speaks: the dialect of the upstream; `auto` while it is not detected.
        options: the protocol options, by dialect.
        names: the names that the first client used in its request; all readers get these names.
        copies: the framing of the copied frames; None if the run has none.
    """

    speaks: str = "auto"
    options: Mapping[str, Mapping[str, Any]] = {}
    names: ClientNames = NO_NAMES
    copies: str | None = None


class EventWriter:
    """Writes the events of one run. Pieces of one text are filled into the JSON of the first piece."""

    __slots__ = ("_kind", "_piece", "_rest")

    def __init__(self) -> None:
        self._piece: Event | None = None
        self._kind = b""
        self._rest = b""

    def event(self, event: Event, timestamp: int, source: Source | None = None) -> bytes:
        """Return one event in the form of the store.

        Args:
            event: the event to write.
            timestamp: Unix milliseconds.
            source: the source of the run with its first event; None with later events.
        """
        fields = _fields(event)
        text = fields.pop("content", None) if isinstance(event, _TEXTS) else None
        if source is not None:
            fields["source"] = msgspec.to_builtins(source)
        written = _NO_TEXT if text is None else write_json(text)
        return b'[%d,"%b",%b,%b]' % (timestamp, type(event).type.encode(), written, write_json(fields))

    def run(self, event: Content | Thinking, texts: Sequence[str], timestamp: int) -> bytes:
        """Return the pieces of a text run as the store has them, joined by `\\n`.

        They differ from `event` only in text.
        """
        if event is not self._piece:
            fields = _fields(event.with_text(""))
            del fields["content"]
            self._piece = event
            self._kind, self._rest = type(event).type.encode(), json_to_keep(fields)
        if len(texts) == 1:
            text = _write_string(texts[0])
            if not text.isascii():
                text = one_line(text)
            return b'[%d,"%b",%b,%b]' % (timestamp, self._kind, text, self._rest)
        head, tail = b'[%d,"%b",' % (timestamp, self._kind), b",%b]" % self._rest
        lines = _lines(texts)[:-1]
        if not lines.isascii():
            lines = one_line(lines)
        return b"".join((head, lines.replace(b"\n", tail + b"\n" + head), tail))


def _fields(event: Event) -> dict[str, Any]:
    fields = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if value is not None:
            fields[name] = value
    return fields


class EventReader:
    """Reads the events of one run, in order.

    Attributes:
        source: the source of the run, set by its first event.

    Args:
        begins: the first event that is read has to be the first one of a run.
    """

    __slots__ = ("_begins", "_kind", "_piece", "_rest", "source")

    def __init__(self, *, begins: bool = True) -> None:
        self.source = Source()
        self._begins = begins
        self._kind = ""
        self._rest = b""
        self._piece: Content | Thinking | None = None

    def items(self, lines: Iterable[bytes]) -> Iterator[tuple[int, Event | TextRun]]:
        """Yield each event with its time; consecutive pieces of one text are yielded as one `TextRun`.

        Raises:
            UnreadableRun: a line is not an event.
        """
        texts: list[str] = []
        at = 0
        for line in lines:
            stored = _decoded(line)
            timestamp, kind, text, rest = stored.timestamp, stored.kind, stored.text, bytes(stored.fields)
            if text is not None and self._piece is not None and self._can_extend(kind, rest):
                if texts and timestamp != at:
                    yield at, TextRun(self._piece, texts)
                    texts = []
                at = timestamp
                texts.append(text)
                continue
            if texts and self._piece is not None:
                yield at, TextRun(self._piece, texts)
                texts = []
            yield timestamp, self._event(kind, text, rest)
        if texts and self._piece is not None:
            yield at, TextRun(self._piece, texts)

    def _can_extend(self, kind: str, rest: bytes) -> bool:
        return kind == self._kind and rest == self._rest

    def _event(self, kind: str, text: str | None, rest: bytes) -> Event:
        cls = EVENT_TYPES.get(kind)
        if cls is None or (self._begins and cls is not SessionStart):
            raise UnreadableRun
        self._begins = False
        try:
            fields = msgspec.json.decode(rest, type=dict[str, Any])
            if cls is SessionStart and "source" in fields:
                self.source = msgspec.convert(fields.pop("source"), Source)
            if text is not None:
                fields["content"] = text
            event = msgspec.convert(fields, cls)
        except (msgspec.MsgspecError, ValueError, TypeError) as error:
            raise UnreadableRun from error
        self._piece = None
        if (
            text is not None
            and isinstance(event, Content | Thinking)
            and fields.keys() <= {*_PIECE_FIELDS, "content"}
        ):
            self._kind, self._rest, self._piece = kind, bytes(rest), event
        return event


class _StoredEvent(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    timestamp: int
    kind: str
    text: str | None
    fields: msgspec.Raw
    copied: str | None = None
    place: int = 0


_decoder: Final = msgspec.json.Decoder(_StoredEvent)


def _decoded(line: bytes) -> _StoredEvent:
    try:
        return _decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise UnreadableRun from error


def copied_in(line: bytes) -> tuple[bytes, int] | None:
    """Return the copied frames of a stored event with their place; None if the event has none.

    Raises:
        UnreadableRun: the line is not an event.
    """
    stored = _decoded(line)
    return None if stored.copied is None else (stored.copied.encode(), stored.place)


def with_copied(line: bytes, copied: bytes, place: int) -> bytes:
    """Return a stored event with copied frames, which must be UTF-8; empty frames need no place."""
    if not copied:
        return line[:-1] + b',""]'
    return b"%b,%b,%d]" % (line[:-1], write_json(copied.decode()), place)
