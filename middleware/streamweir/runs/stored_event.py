"""The events of a run as they are kept: JSON that says all that the stages gave, whoever is to read it.

Each is a list: Unix milliseconds, the type, the text of a piece of text (else null), the other fields. Its
place in the list of all is its sequence number. The first one also says what the run is read with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from streamweir.codec.client_names import NO_NAMES, ClientNames
from streamweir.events import EVENT_TYPES, Content, Event, SessionStart, Thinking
from streamweir.jsontext import json_to_keep, one_line, write_json
from streamweir.translation.items import TextRun

__all__ = ["EventReader", "EventWriter", "Source", "UnreadableRun"]

_NO_TEXT: Final = b"null"
_TEXTS: Final[tuple[type[Event], ...]] = (Content, Thinking)
_PIECE_FIELDS: Final = frozenset({"content", "format", "channel", "stage", "meta"})
"""What a piece of text may have in common with the next one; with anything else it stands alone."""


_write_string: Final = msgspec.json.Encoder().encode
_lines: Final = msgspec.json.Encoder().encode_lines
"""They write strings as `write_json` does, and all of them in one call."""


class UnreadableRun(Exception):
    """What the store returned is no event of a run."""


class Source(msgspec.Struct, frozen=True):
    """What a run is read with, as far as it matters to those who write it for a client.

    Attributes:
        speaks: the dialect of its upstream; `auto` while that is open.
        options: by dialect, those in force.
        names: what the client that began it calls what it asked: all who read it are given these.
    """

    speaks: str = "auto"
    options: Mapping[str, Mapping[str, Any]] = {}
    names: ClientNames = NO_NAMES


class EventWriter:
    """Writes the events of one run; those of a text that goes on are filled into what the first was."""

    __slots__ = ("_kind", "_piece", "_rest")

    def __init__(self) -> None:
        self._piece: Event | None = None
        self._kind = b""
        self._rest = b""

    def event(self, event: Event, timestamp: int, source: Source | None = None) -> bytes:
        """Return one event.

        Args:
            event: it.
            timestamp: Unix milliseconds.
            source: of the run, with the event that begins it.
        """
        fields = _fields(event)
        text = fields.pop("content", None) if isinstance(event, _TEXTS) else None
        if source is not None:
            fields["source"] = msgspec.to_builtins(source)
        written = _NO_TEXT if text is None else write_json(text)
        return b'[%d,"%b",%b,%b]' % (timestamp, type(event).type.encode(), written, write_json(fields))

    def run(self, event: Content | Thinking, texts: Sequence[str], timestamp: int) -> list[bytes]:
        """Return pieces of text that differ from `event` in their text only."""
        if event is not self._piece:
            fields = _fields(event.with_text(""))
            del fields["content"]
            self._piece = event
            self._kind, self._rest = type(event).type.encode(), json_to_keep(fields)
        if len(texts) == 1:
            text = _write_string(texts[0])
            if not text.isascii():
                text = one_line(text)
            return [b'[%d,"%b",%b,%b]' % (timestamp, self._kind, text, self._rest)]
        head, tail = b'[%d,"%b",' % (timestamp, self._kind), b",%b]" % self._rest
        lines = _lines(texts)
        if not lines.isascii():
            lines = one_line(lines)
        return [head + text + tail for text in lines.split(b"\n")[:-1]]


def _fields(event: Event) -> dict[str, Any]:
    fields = {}
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if value is not None:
            fields[name] = value
    return fields


class EventReader:
    """Reads the events of one run, in their order.

    Attributes:
        source: what the run is read with, once its first event has been read.
    """

    __slots__ = ("_kind", "_piece", "_rest", "source")

    def __init__(self) -> None:
        self.source = Source()
        self._kind = ""
        self._rest = b""
        self._piece: Content | Thinking | None = None

    def items(self, lines: Iterable[bytes]) -> Iterator[tuple[int, Event | TextRun]]:
        """Yield with its time each event; pieces of text that go on are one `TextRun`.

        Raises:
            UnreadableRun: a line is no event.
        """
        texts: list[str] = []
        at = 0
        for line in lines:
            timestamp, kind, text, rest = _decoded(line)
            if text is not None and self._piece is not None and self._goes_on(kind, rest):
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

    def _goes_on(self, kind: str, rest: bytes) -> bool:
        return kind == self._kind and rest == self._rest

    def _event(self, kind: str, text: str | None, rest: bytes) -> Event:
        cls = EVENT_TYPES.get(kind)
        if cls is None:
            raise UnreadableRun
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


_decoder: Final = msgspec.json.Decoder(tuple[int, str, str | None, msgspec.Raw])


def _decoded(line: bytes) -> tuple[int, str, str | None, bytes]:
    try:
        timestamp, kind, text, rest = _decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise UnreadableRun from error
    return timestamp, kind, text, bytes(rest)
