"""The encoder of a dialect from YAML, which takes its compiled rules as a parameter.

Source: the dialect-file contract, sections 6 and 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from streamweir.codec.base import Encoder
from streamweir.codec.frame_growth import GROWTH
from streamweir.codec.frame_template import Number
from streamweir.codec.mapped.write_rules import WriteRule
from streamweir.codec.mapped.write_scope import Answer, OpenCalls, flat_event
from streamweir.errors import MalformedEvent
from streamweir.events import Content, Event, SessionEnd, SessionStart, Stamp, Thinking, ToolCallDelta
from streamweir.expressions import Scope
from streamweir.framing import Frame

__all__ = ["MappedEncoder", "WritingRules"]

_NEVER_A_LOSS: Final = (SessionStart, SessionEnd, ToolCallDelta)


class WritingRules(NamedTuple):
    """How a dialect is written.

    Attributes:
        rules: for each type of event, the rules that may take it.
        base: the encoder for events that no rule takes.
        options: the values that expressions see, by the option's name and the value's text.
        keeps_answer: whether a rule uses the whole text of the answer.
        replaces: whether the clients understand `op: replace`; None: the base decides.
    """

    rules: Mapping[str, tuple[WriteRule, ...]]
    base: type[Encoder] | None = None
    options: Mapping[str, Mapping[str, Any]] = {}
    keeps_answer: bool = False
    replaces: bool | None = None


class MappedEncoder(Encoder):
    """Writes events by compiled rules.

    Class attributes:
        writing: the compiled rules.
    """

    writing: ClassVar[WritingRules]

    def __init__(self) -> None:
        super().__init__()
        self._scope = Scope({})
        self._counts: dict[int, int] = {}
        self._answer: Answer | None = None
        self._piece: Content | Thinking | None = None
        self._rule: WriteRule | None = None
        """The rule that takes pieces that differ from `_piece` only in their text."""
        self._base: Encoder | None = None
        self._has_begun = False

    @property
    def can_replace(self) -> bool:
        """Whether the client understands `op: replace`, by the dialect, or by its base with these options."""
        self._begin()
        if self.writing.replaces is not None or self._base is None:
            return bool(self.writing.replaces)
        return self._base.can_replace

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        """Return the frames that the rules, or the base, send for `event`."""
        self._begin()
        if self._answer is not None:
            self._answer.note(event)
        message = flat_event(event, stamp, self._calls.of(event))
        try:
            rule = self._find(event, message)
            if rule is not None:
                return self._written(rule, message)
        except MalformedEvent:  # it would be larger, or take longer, than one event may
            self._note_lost(event)
            return ()
        finally:
            self._scope.forget()
        if self._base is not None:
            self._base.writes_extra = self.writes_extra
            return self._base.encode(event, stamp)
        self._note_lost(event)
        return ()

    def has_rules_for(self, event: Event) -> bool:
        """Return whether rules of this dialect, not of its base, may write events of this type."""
        return bool(self.writing.rules[event.type])

    def template_numbers(
        self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp
    ) -> Mapping[str, Number] | None:
        """Return the numbers that change in the frames that the rule sends for pieces like `event`."""
        if not self._has_begun:
            self._begin()
        if event is not self._piece:
            self._piece, self._rule = event, self._rule_for_all(event, stamp)
        rule = self._rule
        if rule is None or rule.plain is None:
            takers = self.writing.rules[event.type]
            return self._base.template_numbers(event, texts, stamp) if self._base and not takers else None
        if not rule.plain.numbers:
            return {}
        count = self._counts.get(rule.place, 0)
        numbers = {"sequence": (stamp.sequence, 1), "timestamp": (stamp.timestamp, 0), "_count": (count, 1)}
        return {key: numbers[name] for key, name in rule.plain.numbers.items()}

    def texts_written(self, event: Content | Thinking, texts: Sequence[str]) -> None:
        """Count pieces that were written like `event`, and add their texts to the answer."""
        if self._answer is not None and isinstance(event, Content) and event.channel is None:
            self._answer.add("".join(texts))
        if self._rule is not None:
            self._counts[self._rule.place] = self._counts.get(self._rule.place, 0) + len(texts)
        elif self._base is not None:
            self._base.texts_written(event, texts)

    def close(self) -> Iterable[Frame]:
        """Return the frames of the base after the last event."""
        return self._base.close() if self._base is not None else ()

    def _begin(self) -> None:
        """Read the options at the first call, because they are chosen after construction."""
        if self._has_begun:
            return
        self._has_begun = True
        writing = self.writing
        self._calls = OpenCalls(self.room // 2)
        self._scope.most = GROWTH * self.room
        if writing.keeps_answer:
            self._answer = Answer(self.room)
            self._scope.answer = self._answer.text
        self._scope.options = {name: values[self.option(name)] for name, values in writing.options.items()}
        if writing.base is not None:
            self._base = writing.base()
            self._base.options = self.options
            self._base.room = self.room
            self._base.lost = self.lost

    def _find(self, event: Event, message: dict[str, Any]) -> WriteRule | None:
        scope = self._scope
        scope.message = message
        scope.begin()
        for rule in self.writing.rules[event.type]:
            scope.count = self._counts.get(rule.place, 0)
            if rule.takes(message, scope):
                return rule
        return None

    def _written(self, rule: WriteRule, message: dict[str, Any]) -> list[Frame]:
        frames = [out for frame in rule.frames for out in frame.write(message, self._scope)]
        if rule.memory is not None:
            rule.memory.keep(message, self._scope)
        self._counts[rule.place] = self._counts.get(rule.place, 0) + 1
        return frames

    def _note_lost(self, event: Event) -> None:
        if not isinstance(event, _NEVER_A_LOSS) and not (isinstance(event, Content) and not event.content):
            self.lost[event.type.replace("_", " ")] += 1

    def _rule_for_all(self, event: Content | Thinking, stamp: Stamp) -> WriteRule | None:
        """Return the rule that takes every piece like `event`; None if that is not certain."""
        rules = self.writing.rules[event.type]
        found = self._find(event, flat_event(event, stamp, {})) if rules else None
        self._scope.forget()
        asked = rules[: rules.index(found) + 1] if found is not None else rules
        return None if any(rule.depends_on_text or rule.uses_state for rule in asked) else found
