"""Describes a dialect: its decoder and encoder are given examples, and their results are the description.

The examples are in `examples.txt` of the dialect's folder. A line that begins with `#` opens an example and
names it. The lines up to the next `#` are the bytes on the wire: one event, or a few that belong together.
`-> nothing` after the name marks bookkeeping; `-> custom` marks an event for which the standard has no word.
All else is found out from the classes, so a description cannot become outdated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

import msgspec

from streamweir.codec.base import NO_OPTIONS, Encoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.event_examples import EVENT_EXAMPLES, EventExample
from streamweir.codec.registry import process_dialects
from streamweir.errors import StreamweirError
from streamweir.events import Event, Stamp, wire_data
from streamweir.framing import Frame
from streamweir.jsontext import decode_text
from streamweir.stages import ErrorSanitizer, passed_on
from streamweir.translation.items import events_of
from streamweir.translation.reader import StreamReader

__all__ = [
    "Description",
    "Example",
    "Option",
    "Reading",
    "Sent",
    "Writing",
    "describe",
    "examples_of",
]

_STAMP: Final = Stamp("req_1", 1, 1_790_000_000_000)


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One option of a dialect; the first of its values is the default."""

    name: str
    values: tuple[str, ...]
    when: str
    """`reading`, `writing` or `both`."""


class Example(NamedTuple):
    """The bytes of one event of a dialect, or of a few that belong together."""

    event: str
    wire: str
    becomes: str
    """`nothing`, `custom`, or empty if the standard has a word for the event."""


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """One event of a dialect with its standard events."""

    event: str
    example: str
    becomes: tuple[dict[str, Any], ...]
    """The standard events, each with `type` and `data`; empty for bookkeeping."""
    completes: bool
    """The event is soft evidence of a proper end: the stream counts as complete, but more may follow."""


class Sent(msgspec.Struct, frozen=True):
    """One frame of a written event: its SSE event name, if it has one, and its data."""

    event: str | None
    data: str


