"""Makes the keys of a dialect from the meanings of the messages."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final, NamedTuple

from streamweir.learning.found_meanings import Entry, Meaning
from streamweir.learning.groups import Condition, Group
from streamweir.learning.kinds import Kinds
from streamweir.learning.places import Place, expression, value_at
from streamweir.learning.questions import Question

__all__ = ["Draft", "conditions_of", "draft_of"]

_NAMED_BY: Final = ("type", "event", "kind")
NO_END: Final = Question("terminal", "no end was seen: is a run over, and well, when the body ends?")
"""The question that is asked if only the end of the body ends a stream."""

_ENDS: Final = frozenset({"session_end", "complete"})


class Draft(NamedTuple):
    """A learned dialect that has not been tried yet.

    Attributes:
        dialect: the keys.
        comments: the comments, by the index of a rule or the name of another key; each is written above it.
        rules: for each rule, the meaning that it was made from.
        ignored: meanings of messages without content.
        custom: meanings of messages that were not understood.
        unsure: the questions that are left open.
    """

    dialect: dict[str, Any]
    comments: dict[str | int, list[str]]
    rules: list[Meaning]
    ignored: list[Meaning]
    custom: list[Meaning]
    unsure: list[Question]

    def without_rules(self, numbers: set[int]) -> Draft:
        """Return the draft without some of its rules; frames of these rules then become `custom`."""
        kept = [number for number in range(len(self.rules)) if number not in numbers]
        comments: dict[str | int, list[str]] = {}
        comments |= {key: texts for key, texts in self.comments.items() if isinstance(key, str)}
        comments |= {
            place: self.comments[number] for place, number in enumerate(kept) if number in self.comments
        }
        left = [self.rules[number] for number in sorted(numbers)]
        dialect = {**self.dialect, "rules": [self.dialect["rules"][number] for number in kept]}
        _add_end(dialect, [self.rules[number] for number in kept], comments)
        return self._replace(
            dialect=dialect,
            comments=comments,
            rules=[self.rules[number] for number in kept],
            custom=[*self.custom, *left],
            unsure=[*self.unsure, *_ask_about(left, comments)],
        )


def draft_of(meanings: list[Meaning], kinds: Kinds, framing: str, unwrap: str | None) -> Draft:
    """Return the dialect that reads these messages."""
    used = _uses_of_names(kinds)
    ignored = [meaning for meaning in meanings if meaning.is_idle and _word(meaning.group, used)]
    given = [meaning for meaning in meanings if meaning.entries or meaning.repeats or meaning.is_idle]
    ruled = [meaning for meaning in given if meaning not in ignored]
    ruled.sort(key=lambda meaning: meaning.group.is_text and meaning.group.prefix is None)
    custom = [meaning for meaning in meanings if meaning not in given]
    comments: dict[str | int, list[str]] = {}
    rules: list[dict[str, Any]] = []
    for number, meaning in enumerate(ruled):
        rules.append(_rule(meaning, all_text=kinds.is_text))
        remarks = list(meaning.notes)
        if not meaning.entries:
            remarks.append("repeats earlier text" if meaning.repeats else "holds nothing")
        if remarks:
            comments[number] = remarks
    dialect: dict[str, Any] = {"framing": framing}
    if kinds.is_text:
        dialect["data"] = "text"
    if unwrap is not None:
        dialect["unwrap"] = unwrap
    words = [*kinds.idle, *(word for meaning in ignored if (word := _word(meaning.group, used)))]
    if words:
        dialect["ignore"] = list(dict.fromkeys(words))
    dialect["rules"] = rules
    if kinds.end_marks:
        dialect["terminal"] = [*kinds.end_marks]
    _add_end(dialect, ruled, comments)
    unsure = _unsure(ruled, custom, comments)
    if kinds.left_out:
        count = len(kinds.left_out)
        unsure.append(
            Question("rules", f"there are {count} more kinds of frames, left to `custom`: do they matter?")
        )
    return Draft(dialect, comments, ruled, ignored, custom, unsure)


def _add_end(dialect: dict[str, Any], rules: list[Meaning], comments: dict[str | int, list[str]]) -> None:
    """Let the end of the body end the stream, if no other end was seen."""
    ends = any(_ENDS & {*meaning.types} for meaning in rules)
    if not ends and "terminal" not in dialect:
        dialect["terminal"] = ["eof"]
        comments["terminal"] = [NO_END.question]


def _unsure(
    ruled: list[Meaning], custom: list[Meaning], comments: dict[str | int, list[str]]
) -> list[Question]:
    found = [Question(meaning.group.label, note) for meaning in ruled for note in meaning.notes]
    found += _ask_about(custom, comments)
    return [*found, NO_END] if NO_END.question in comments.get("terminal", ()) else found


def _ask_about(custom: list[Meaning], comments: dict[str | int, list[str]]) -> list[Question]:
    """Return the questions about frames that no rule takes, and write them as comments above the rules."""
    found = [
        Question(meaning.group.label, note)
        for meaning in custom
        for note in (meaning.notes or [f"`{meaning.group.label}` was not understood: what does it say?"])
    ]
    if found:
        above = comments.setdefault("rules", [])
        above += [question.question for question in found if question.question not in above]
    return found


def _word(group: Group, used: Counter[str | None]) -> str | None:
    """Return the name of these frames; None if frames of another group have that name too."""
    names = _frame_names(group)
    if len(names) != 1 or group.is_text or group.prefix is not None:
        return None
    (name,) = names
    return None if name is None or used[name] > 1 else name


def _uses_of_names(kinds: Kinds) -> Counter[str | None]:
    """Return the number of groups in which each name of a frame occurs."""
    return Counter(name for group in (*kinds.groups, *kinds.left_out) for name in _frame_names(group))


def _frame_names(group: Group) -> set[str | None]:
    return {_frame_name(message.event, message.value) for message in group.messages}


def _frame_name(event: str | None, value: Any) -> str | None:
    if event not in (None, "message"):
        return event
    fields = value if isinstance(value, dict) else {}
    return next((fields[key] for key in _NAMED_BY if isinstance(fields.get(key), str)), None)


# Rules


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Return the union of two sets of conditions."""
    when = [rule["when"] for rule in (one, other) if "when" in rule]
    both = {**one, **other}
    if len(when) > 1:
        both["when"] = " && ".join(f"({text})" for text in when)
    return both


