"""The rules that read a stream: each rule takes some frames and emits events.

Source: the dialect-file contract, section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from streamweir.codec.mapped.conditions import CONDITION_KEYS, Conditions
from streamweir.codec.mapped.entries import Emission, compile_emission
from streamweir.codec.mapped.problems import CountingReport
from streamweir.codec.mapped.read_scope import ReadScope
from streamweir.codec.mapped.remember import Memory, compile_memory
from streamweir.codec.mapped.section import Section
from streamweir.expressions import Reads, Template, Vocabulary

__all__ = ["RULE_KEYS", "Rule", "RuleTable", "compile_rules"]

MAX_RULES: Final = 500

RULE_KEYS: Final = (*CONDITION_KEYS, "emit", "as", "as_event", "remember")

_ENDS: Final = frozenset({"session_end", "error", "complete", "interaction"})


class Rule:
    """One rule.

    Attributes:
        place: the index of the rule in the list.
        label: the name of the rule in reports: `rules[2]`.
        conditions: decide which frames the rule takes.
        emission: the events that the rule emits; None if it gives a message to the base.
        message: the message that the rule gives to the base.
        event: the SSE event name of that message; None: the name of the frame.
        memory: the values that the rule remembers.
        is_sound: whether the rule has no problem, so that other rules can be compared with it.
    """

    def __init__(self, section: Section, place: int, names: Vocabulary, *, is_text_only: bool) -> None:
        self.label = f"rules[{place}]"
        self.place = place
        self.conditions = Conditions(section, names, is_text_only=is_text_only)
        self.emission: Emission | None = None
        self.message: Template | None = None
        if "emit" in section:
            self.emission = compile_emission(
                section.values["emit"], section.at("emit"), section.report, names
            )
        elif "as" in section:
            self.message = section.template("as", names)
        self.event = section.text("as_event")
        self.memory: Memory | None = compile_memory(section, names)
        self.is_sound = True

    @property
    def may_end(self) -> bool:
        """Whether the rule can give evidence of the end."""
        return self.emission is not None and bool(self.emission.types & _ENDS)

    @property
    def effect_reads(self) -> Reads:
        """The places of the message that the rule's events and memory depend on, without plain texts."""
        emission = self.emission.reads if self.emission else Reads()
        return emission | self.memory.reads if self.memory else emission

    @property
    def may_emit_text(self) -> bool:
        """Whether the rule, or the base that gets its message, may emit text."""
        return self.emission is None or not self.emission.types.isdisjoint(("content", "thinking"))


class RuleTable:
    """Finds the first rule that takes a frame.

    Most rules require one word in one field, or one SSE event name. A frame with another word is not compared
    with them.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._all = tuple(rules)
        self._for_text = tuple(rule for rule in rules if rule.conditions.takes_text)
        self._field = _distinguishing_field(rules)
        words = {word for rule in rules for word in _words(rule, self._field) or ()}
        self._by_word = {word: self._possible(word) for word in words}
        self._others = self._possible(None)

    def find(self, message: Any, scope: ReadScope) -> Rule | None:
        """Return the first rule that takes the frame of `scope`; None if no rule takes it."""
        for rule in self._candidates(message, scope):
            if rule.conditions.takes(message, scope):
                return rule
        return None

    def _candidates(self, message: Any, scope: ReadScope) -> tuple[Rule, ...]:
        if not scope.is_json:
            return self._for_text
        if self._field is None or not isinstance(message, dict):
            return self._all
        word = message.get(self._field)
        return self._by_word.get(word, self._others) if isinstance(word, str) else self._others

    def _possible(self, word: str | None) -> tuple[Rule, ...]:
        """Return the rules that may take a message with this word; None: any word that no rule requires."""
        wanted = [(rule, _words(rule, self._field)) for rule in self._all]
        return tuple(rule for rule, words in wanted if words is None or word in words)


def compile_rules(section: Section, names: Vocabulary, *, is_text_only: bool, has_base: bool) -> list[Rule]:
    """Return the rules under `rules` that have no problem."""
    rules = []
    for index, (path, value) in enumerate(section.items("rules", "a list of rules")):
        report = CountingReport(section.report)
        inner = Section.of(value, path, report, "a rule: conditions, and `emit` or `as`")
        if inner is not None:
            _check(inner, has_base=has_base)
            rule = Rule(inner, index, names, is_text_only=is_text_only)
            rule.is_sound = report.count == 0
            rules.append(rule)
    if len(rules) > MAX_RULES:
        section.wrong("rules", f"a dialect may have {MAX_RULES} rules, not {len(rules)}")
    return rules


def _check(section: Section, *, has_base: bool) -> None:
    section.check_keys(RULE_KEYS)
    if "emit" in section and "as" in section:
        section.misplaced("as", "a rule has either `emit` or `as`, not both")
    elif "emit" not in section and "as" not in section:
        section.lacks("a rule needs `emit` or `as`")
    elif "as" in section and not has_base:
        section.misplaced("as", "`as` needs `extends`: it hands a message to the base")
    elif "as_event" in section and "as" not in section:
        section.misplaced("as_event", "`as_event` stands only beside `as`")


def _distinguishing_field(rules: Sequence[Rule]) -> str | None:
    """Return the field in which most rules require a certain word."""
    fields = Counter(
        name
        for rule in rules
        if rule.conditions.match
        for name in rule.conditions.match.fields
        if rule.conditions.match.words(name) is not None
    )
    return fields.most_common(1)[0][0] if fields else None


def _words(rule: Rule, field: str | None) -> frozenset[str] | None:
    """Return the words that a rule allows in a field; None if the rule allows any value."""
    match = rule.conditions.match
    return match.words(field) if match is not None and field is not None else None