class Writing(msgspec.Struct, frozen=True, kw_only=True):
    """One standard event with its frames in a dialect."""

    event: str
    becomes: tuple[Sent, ...]
    """The frames; empty if the event is not written, or is written later."""
    lost: bool
    """The dialect has no word for the event, or for a part of it."""
    later: bool
    """The event is written with the end of the message or of the stream."""


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a dialect."""

    name: str
    summary: str
    reads: bool
    writes: bool
    framings: tuple[str, ...]
    """The framings in which the dialect is written, the default first; for a dialect that is only read, its
    usual framing.
    """
    options: tuple[Option, ...]
    reading: tuple[Reading, ...]
    writing: tuple[Writing, ...]

    @property
    def unsupported(self) -> tuple[str, ...]:
        """The standard events for which the dialect has no word."""
        return tuple(row.event for row in self.writing if row.lost)

    @property
    def produced(self) -> frozenset[str]:
        """The standard events that its decoder produces, by the names that `writing` gives them."""
        return frozenset(
            _name_of(event["type"], event["data"]) for row in self.reading for event in row.becomes
        )


def describe(dialect: str | Dialect) -> Description:
    """Return the description of a dialect.

    Raises:
        UnknownDialectError: no dialect has that name.
    """
    dialect = process_dialects().find(dialect)
    return Description(
        name=dialect.name,
        summary=dialect.summary,
        reads=dialect.decoder is not None,
        writes=dialect.encoder is not None,
        framings=framings_of(dialect),
        options=tuple(_options(dialect)),
        reading=tuple(_readings(dialect)) if dialect.decoder else (),
        writing=tuple(_writings(dialect.encoder)) if dialect.encoder else (),
    )


def _name_of(kind: str, data: Mapping[str, Any]) -> str:
    """Return the name of an event in `EVENT_EXAMPLES`."""
    match kind:
        case "content" if data.get("op") == "replace":
            return "content, replacing"
        case "content" if data.get("channel"):
            return "content, another channel"
        case "tool_call_end":
            return f"{kind} success" if data.get("status", "success") == "success" else f"{kind} failed"
        case "data":
            return f"{kind} {data.get('data_type')}"
        case "interaction":
            return f"{kind} {data.get('kind')}"
        case "session_end":
            return f"{kind} {data.get('status')}"
        case "error" if data.get("terminal") is False:
            return "error, the run goes on"
    return kind


def framings_of(dialect: Dialect) -> tuple[str, ...]:
    """Return the framings in which the dialect is written; for a dialect that is only read, its usual
    framing.
    """
    if dialect.encoder is not None:
        return dialect.encoder.framings
    if dialect.decoder is None:
        return ()
    return ("sse", "ndjson") if dialect.decoder.framing == "auto" else (dialect.decoder.framing,)


def _options(dialect: Dialect) -> Iterator[Option]:
    read = dialect.decoder.option_values if dialect.decoder else NO_OPTIONS
    written = dialect.encoder.option_values if dialect.encoder else NO_OPTIONS
    for name, values in dialect.options.items():
        when = "both" if name in read and name in written else "reading" if name in read else "writing"
        yield Option(name=name, values=values, when=when)


def _readings(dialect: Dialect) -> Iterator[Reading]:
    sanitizer = ErrorSanitizer(debug=False)
    for example in examples_of(dialect):
        reader = StreamReader(dialect)
        safe = [event for item in _read(reader, example.wire) for event in passed_on(sanitizer, item)]
        yield Reading(
            event=example.event,
            example=example.wire,
            becomes=tuple({"type": item.type, "data": wire_data(item)} for item in safe),
            completes=reader.complete,
        )


def examples_of(dialect: Dialect) -> Iterator[Example]:
    """Yield the examples in the dialect's folder; nothing if it has no folder."""
    if dialect.package is None:
        return
    file = files(dialect.package) / "examples.txt"
    text = file.read_text("utf-8") if file.is_file() else ""
    for example in f"\n{text}".split("\n#")[1:]:
        head, _, wire = example.partition("\n")
        event, _, becomes = head.partition("->")
        yield Example(event.strip(), wire.strip("\n"), becomes.strip())


def _read(reader: StreamReader, example: str) -> list[Event]:
    """Return the events of one example; a failure is read both as the start of a stream and as a whole
    stream.
    """
    try:
        events = [*events_of(reader.feed(example.encode() + b"\n\n")), *events_of(reader.frames.release())]
        return [*events, *events_of(reader.close())]
    except StreamweirError:
        return []


def _writings(encoder_class: type[Encoder]) -> Iterator[Writing]:
    for example in EVENT_EXAMPLES:
        if example.replaces and not encoder_class().can_replace:
            # The writer in front of the encoder sees to it that it never gets one.
            yield Writing(event=example.name, becomes=(), lost=True, later=False)
        else:
            yield _writing(encoder_class, example)


def _writing(encoder_class: type[Encoder], example: EventExample) -> Writing:
    """Encode a stream with and without the example event; return the frames that the event adds."""
    encoder, without = encoder_class(), encoder_class()
    _write(encoder, example.before)
    _write(without, example.before)
    becomes = _write(encoder, example.events)
    if example.ends:
        becomes += _sent(encoder.close())
        return Writing(event=example.name, becomes=becomes, lost=bool(encoder.lost), later=False)
    endings = [_write(side, (example.end,)) for side in (encoder, without)]
    return Writing(
        event=example.name,
        becomes=becomes,
        lost=encoder.lost.total() > without.lost.total(),
        later=not becomes and endings[0] != endings[1],
    )


def _write(encoder: Encoder, events: Iterable[Event]) -> tuple[Sent, ...]:
    return _sent(frame for event in events for frame in encoder.encode(event, _STAMP))


def _sent(frames: Iterable[Frame]) -> tuple[Sent, ...]:
    return tuple(Sent(frame.event, _text_of(frame.data)) for frame in frames)


def _text_of(data: bytes | str) -> str:
    """Return the data of a frame as text."""
    return data if isinstance(data, str) else decode_text(data)[0]
