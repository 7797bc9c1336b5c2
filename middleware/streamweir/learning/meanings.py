"""Decides the meaning of every group: the events of its rule, and the open questions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamweir.learning.endings import (
    End,
    ends_in,
    error_in,
    holds_nothing,
    longest_text,
    session_in,
    usage_in,
)
from streamweir.learning.field_names import END_WORDS, plain
from streamweir.learning.found_meanings import FoundMeanings, Meaning, both, field_value
from streamweir.learning.groups import Condition, Group
from streamweir.learning.kinds import Kinds
from streamweir.learning.outcome_signs import has_sentence, is_failing_word
from streamweir.learning.places import Place, value_at
from streamweir.learning.seen_values import seen_values, shared_values
from streamweir.learning.text_meanings import add_text
from streamweir.learning.texts import Text, texts_in
from streamweir.learning.tool_meanings import add_tool
from streamweir.learning.tool_use import ToolUse
from streamweir.learning.tools import tools_in
from streamweir.learning.units import Record, Unit

__all__ = ["meanings_of"]

_ORDER: Final = {
    name: rank
    for rank, name in enumerate(
        (
            *("session_start", "thinking", "content", "tool_call_delta", "tool_call_start", "tool_call_end"),
            *("warning", "error", "usage", "complete", "session_end"),
        )
    )
}


_ONCE: Final = frozenset({"session_start", "usage", "complete", "session_end"})
"""Types of events that occur at most once in a stream."""


def meanings_of(kinds: Kinds) -> list[Meaning]:
    """Return the meaning of each group of the sorted frames."""
    found = FoundMeanings(kinds)
    errors = _errors(found)
    found.failed_bodies = {
        message.body
        for meaning in found.all
        if id(meaning.group) in errors
        for message in meaning.group.messages
    }
    tools = [use for use in tools_in(found.units) if id(use.unit.group) not in errors]
    taken = {(id(use.unit), use.container) for use in tools}
    taken |= {(id(meaning.units[0]), ()) for meaning in found.all if id(meaning.group) in errors}
    taken |= {
        (id(unit), ())
        for use in tools
        if use.container == () and use.unit.each is None
        for unit in _items(found, use)
    }
    texts = texts_in(found.units, taken)
    for text in texts:
        add_text(found, text)
    for use in tools:
        add_tool(found, use)
    _add_errors(found, errors)
    _add_ends(found, kinds, texts, tools)
    _add_the_rest(found)
    _note_single(found)
    for meaning in found.all:
        meaning.entries.sort(key=lambda entry: _ORDER[entry.fields["type"]])
    return found.all


def _items(found: FoundMeanings, use: ToolUse) -> list[Unit]:
    return [unit for unit in found.of(use.unit.group).units if unit is not use.unit]


# Errors, ends and the rest


def _note_single(found: FoundMeanings) -> None:
    """Add a question about groups that were seen only once, unless their events occur once per stream."""
    for meaning in found.all:
        if len(meaning.group.messages) == 1 and not set(meaning.types) <= _ONCE:
            found.note(meaning.group, f"`{meaning.group.label}` was seen once: is it always like this?")


def _errors(found: FoundMeanings) -> dict[int, tuple[Place | None, Place | None]]:
    """Return the places of message and code for each group that reports a failure, by its `id()`."""
    errors: dict[int, tuple[Place | None, Place | None]] = {}
    for meaning in found.all:
        unit, group = meaning.units[0], meaning.group
        is_named = any(map(is_failing_word, group.names))
        if group.fails or (is_named and not unit.is_about_tools):
            error = error_in(unit)
            if error is not None:
                errors[id(group)] = error
            elif (text := longest_text(unit)) is not None or group.fails:
                errors[id(group)] = (text, None)
    return errors


def _add_errors(found: FoundMeanings, errors: dict[int, tuple[Place | None, Place | None]]) -> None:
    for meaning in found.all:
        unit = meaning.units[0]
        if id(meaning.group) in errors:
            place, code = errors[id(meaning.group)]
            fields: dict[str, Any] = {"type": "error"}
            if place is not None:
                fields["message"] = field_value(unit, place)
            if code is not None:
                fields["code"] = field_value(unit, code)
            if END_WORDS.intersection(meaning.group.words):
                fields = {"type": "session_end", "status": "error"}
            elif _goes_on_after(meaning, found):
                fields["terminal"] = False
                found.note(meaning.group, "the run went on after this failure: is that always so?")
            found.add(unit, fields, (place, code))
        elif not meaning.entries and "warning" in unit.words and (given := _warning(unit)) is not None:
            found.add(unit, {"type": "warning", "message": field_value(unit, given)}, (given,))


def _goes_on_after(failure: Meaning, found: FoundMeanings) -> bool:
    """Return whether text or tool calls follow a message that reports a failure."""
    return any(
        message.frame < other.frame and message.body == other.body
        for meaning in found.all
        if meaning.entries
        for other in meaning.group.messages
        for message in failure.group.messages
    )


def _warning(unit: Unit) -> Place | None:
    for place in sorted(unit.places, key=len):
        is_named = bool(place) and plain(place[-1]) in ("message", "msg", "text", "content", "detail")
        if is_named and all(isinstance(value, str) for value in unit.values(place)):
            return place
    return None


def _add_ends(found: FoundMeanings, kinds: Kinds, texts: list[Text], tools: list[ToolUse]) -> None:
    speaking = {
        at.frame for text in texts if text.how in ("delta", "cumulative") for at, _ in text.series.texts
    }
    speaking |= {record.at.frame for use in tools if use.use not in ("again",) for record, _ in use.records}
    textual = {id(text.series.unit.group) for text in texts if text.how in ("delta", "cumulative")}
    textual |= {id(use.unit.group) for use in tools if use.use != "again"}
    for end in ends_in(kinds.groups, found.units, speaking, textual):
        _add_end_of_stream(found, end, has_mark=bool(kinds.end_marks))


def _add_end_of_stream(found: FoundMeanings, end: End, *, has_mark: bool) -> None:
    unit = found.of(end.group).units[0]
    if not end.is_sure:
        if has_mark:
            return
        found.note(end.group, "this is the last message of each body, and says nothing else: is it the end?")
    type_ = "session_end" if end.is_final and not has_mark else "complete"
    group, when = end.group, end.when
    if when is None:
        failed = set(found.failed_bodies)
        if not end.is_sure:
            failed |= {message.body for message in group.messages if has_sentence(message.value)}
        good = [message for message in group.messages if message.body not in failed]
        bad = [message.value for message in group.messages if message.body in failed]
        kept = good or group.messages
        seen = _seen_values(found, unit, [message.value for message in kept], bad if good else ())
        if not end.is_sure and not _exclude_sentences(group, seen):
            return
        found.condition(group, seen)
    else:
        ends = [record.value for record in unit.records if _is_end(end, record)]
        seen = [one for one in _seen_values(found, unit, ends) if one.place != end.place]
        when = both(when, *(one.at(unit.express(one.place)) for one in seen))
    found.add(unit, {"type": type_}, (end.place,), when)


def _exclude_sentences(group: Group, conditions: list[Condition]) -> bool:
    """Return whether the conditions exclude all messages with a text for people, such as a failure's."""
    spoken = [message.value for message in group.messages if has_sentence(message.value)]
    return all(any(not one.holds_for(value) for one in conditions) for value in spoken)


