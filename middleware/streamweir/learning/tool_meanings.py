"""Writes the entries for tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamweir.learning.field_names import ERROR_WORDS, plain, words_of
from streamweir.learning.found_meanings import FoundMeanings, both, field_value
from streamweir.learning.groups import Condition, is_a_name
from streamweir.learning.places import Place
from streamweir.learning.seen_values import seen_values, shared_values
from streamweir.learning.tool_use import ToolUse

__all__ = ["add_tool"]


def add_tool(found: FoundMeanings, use: ToolUse) -> None:
    """Add the entries for a use of tool calls to the meaning of its group."""
    unit = use.unit
    for note in use.notes:
        found.note(unit.group, note)
    if use.use == "again":
        found.of(unit.group).repeats = True
        return
    here = _presence(use)
    if use.use == "pieces" or use.collects:
        fields = _fields(use, index=use.index, tool_id=use.tool_id, tool_name=use.name)
        fields["arguments_delta"] = (
            field_value(unit, use.arguments) if use.use == "pieces" and use.arguments else ""
        )
        found.add(
            unit,
            {"type": "tool_call_delta", **fields},
            (use.index, use.tool_id, use.name, use.arguments),
            here,
        )
        if use.use == "pieces":
            return
    begins, ends = use.begins_and_ends
    if use.use in ("start", "both") and not use.collects and use.name is not None:
        begin = here
        if use.use == "both" and begins and ends:
            begin = both(here, f"!({_result(use)})")
        arguments = use.arguments
        fields = _fields(use, tool_id=use.tool_id, tool_name=use.name, arguments=arguments)
        if use.rest:
            fields["arguments"] = _rest(use)
        places = (use.tool_id, use.name, arguments, *use.rest)
        found.add(unit, {"type": "tool_call_start", **fields}, places, begin)
    if use.use == "end" or (use.use == "both" and ends):
        end = both(here, _result(use)) if use.use == "both" and begins else here
        _add_end(found, use, end)


def _add_end(found: FoundMeanings, use: ToolUse, when: str | None) -> None:
    unit = use.unit
    names = {"tool_id": use.tool_id} if use.tool_id is not None else {"tool_name": use.name}
    fields = _fields(use, **names, result=use.result, error=use.error, duration_ms=use.duration)
    if use.rest:
        fields["result"] = _rest(use, alone=True)
    places: tuple[Place | None, ...] = (*names.values(), use.result, use.error, use.duration, *use.rest)
    when = _only_seen(found, use, places, when)
    failed = _failed(use)
    if failed is None:
        found.add(unit, {"type": "tool_call_end", **fields}, places, when)
        return
    condition = failed.when("_item" if unit.each is not None else "")
    places = (*places, failed.place)
    error = {"error": fields.get("error") or fields["result"]} if {"error", "result"} & {*fields} else {}
    failing = {
        "status": "failed",
        **{key: value for key, value in fields.items() if key not in ("result", "error")},
        **error,
    }
    found.add(unit, {"type": "tool_call_end", **failing}, places, both(when, condition))
    found.add(unit, {"type": "tool_call_end", **fields}, places, both(when, f"!({condition})"))


def _only_seen(
    found: FoundMeanings, use: ToolUse, places: Iterable[Place | None], when: str | None
) -> str | None:
    """Restrict the end of a call to values that were seen: in the conditions of the rule, if its frames
    have no other meaning.
    """
    unit = use.unit
    ended = [record.value for record, _ in use.records if use.use == "end" or use.has_ended(record)]
    named = {place for place in places if place is not None} | unit.group.named_places
    seen = seen_values(ended, named, shared_values([meaning.group for meaning in found.all], unit.group))
    if unit.each is None and use.use == "end" and len(ended) == len(unit.records):
        found.condition(unit.group, seen)
        return when
    root = "_item" if unit.each is not None else ""
    return both(when, *(condition.when(root) for condition in seen))


def _failed(use: ToolUse) -> Condition | None:
    """Return a condition that is true for failed calls; None if no call failed."""
    for place in sorted(use.unit.places, key=len):
        if place[: len(use.container)] != use.container or not place or not isinstance(place[-1], str):
            continue
        name = plain(place[-1])
        values = use.unit.values(place)
        if name in ("status", "state", "outcome"):
            for value in values:
                if is_a_name(value) and ERROR_WORDS.intersection(words_of([value])):
                    return Condition(place, value)
        if name in ("iserror", "failed", "error") and any(value is True for value in values):
            return Condition(place, value=True)
        if name in ("success", "ok", "succeeded") and any(value is False for value in values):
            return Condition(place, value=False)
    return None


def _fields(use: ToolUse, **places: Place | None) -> dict[str, Any]:
    return {name: field_value(use.unit, place) for name, place in places.items() if place is not None}


def _rest(use: ToolUse, *, alone: bool = False) -> Any:
    """Return the fields without a known meaning; with `alone`, a single field without its name."""
    if alone and len(use.rest) == 1:
        return field_value(use.unit, use.rest[0])
    return {str(place[-1]): field_value(use.unit, place) for place in use.rest}


def _result(use: ToolUse) -> str:
    places = [place for place in (use.result, use.error) if place is not None]
    given = [
        place for place in places if any(value not in (None, "", [], {}) for value in use.unit.values(place))
    ]
    return " || ".join(use.unit.express(place) for place in given)


def _presence(use: ToolUse) -> str | None:
    """Return an expression that is true for records with a call; None if all records have one."""
    unit = use.unit
    with_call = len(use.records)
    if use.container and with_call < len(unit.records):
        return unit.express(use.container)
    for place in (use.name, use.arguments, use.result):
        if use.container or place is None:
            continue
        if sum(1 for value in unit.values(place) if value not in ("", [], {})) == len(unit.records):
            return None
    if use.container or unit.is_about_tools:
        return None
    place = use.name or use.tool_id or use.result
    return unit.express(place) if place is not None else None
