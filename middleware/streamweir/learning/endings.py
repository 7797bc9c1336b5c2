"""Finds the ends of streams, sessions, token counts and errors."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, NamedTuple

from streamweir.learning.field_names import (
    END_WORDS,
    ENUMS,
    ERROR_TEXTS,
    ERROR_WORDS,
    FINISH,
    NO_TEXT,
    SESSION_IDS,
    USAGE,
    plain,
    words_of,
)
from streamweir.learning.groups import Condition, Group, is_a_name, literal
from streamweir.learning.outcome_signs import has_sentence, is_failing_word
from streamweir.learning.places import Parsed, Place, places_in
from streamweir.learning.units import Unit

__all__ = ["End", "ends_in", "error_in", "holds_nothing", "longest_text", "session_in", "usage_in"]

_RUN_IDS: Final = {**SESSION_IDS, "runid": "run_id"}
_CODES: Final = ("code", "errorcode", "errcode", "errortype", "status")
_FINISH_REASONS: Final = ("finishreason", "donereason", "stopreason")
_WEAK_ENDS: Final = frozenset({"final", "answer", "completion", "success", "succeeded", "over"})


class End(NamedTuple):
    """Evidence of the end of a stream.

    Attributes:
        group: the messages that contain it.
        when: an expression that is true for the last message only; None if each body has one such message.
        is_final: no message follows the evidence.
        place: the field that indicates the end.
        is_sure: the name of the message or field says that it is an end.
    """

    group: Group
    when: str | None
    is_final: bool
    place: Place | None = None
    is_sure: bool = True


def ends_in(groups: list[Group], units: Iterable[Unit], speaking: set[int], textual: set[int]) -> list[End]:
    """Return the evidence that a stream has ended.

    Args:
        groups: all kinds of messages.
        units: all records.
        speaking: numbers of the frames that contain text or tool calls.
        textual: `id()` of the groups that carry text or tool calls.
    """
    last_spoken: dict[int, int] = {}
    last: dict[int, int] = {}
    for group in groups:
        for message in group.messages:
            last[message.body] = max(message.frame, last.get(message.body, -1))
            if message.frame in speaking:
                last_spoken[message.body] = max(message.frame, last_spoken.get(message.body, -1))
    named = [end for group in groups if (end := _named_end(group, last, last_spoken, textual)) is not None]
    flags = [
        end
        for unit in units
        if unit.each is None
        and not unit.group.fails
        and (end := _flag(unit, last_spoken)) is not None
        and not any(end.group is other.group for other in named)
    ]
    final = [end for end in named if end.is_final]
    return (
        final or [*named, *flags] or [end for group in groups if (end := _silent_end(group, last, textual))]
    )


def _named_end(
    group: Group, last: dict[int, int], last_spoken: dict[int, int], textual: set[int]
) -> End | None:
    """Find messages that are named like `done`, come once in a body, without text or tool call after them."""
    words = END_WORDS.intersection(group.words)
    if not words or group.fails or set(group.words) & ERROR_WORDS or _appears_twice(group):
        return None
    bodies = {message.body: message.frame for message in group.messages}
    if any(frame < last_spoken.get(body, -1) for body, frame in bodies.items()):
        return None
    is_last = all(frame == last[body] for body, frame in bodies.items())
    if id(group) not in textual:
        return End(group, None, is_final=is_last)
    return End(group, None, is_final=bool(words - _WEAK_ENDS)) if is_last else None


def _appears_twice(group: Group) -> bool:
    bodies = [message.body for message in group.messages]
    return len(bodies) != len(set(bodies))


def _flag(unit: Unit, last_spoken: dict[int, int]) -> End | None:
    """Find a field that is true, not empty, or a word such as `completed`, only at the end of a body."""
    found: list[tuple[int, End]] = []
    for place, values in unit.places.items():
        if not place or not isinstance(place[-1], str) or place in unit.group.named_places:
            continue
        name = plain(place[-1])
        if name in FINISH:
            given = [(record.at, value) for record, value in values if value not in (False, "", 0, [], {})]
            if given and all(at.frame >= last_spoken.get(at.body, -1) for at, _ in given):
                if all(isinstance(value, bool | str | int) for _, value in given):
                    when = _when_seen(unit, place, [value for _, value in given])
                    found.append((len(place), End(unit.group, when, is_final=False, place=place)))
            elif given and (word := _last_word(given, last_spoken)) is not None:
                when = f"{unit.express(place)} == {literal(word)}"
                found.append((len(place) + 1, End(unit.group, when, is_final=False, place=place)))
        elif name in ENUMS:
            given = [(record.at, value) for record, value in values]
            word = _last_word(given, last_spoken)
            if word is not None and END_WORDS.intersection(words_of([word])):
                when = f"{unit.express(place)} == {literal(word)}"
                found.append((len(place) + 10, End(unit.group, when, is_final=False, place=place)))
    return min(found, key=lambda one: one[0])[1] if found else None


def _when_seen(unit: Unit, place: Place, values: list[Any]) -> str:
    """Return an expression that is true for the values that a field had at the end, except in failures."""
    seen = [*dict.fromkeys(value for value in values if not is_failing_word(value))]
    if not all(isinstance(value, bool | int) or is_a_name(value) for value in seen):
        return unit.express(place)
    root = "" if unit.each is None else "_item"
    value = seen[0] if len(seen) == 1 else tuple(seen)
    return Condition(place, value).when(root) if seen else f"{unit.express(place)} == null"


def _last_word(given: list[Any], last_spoken: dict[int, int]) -> str | None:
    """Return the word that a field has after the last text and never before it; None if there is none."""
    after = {str(value) for at, value in given if at.frame >= last_spoken.get(at.body, -1)}
    before = {str(value) for at, value in given if at.frame < last_spoken.get(at.body, -1)}
    words = [value for value in after if is_a_name(value) and value not in before]
    return str(words[0]) if len(words) == 1 and len(after) == 1 else None


def _silent_end(group: Group, last: dict[int, int], textual: set[int]) -> End | None:
    """Find a group that contains the last message of bodies and has no other meaning."""
    bodies = {message.body: message.frame for message in group.messages}
    if (
        group.fails
        or _appears_twice(group)
        or id(group) in textual
        or group.label == "message"
        or set(group.words) & ERROR_WORDS
    ):
        return None
    if any(frame != last[body] for body, frame in bodies.items()):
        return None
    quiet = [message for message in group.messages if not has_sentence(message.value)]
    is_empty = bool(quiet) and holds_nothing(replace(group, messages=quiet), [group])
    return End(group, None, is_final=False, is_sure=False) if is_empty else None


def holds_nothing(group: Group, others: Iterable[Group]) -> bool:
    """Return whether messages contain only a name, ids, times and fields that all messages have."""
    shared = _pairs(other for other in others if other is not group)
    for unit_place, value in _leaves(group):
        if unit_place in group.named_places or value in (None, "", [], {}) or isinstance(value, bool):
            continue
        name = plain(unit_place[-1]) if unit_place and isinstance(unit_place[-1], str) else ""
        is_idle = (name in NO_TEXT and name != "name") or name.endswith(("id", "time", "at", "timestamp"))
        is_idle = is_idle or name in ("t", "n", "i", "ts", "version", "v", "no", "num", "number", "ms")
        if is_idle and not (isinstance(value, str) and " " in value.strip()):
            continue
        if (unit_place, str(value)) not in shared:
            return False
    return True


def _leaves(group: Group) -> list[tuple[Place, Any]]:
    """Return the places and values in the messages of a group, without objects that have fields."""
    return [
        (place, value)
        for message in group.messages
        for place, value in places_in(message.value)
        if not (isinstance(value, dict) and value)
    ]


def _pairs(groups: Iterable[Group]) -> set[tuple[Place, str]]:
    return {(place, str(value)) for group in groups for place, value in _leaves(group)}


# Sessions, tokens, errors


def session_in(unit: Unit) -> dict[str, Place]:
    """Return the places of the ids of session, thread and run."""
    found: dict[str, Place] = {}
    for place in sorted(unit.places, key=len):
        if not place or not isinstance(place[-1], str) or any(isinstance(step, Parsed) for step in place):
            continue
        target = _RUN_IDS.get(plain(place[-1]))
        values = unit.values(place)
        if target and target not in found and all(isinstance(value, str | int) and value for value in values):
            found[target] = place
    return found


def usage_in(unit: Unit) -> dict[str, Place]:
    """Return the places of token counts and of the finish reason."""
    found: dict[str, Place] = {}
    for place in sorted(unit.places, key=len):
        if not place or not isinstance(place[-1], str):
            continue
        name = plain(place[-1])
        values = unit.values(place)
        target = USAGE.get(name)
        if target and target not in found and all(isinstance(value, int) for value in values):
            found[target] = place
        is_reason = name in _FINISH_REASONS and any(isinstance(value, str) and value for value in values)
        if is_reason and "finish_reason" not in found:
            found["finish_reason"] = place
    return found


def error_in(unit: Unit) -> tuple[Place, Place | None] | None:
    """Return the places of the message and the code of a failure; None if the records report no failure."""
    is_named = bool(ERROR_WORDS.intersection(unit.words))
    fields = [place for place in sorted(unit.places, key=len) if place and isinstance(place[-1], str)]
    failures = [place for place in fields if ERROR_WORDS.intersection(words_of([place[-1]]))]
    if not is_named and not failures:
        return None
    for name in ERROR_TEXTS:
        for place in fields:
            is_there = is_named or any(place[: len(failure)] == failure for failure in failures)
            texts = [value for value in unit.values(place) if value != ""]
            if (
                is_there
                and plain(place[-1]) == name
                and texts
                and all(isinstance(text, str) for text in texts)
            ):
                return place, _code(unit, fields, place)
    if is_named and () in unit.places and all(isinstance(value, str) for value in unit.values(())):
        return (), None
    return None


def longest_text(unit: Unit) -> Place | None:
    """Return the field with the longest text for people; None if no field has such a text."""
    found = [
        (max(len(value) for value in texts), place)
        for place in unit.places
        if (
            texts := [value for value in unit.values(place) if isinstance(value, str) and has_sentence(value)]
        )
    ]
    return max(found, key=lambda one: one[0])[1] if found else None


def _code(unit: Unit, fields: list[Place], text: Place) -> Place | None:
    for name in _CODES:
        for place in fields:
            values = unit.values(place)
            is_code = all(
                isinstance(value, int) or (isinstance(value, str) and re.fullmatch(r"[\w.-]{1,60}", value))
                for value in values
            )
            if plain(place[-1]) == name and place[:-1] == text[:-1] and is_code:
                return place if place not in unit.group.named_places else None
    return None