def _is_end(end: End, record: Record) -> bool:
    return end.place is None or value_at(record.value, end.place) not in (None, False, "", 0, [], {})


def _seen_values(
    found: FoundMeanings, unit: Unit, messages: list[Any], failed: Sequence[Any] = ()
) -> list[Condition]:
    group = unit.group
    others = [meaning.group for meaning in found.all]
    named = {condition.place for condition in group.conditions}
    named |= {place for entry in found.of(group).entries for place in entry.places}
    return seen_values(messages, named, shared_values(others, group), failed)


def _add_the_rest(found: FoundMeanings) -> None:
    groups = [meaning.group for meaning in found.all]
    first = True
    for meaning in found.all:
        unit = meaning.units[0]
        types = meaning.types
        usage = usage_in(unit)
        if usage and (len(usage) > 1 or "finish_reason" not in usage or types):
            fields = {name: field_value(unit, place) for name, place in usage.items()}
            found.add(unit, {"type": "usage", **fields}, usage.values())
        if first and not types and "session_id" in (ids := session_in(unit)):
            fields = {name: field_value(unit, place) for name, place in ids.items()}
            found.add(unit, {"type": "session_start", **fields}, ids.values())
        first = first and not {"content", "tool_call_start", "tool_call_delta"} & {*meaning.types}
        if not meaning.entries and not meaning.repeats:
            meaning.is_idle = bool(meaning.group.names) and holds_nothing(meaning.group, groups)
