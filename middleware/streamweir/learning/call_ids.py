"""Finds the fields that identify a tool call."""

from __future__ import annotations

from typing import Any

from streamweir.learning.field_names import CALL_IDS, MESSAGE_IDS, SESSION_IDS, plain
from streamweir.learning.places import Place
from streamweir.learning.tool_use import ToolUse
from streamweir.learning.units import Unit

__all__ = ["find_ids"]


def find_ids(uses: list[ToolUse], units: list[Unit]) -> None:
    """Find the id field: all records of a call have one value in it, different calls different values."""
    options = {id(use): _possible_ids(use) for use in uses}
    ids_of_others = _ids_outside(uses, units)
    for use in uses:
        best: tuple[float, Place] | None = None
        for place, values in options[id(use)].items():
            score = _id_score(use, place, values, uses, options, ids_of_others)
            if score > 0 and (best is None or score > best[0]):
                best = (score, place)
        use.tool_id = best[1] if best else None


def _possible_ids(use: ToolUse) -> dict[Place, list[str]]:
    found: dict[Place, list[str]] = {}
    for place in use.unit.places:
        if not place or not isinstance(place[-1], str) or place in (use.name, use.arguments, use.result):
            continue
        name = plain(place[-1])
        if not (name in CALL_IDS or name.endswith("id")):
            continue
        values = [value for value in use.unit.values(place) if _can_be_id(value)]
        if values:
            found[place] = [str(value) for value in values]
    return found


def _can_be_id(value: Any) -> bool:
    return (isinstance(value, str) and 0 < len(value) <= 200) or (
        isinstance(value, int) and not isinstance(value, bool)
    )


def _ids_outside(uses: list[ToolUse], units: list[Unit]) -> set[str]:
    """Return the ids of sessions, runs and answers, which are values that other messages contain too."""
    own = {id(use.unit.group) for use in uses}
    return {
        str(value)
        for unit in units
        if id(unit.group) not in own
        for place in unit.places
        if place and isinstance(place[-1], str)
        for value in unit.values(place)
        if _can_be_id(value)
    }


def _id_score(
    use: ToolUse,
    place: Place,
    values: list[str],
    uses: list[ToolUse],
    options: dict[int, dict[Place, list[str]]],
    outside: set[str],
) -> float:
    name = plain(place[-1])
    rank = CALL_IDS.index(name) if name in CALL_IDS else len(CALL_IDS) + 5
    is_inside = place[: len(use.container)] == use.container
    if name in SESSION_IDS or name in MESSAGE_IDS:
        rank += 20
    if set(values) & outside and not (name in CALL_IDS[:8] and is_inside):
        return 0
    shared = 0
    for other in uses:
        if other is use:
            continue
        if any(set(values) & set(theirs) for theirs in options[id(other)].values()):
            shared += 1
    calls = _calls_at_least(use)
    if calls > 1 and len(set(values)) < min(calls, len(values)):
        return 0
    if not shared and len(uses) > 1 and _has_partner(use, uses):
        return 0
    if not shared and name not in CALL_IDS[:10] and not (name == "id" and len(place) > 1):
        return 0
    return 100 * shared + 50 * is_inside + 40 - rank


def _has_partner(use: ToolUse, uses: list[ToolUse]) -> bool:
    return any(other is not use and {use.use, other.use} == {"start", "end"} for other in uses)


def _calls_at_least(use: ToolUse) -> int:
    """Return the least possible number of calls, counted by their names."""
    names = {str(use.value(record, use.name)) for record, _ in use.records if use.value(record, use.name)}
    return len(names)
