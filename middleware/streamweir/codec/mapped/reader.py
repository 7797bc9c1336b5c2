"""The decoder of a dialect from YAML, which takes its compiled rules as a parameter.

Source: the dialect-file contract, sections 2, 3 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import msgspec

from streamweir.codec.argument_pieces import ArgumentPieces
from streamweir.codec.base import Decoder, Options
from streamweir.codec.coerce import custom
from streamweir.codec.frame_growth import GROWTH, bounded_events
from streamweir.codec.mapped.open_messages import OpenMessages
from streamweir.codec.mapped.read_scope import ReadScope
from streamweir.codec.mapped.rules import Rule, RuleTable
from streamweir.codec.mapped.words import UNNAMED, Words, frame_name
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, SessionEnd
from streamweir.expressions import Expression
from streamweir.framing import Frame
from streamweir.jsontext import write_json

__all__ = ["MappedDecoder", "ReadingRules", "TextBodyDecoder"]


_SILENT: Final = frozenset({"usage", "complete"})
"""The types of entries that make no events."""


class ReadingRules(NamedTuple):
    """How a dialect is read.

    Attributes:
        rules: finds the rule that takes a frame.
        ignore: the frames that give no events.
        terminal: the frames that are soft evidence of the end.
        unwrap: the place of the message in a frame.
        is_text: whether frames hold text, which is not parsed.
        is_lines: whether a frame is a line.
        base: the decoder for frames that no rule takes.
        options: the values that expressions see, by the option's name and the value's text.
        collects_arguments: whether pieces of arguments are collected.
        marks_messages: whether the dialect marks the ends of messages.
    """

    rules: RuleTable
    ignore: Words
    terminal: Words
    unwrap: Expression | None = None
    is_text: bool = False
    is_lines: bool = False
    base: type[Decoder] | None = None
    options: Mapping[str, Mapping[str, Any]] = {}
    collects_arguments: bool = False
    marks_messages: bool = False


class MappedDecoder(Decoder):
    """Reads frames by compiled rules.

    Class attributes:
        reading: the compiled rules.

    Attributes:
        taker: the reader of the last frame: a rule by its label, `ignored`, `terminal`, `base` or `no rule`.
        judges_texts: whether a text like that of the last frame may mean more: the frame has changed a
            remembered value, the base judges its text, or the start of a call waits. Set once all events of
            the frame have been taken.
    """

    reading: ClassVar[ReadingRules]
    judges_texts = False

    def __init__(self) -> None:
        reading = self.reading
        self.taker = "no rule"
        self._scope = ReadScope({})
        self._base = reading.base() if reading.base else None
        self._reads_by_base = False
        self._has_learned = False
        """Whether the last frame has changed a remembered value, so an equal frame may give other events."""
        self._base_vouches = reading.base is not None and reading.base.text_fields is not None
        self._pieces: ArgumentPieces | None = None
        self._messages = OpenMessages() if reading.marks_messages and reading.terminal.ends_at_eof else None
        self._has_begun = False

    @classmethod
    def own_unwrap(cls, base: type[Decoder] | None) -> Expression | None:
        """Return the `unwrap` of a home-made base. It is used if the dialect has no `unwrap`."""
        return base.reading.unwrap if base is not None and issubclass(base, MappedDecoder) else None

    @classmethod
    def unwrapped(cls, base: type[Decoder] | None) -> type[Decoder] | None:
        """Return `base` changed so that it reads messages that have been unwrapped already."""
        if base is None or not issubclass(base, MappedDecoder) or base.reading.unwrap is None:
            return base
        attributes = {"reading": base.reading._replace(unwrap=None), "text_fields": None}
        return type(base.__name__, (base,), attributes)

    @classmethod
    def options_for(cls, path: str) -> Options:
        """Return the options that the URL path decides for the base."""
        return cls.reading.base.options_for(path) if cls.reading.base else {}

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events that the rules, or the base, make from `frame`."""
        events = self.decode_alone(frame)
        if self._pieces is not None:
            events = self._collected(self._pieces, events)
        if self._messages is not None:
            events = self._messages.note(events)
        return events

    def decode_alone(self, frame: Frame) -> Iterable[Event]:
        """Return the events of a separate frame: calls are not completed; `taker` names the reader."""
        if not self._has_begun:
            self._begin()
        try:
            return self._events_of(frame)
        finally:
            self._scope.forget()

    def _events_of(self, frame: Frame) -> Iterable[Event]:
        reading, scope = self.reading, self._scope
        scope.frame, scope.rest = frame, None
        scope.begin_frame()
        self._reads_by_base = self._has_learned = self.judges_texts = False
        if not frame.data and frame.event in (None, UNNAMED):
            self.taker = "no rule"
            return ()
        message = scope.message = self._message_of(frame)
        if reading.ignore and reading.ignore.take(frame, message):
            self.taker = "ignored"
            return ()
        is_end = bool(reading.terminal) and reading.terminal.take(frame, message)
        self.complete = self.complete or is_end
        rule = reading.rules.find(message, scope)
        if rule is not None:
            self.taker = rule.label
            return self._apply(rule, message)
        if is_end:
            self.taker = "terminal"
            return ()
        return self._unmatched(frame, message)

    def accepts_text(self, text: str) -> bool:
        """Ask the base about a text, if the base reads it. Rules are not asked about declared places."""
        return self.accepts_texts((text,)) == 1

    def accepts_texts(self, texts: Sequence[str]) -> int:
        """Ask the base about texts, if the base reads them; see `accepts_text`."""
        if self._has_learned or (self._pieces is not None and self._pieces.has_waiting_start):
            return 0
        if not self._reads_by_base:
            return len(texts)
        return self._base.accepts_texts(texts) if self._base is not None and self._base_vouches else 0

    @property
    def reported_tokens(self) -> Mapping[str, Any]:
        """The counts of tokens that the stream has reported until now."""
        return {**(self._base.reported_tokens if self._base else {}), **self._scope.usage}

    def close(self) -> Iterator[Event]:
        """Yield the remaining events, and the end if there is evidence of it."""
        waits = self._pieces is not None and self._pieces.has_calls
        if self._pieces is not None:
            yield from self._pieces.start_all()
        for event in self._base.close() if self._base else ():
            yield self._with_usage(event)
            if isinstance(event, SessionEnd):
                return
        cut_off = waits or (self._messages is not None and self._messages.is_any_open)
        if self.complete or (self.reading.terminal.ends_at_eof and not cut_off):
            yield SessionEnd(summary={**self._scope.usage} or None)

    # The steps of one frame

    def _collected(self, pieces: ArgumentPieces, events: Iterable[Event]) -> Iterator[Event]:
        """Yield events, after the calls that start before them; then note whether a start waits."""
        yield from pieces.pass_on(events)
        self.judges_texts = self.judges_texts or pieces.has_waiting_start

    def _begin(self) -> None:
        """Read the options and the room at the first frame, because they are set after construction."""
        self._has_begun = True
        values = self.reading.options
        self._scope.options = {name: values[name][self.option(name)] for name in values}
        self._scope.most = GROWTH * self.room
        if self.reading.collects_arguments:
            self._pieces = ArgumentPieces(self.room, starts_wait=True)
        if self._base is not None:
            self._base.options = self.options
            self._base.room = self.room

    def _message_of(self, frame: Frame) -> Any:
        scope, unwrap = self._scope, self.reading.unwrap
        scope.is_json = True
        if self.reading.is_text or not frame.data:
            return frame.text
        try:
            message = frame.json()
        except MalformedEvent:
            scope.is_json = False
            return frame.text
        if unwrap is None:
            return message
        scope.message = message
        inner = unwrap.evaluate(message, scope)
        if unwrap.repeats:
            scope.size_of(inner)
        return message if inner is None else inner

    def _apply(self, rule: Rule, message: Any) -> Iterable[Event]:
        scope, out = self._scope, list[Event]()
        if rule.emission is None:
            events = self._hand_on(rule, message)
            self._remember(rule, message)
            return events
        try:
            rule.emission.emit(message, scope, out)
        except MalformedEvent as problem:
            return _and_then(out, problem)
        self._remember(rule, message)
        if scope.complete:
            self.complete, scope.complete = True, False
        if not out and self._may_be_half(rule.emission.types):
            raise MalformedEvent("half a line")
        return out

    def _remember(self, rule: Rule, message: Any) -> None:
        if rule.memory is not None:
            self._has_learned = self.judges_texts = rule.memory.keep(message, self._scope)

    def _may_be_half(self, types: frozenset[str]) -> bool:
        """Return whether the last line may be half a message: it has no line end, and no rule reads it."""
        is_unfinished = self.reading.is_lines and self._scope.frame.unterminated
        return is_unfinished and bool(types) and types.isdisjoint(_SILENT)

    def _hand_on(self, rule: Rule, message: Any) -> Iterable[Event]:
        frame = self._scope.frame
        value = rule.message.evaluate(message, self._scope) if rule.message else None
        if value is None:
            return ()
        self._scope.size_of(value)
        event = frame.event if rule.event is None else rule.event or None
        return self._by_base(_frame_with(frame, value, event))

    def _unmatched(self, frame: Frame, message: Any) -> Iterable[Event]:
        if self._base is not None:
            self.taker = "base"
            is_whole = self.reading.unwrap is None or not self._scope.is_json or message is frame_value(frame)
            return self._by_base(frame if is_whole else _frame_with(frame, message, frame.event))
        self.taker = "no rule"
        if not self._scope.is_json or (self.reading.is_lines and frame.unterminated):
            raise MalformedEvent("no rule takes this frame")
        return (custom(frame_name(frame, message) or UNNAMED, message),)

    def _by_base(self, frame: Frame) -> Iterator[Event]:
        base = self._base
        assert base is not None
        self._reads_by_base = self.judges_texts = True
        for event in bounded_events(base.decode(frame), len(frame.data), self._scope.most):
            yield self._with_usage(event)
        self.complete = self.complete or base.complete
        self.judges_texts = self._has_learned or base.judges_texts or not self._base_vouches

    def _with_usage(self, event: Event) -> Event:
        usage = self._scope.usage
        if not usage or not isinstance(event, SessionEnd):
            return event
        return msgspec.structs.replace(event, summary={**usage, **(event.summary or {})})


class TextBodyDecoder(Decoder):
    """Reads a body that is nothing but the text of the answer."""

    framing = "text"

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the piece of text that has arrived."""
        return (Content(frame.text),) if frame.data else ()

    def close(self) -> Iterable[Event]:
        """Return the end of the stream, which is the end of the body."""
        return (SessionEnd(),)


def frame_value(frame: Frame) -> Any:
    """Return the JSON value of a frame; None if the frame is empty."""
    return frame.json() if frame.data else None


def _frame_with(frame: Frame, value: Any, event: str | None) -> Frame:
    """Return a frame that holds `value`: a text unchanged, any other value as JSON."""
    is_text = isinstance(value, str)
    return Frame(
        value.encode("utf-8", "replace") if is_text else write_json(value),
        event,
        frame.id,
        unterminated=frame.unterminated,
        bare=frame.bare,
        _value=msgspec.UNSET if is_text else value,
    )


def _and_then(events: list[Event], problem: MalformedEvent) -> Iterator[Event]:
    """Yield the events that precede a malformed part, then raise the problem."""
    yield from events
    raise problem