def _rule(meaning: Meaning, *, all_text: bool) -> dict[str, Any]:
    group = meaning.group
    rule = conditions_of(group, all_text=all_text)
    is_named = group.event is not None or group.prefix is not None or group.is_text
    if not is_named and all(condition.is_outcome for condition in group.conditions):
        rule = _both(_presence(meaning), rule)
    rule["emit"] = _emit(meaning)
    return rule


def conditions_of(group: Group, *, all_text: bool = False) -> dict[str, Any]:
    """Return the conditions of the rule that takes the messages of a group."""
    rule: dict[str, Any] = {}
    if group.prefix is not None:
        found = [condition.at(group.root(condition.place)) for condition in group.conditions]
        return {"prefix": group.prefix, **({"when": " && ".join(found)} if found else {})}
    if group.event is not None:
        rule["event"] = group.event
    match: dict[str, Any] = {}
    lacks: list[str] = []
    when: list[str] = ["type(@) != 'object'"] if group.is_text and not all_text else []
    for condition in group.conditions:
        if condition.value is None and not _is_ever_false(condition, group) and condition.can_be_matched:
            lacks.append(expression(condition.place))
        elif condition.value is not None and condition.can_be_matched and _put(match, condition):
            continue
        else:
            when.append(
                condition.when() if condition.value is not None else f"!({expression(condition.place)})"
            )
    if match:
        rule["match"] = match
    if lacks:
        rule["lacks"] = lacks[0] if len(lacks) == 1 else lacks
    if when:
        rule["when"] = " && ".join(when)
    return rule


def _is_ever_false(condition: Condition, group: Group) -> bool:
    return any(value_at(message.value, condition.place) is not None for message in group.messages)


def _put(match: dict[str, Any], condition: Condition) -> bool:
    """Add a condition to a `match`; return False if a `match` cannot express it."""
    *steps, last = condition.place
    for step in steps:
        inner: Any = match.setdefault(str(step), {})
        if not isinstance(inner, dict):
            return False
        match = inner
    if str(last) in match:
        return False
    match[str(last)] = list(condition.value) if isinstance(condition.value, tuple) else condition.value
    return True


def _presence(meaning: Meaning) -> dict[str, Any]:
    """Return conditions for messages without a name: the fields that the rule reads must be present."""
    unit = meaning.units[0]
    tops: dict[Place, None] = {}
    for entry in meaning.entries:
        places = [entry.unit.each] if entry.unit.each is not None else entry.places
        for place in places:
            tops[place] = None
    if not tops or () in tops:
        return {}
    common = min(tops, key=len)
    while common and not all(top[: len(common)] == common for top in tops):
        common = common[:-1]
    for place in [common[:length] for length in range(len(common), 0, -1)]:
        if all(value_at(record.value, place) is not None for record in unit.records):
            return {"has": expression(place)}
    if len(tops) == 1:
        return {"has": expression(next(iter(tops)))}
    given = dict.fromkeys(expression(place) for place in tops)
    return {"when": f"not_null({', '.join(given)}) != null"}


def _emit(meaning: Meaning) -> Any:
    found: list[dict[str, Any]] = []
    blocks: dict[Place, list[dict[str, Any]]] = {}
    for entry in meaning.entries:
        if entry.unit.each is None:
            found.append(_written(entry, entry.when))
        elif entry.unit.each in blocks:
            blocks[entry.unit.each].append(_item(entry))
        else:
            items = blocks[entry.unit.each] = [_item(entry)]
            found.append({"each": expression(entry.unit.each), "emit": items})
    for block in found:
        if "each" in block and len(block["emit"]) == 1:
            block["emit"] = block["emit"][0]
    return found[0] if len(found) == 1 else found


def _item(entry: Entry) -> dict[str, Any]:
    conditions = [condition for condition in (entry.unit.when, entry.when) if condition]
    return _written(entry, " && ".join(conditions) or None)


def _written(entry: Entry, when: str | None) -> dict[str, Any]:
    fields = dict(entry.fields)
    type_ = fields.pop("type")
    return {"type": type_, **({"when": when} if when else {}), **fields}
