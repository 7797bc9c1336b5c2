"""Separates messages that report a failure from other messages of their group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from streamweir.classification.failure_signs import has_failure_sign
from streamweir.learning.field_names import plain
from streamweir.learning.groups import Condition, Group, Message, is_tool_message
from streamweir.learning.outcome_signs import condition_of, kind_of, may_show_outcome, sign_of
from streamweir.learning.places import Place, places_in

__all__ = ["divided_by_outcome"]


def divided_by_outcome(groups: Sequence[Group]) -> list[Group]:
    """Return the groups, split into failures and other messages, each with conditions for its values."""
    signs = {id(group): _signs_in(group) for group in groups}
    good = {
        place for found in signs.values() for _, given in found for place, (sign, _) in given.items() if sign
    }
    last: dict[int, int] = {}
    for group in groups:
        for message in group.messages:
            last[message.body] = max(message.frame, last.get(message.body, -1))
    return [part for group in groups for part in _divided(group, signs[id(group)], good, last)]


_Signs = list[tuple[Message, dict[Place, tuple[bool | None, Any]]]]


def _signs_in(group: Group) -> _Signs:
    """Return, for each message, the fields that may report success or failure."""
    if group.is_text or group.is_call:
        return []
    if any(map(is_tool_message, group.messages[:3])):
        return []
    found: _Signs = []
    named = group.named_places
    for message in group.messages:
        given: dict[Place, tuple[bool | None, Any]] = {}
        for place, value in places_in(message.value):
            if place not in named and may_show_outcome(place):
                given[place] = (sign_of(str(place[-1]), value), value)
        found.append((message, given))
    return found


def _divided(group: Group, signs: _Signs, good: set[Place], last: dict[int, int]) -> list[Group]:
    failing: dict[Place, list[tuple[Message, Any]]] = {}
    for message, given in signs:
        place = _failing_place(given, good, is_last=message.frame == last[message.body])
        if place is not None:
            failing.setdefault(place, []).append((message, given[place][1]))
    bad = {id(message) for found in failing.values() for message, _ in found}
    rest = [message for message in group.messages if id(message) not in bad]
    parts = [
        replace(
            group,
            messages=[message for message, _ in found],
            conditions=(*group.conditions, condition_of(place, [value for _, value in found])),
            fails=True,
        )
        for place, found in failing.items()
    ]
    if rest:
        conditions = _conditions_of_the_rest(rest, signs, failing)
        parts.append(replace(group, messages=rest, conditions=(*group.conditions, *conditions)))
    return parts


def _failing_place(
    given: dict[Place, tuple[bool | None, Any]], good: set[Place], *, is_last: bool
) -> Place | None:
    """Return the field by which a message reports a failure; flags and codes take precedence over texts."""
    found = [
        place
        for place, (sign, value) in given.items()
        if sign is False or _is_bad_code(place, value, good, is_last=is_last)
    ]
    found.sort(key=lambda place: (not isinstance(given[place][1], bool | int), len(place)))
    return found[0] if found else None


def _is_bad_code(place: Place, value: Any, good: set[Place], *, is_last: bool) -> bool:
    if not isinstance(value, int) or isinstance(value, bool) or value == 0 or 200 <= value < 300:
        return False
    name = plain(place[-1])
    return name.endswith(("code", "errno")) and (
        is_last or place in good or has_failure_sign({"code": value})
    )


def _conditions_of_the_rest(rest: list[Message], signs: _Signs, failing: dict[Place, Any]) -> list[Condition]:
    kept = {id(message) for message in rest}
    own = [given for message, given in signs if id(message) in kept]
    places = dict.fromkeys([*failing, *(place for given in own for place in given)])
    found: list[Condition] = []
    for place in places:
        values = [given[place] for given in own if place in given]
        if not values:
            found.append(Condition(place, None, is_outcome=True))
        elif len(values) == len(own) and all(sign for sign, _ in values):
            found.append(_seen(place, [value for _, value in values]))
        elif all(value is None for _, value in values) and kind_of(str(place[-1])) == "error":
            found.append(Condition(place, None, is_outcome=True))
        elif place in failing:
            found.append(_seen(place, [value for _, value in values]))
    return found


def _seen(place: Place, values: list[Any]) -> Condition:
    if all(value in (None, "", False, 0, [], {}) and not isinstance(value, bool | int) for value in values):
        return Condition(place, None, is_outcome=True)
    return condition_of(place, values)
