"""The rules that write a stream: each rule takes some events and sends frames for them.

Source: the dialect-file contract, section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from streamweir.codec.mapped.frames_out import FrameOut, compile_frames
from streamweir.codec.mapped.paths import concerns_any
from streamweir.codec.mapped.problems import suggestion
from streamweir.codec.mapped.remember import Memory, compile_memory
from streamweir.codec.mapped.section import Section
from streamweir.events import EVENT_TYPES
from streamweir.expressions import Path, Scope, Vocabulary
from streamweir.expressions.values import is_true

__all__ = ["WRITE_RULE_KEYS", "WriteRule", "compile_write_rules", "rules_by_type"]

WRITE_RULE_KEYS: Final = ("on", "when", "send", "remember")
_EVERY: Final = "*"
_CHANGES: Final[tuple[Path, ...]] = (("content",), ("sequence",), ("timestamp",))


class WriteRule:
    """One rule.

    Attributes:
        place: the index of the rule.
        types: the types of the events that the rule takes.
        frames: the frames that the rule sends.
        memory: the values that the rule remembers.
        names: the names of the scope in the rule's expressions.
        depends_on_text: whether the rule's conditions read the event's text, its place, or earlier frames.
        uses_state: whether the rule's conditions read remembered values.
        plain: the only frame of the rule, if it can be written by a template: for events that differ in
            their text alone, only that text and known numbers change in it. Else None.
    """

    def __init__(self, section: Section, place: int, names: Vocabulary) -> None:
        self.place = place
        self.types = _types(section)
        self._when = section.expression("when", names)
        self.frames: list[FrameOut] = []
        if "send" in section:
            self.frames = compile_frames(section.values["send"], section.at("send"), section.report, names)
        else:
            section.lacks("a rule needs `send`")
        self.memory: Memory | None = compile_memory(section, names)
        condition = self._when.names if self._when else frozenset()
        memory = self.memory.expression_names if self.memory else frozenset()
        self.names = condition.union(memory, *(frame.names for frame in self.frames))
        reads = self._when.truth_reads.values if self._when else frozenset[Path]()
        self.depends_on_text = bool(condition & {"_count", "_answer"}) or any(
            concerns_any(path, reads) for path in _CHANGES
        )
        self.uses_state = "_state" in condition
        is_plain = len(self.frames) == 1 and self.frames[0].is_plain and self.memory is None
        self.plain: FrameOut | None = self.frames[0] if is_plain else None

    def takes(self, message: Any, scope: Scope) -> bool:
        """Return whether the rule takes an event of one of its types."""
        return self._when is None or is_true(self._when.evaluate(message, scope))

    def takes_all_of(self, later: WriteRule) -> bool:
        """Return whether this rule takes every event that `later` takes, a rule after this one."""
        return self._when is None and later.types <= self.types


def compile_write_rules(section: Section, names: Vocabulary) -> list[WriteRule]:
    """Return the rules under `rules` of `write` that have no problem."""
    rules: list[WriteRule] = []
    for place, (path, value) in enumerate(section.items("rules", "a list of rules")):
        inner = Section.of(value, path, section.report, "a rule: `on` and `send`")
        if inner is not None:
            inner.check_keys(WRITE_RULE_KEYS)
            rules.append(WriteRule(inner, place, names))
    return rules


def rules_by_type(rules: Sequence[WriteRule]) -> Mapping[str, tuple[WriteRule, ...]]:
    """Return the rules that may take an event of each type, in their order."""
    return {name: tuple(rule for rule in rules if name in rule.types) for name in EVENT_TYPES}


def _types(section: Section) -> frozenset[str]:
    if "on" not in section:
        section.lacks('a rule needs `on`: a type of event, a list of them, or `"*"`')
        return frozenset()
    names = section.texts("on")
    for index, name in enumerate(names):
        if name not in EVENT_TYPES and name != _EVERY:
            path = section.at("on") if isinstance(section.values["on"], str) else (*section.at("on"), index)
            section.report.at_value(path, f"unknown type {name!r}{suggestion(name, (*EVENT_TYPES, _EVERY))}")
    return frozenset(EVENT_TYPES) if _EVERY in names else frozenset(names) & EVENT_TYPES.keys()
