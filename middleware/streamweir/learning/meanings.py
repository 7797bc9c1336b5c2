"""Decides the meaning of every group: the events of its rule, and the doubts about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from streamweir.learning.endings import End, ends_in, error_in, holds_nothing, session_in, usage_in
from streamweir.learning.field_names import ERROR_WORDS, MESSAGE_IDS, plain, words_of
from streamweir.learning.groups import Condition, Group, is_a_name
from streamweir.learning.kinds import Kinds
from streamweir.learning.places import Place
from streamweir.learning.texts import Text, texts_in
from streamweir.learning.tool_use import ToolUse
from streamweir.learning.tools import tools_in
from streamweir.learning.units import Unit, units_of

__all__ = ["Entry", "Meaning", "meanings_of"]

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
"""Types of events that a stream has at most once."""


class Entry(msgspec.Struct):
    """One event of a rule.

    Attributes:
        fields: its type and fields, as written in the rule.
        unit: the records that it is made of.
        places: the places that it reads.
        when: an expression that is true if the event is meant; None if always.
    """

    fields: dict[str, Any]
    unit: Unit
    places: list[Place]
    when: str | None = None


class Meaning(msgspec.Struct):
    """The meaning of one group.

    Attributes:
        group: the messages.
        units: the messages as records, and the items of their lists.
        entries: the events of the rule; empty if the messages were not understood.
        notes: one sentence for each doubt.
        is_idle: the messages have no content.
        repeats: the messages only repeat earlier text.
    """

    group: Group
    units: list[Unit]
    entries: list[Entry] = []
    notes: list[str] = []
    is_idle: bool = False
    repeats: bool = False

    @property
    def types(self) -> list[str]:
        """The types of the events, without duplicates."""
        return [*dict.fromkeys(str(entry.fields["type"]) for entry in self.entries)]


class _Meanings:
    def __init__(self, kinds: Kinds) -> None:
        self.all = [Meaning(group, units_of(group)) for group in kinds.groups]
        self._of = {id(meaning.group): meaning for meaning in self.all}
        self.units = [unit for meaning in self.all for unit in meaning.units]

    def add(
        self, unit: Unit, fields: dict[str, Any], places: Iterable[Place | None], when: str | None = None
    ) -> None:
        used = [place for place in places if place is not None]
        self._of[id(unit.group)].entries.append(Entry(fields, unit, used, when))

    def note(self, group: Group, text: str) -> None:
        notes = self._of[id(group)].notes
        if text not in notes:
            notes.append(text)

    def of(self, group: Group) -> Meaning:
        return self._of[id(group)]


def meanings_of(kinds: Kinds, *, with_ids: bool = True, with_wholes: bool = True) -> list[Meaning]:
    """Return the meaning of each group.

    Args:
        kinds: the sorted frames.
        with_ids: write `message_id` for texts with an id.
        with_wholes: write repetitions of the whole text as `text: whole`; otherwise leave them out.
    """
    found = _Meanings(kinds)
    errors = _errors(found)
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
        _add_text(found, text, with_ids=with_ids, with_wholes=with_wholes)
    for use in tools:
        _add_tool(found, use)
    _add_errors(found, errors)
    _add_ends(found, kinds, texts, tools)
    _add_the_rest(found)
    _note_single(found)
    for meaning in found.all:
        meaning.entries.sort(key=lambda entry: _ORDER[entry.fields["type"]])
    return found.all


def _items(found: _Meanings, use: ToolUse) -> list[Unit]:
    return [unit for unit in found.of(use.unit.group).units if unit is not use.unit]


def _expression(unit: Unit, place: Place) -> str:
    return "${{ " + unit.express(place) + " }}"


# Text


def _add_text(found: _Meanings, text: Text, *, with_ids: bool, with_wholes: bool) -> None:
    series, unit = text.series, text.series.unit
    if text.note:
        found.note(unit.group, text.note)
    if text.how == "again" or (text.how == "whole" and not with_wholes):
        found.of(unit.group).repeats = True
        return
    fields: dict[str, Any] = {"type": text.kind, "content": _expression(unit, series.place)}
    if text.how != "delta":
        fields["text"] = text.how
    message_id = _message_id(unit) if with_ids and text.kind == "content" else None
    if message_id is not None:
        fields["message_id"] = _expression(unit, message_id)
    if not text.is_sure and not text.note:
        found.note(unit.group, "taken for text by the look of it")
    is_mixed = any(not isinstance(value, str) for value in unit.values(series.place))
    is_text = f"type({unit.express(series.place)}) == 'string'" if is_mixed else None
    found.add(unit, fields, (series.place, message_id), _and(series.when, is_text))


def _message_id(unit: Unit) -> Place | None:
    """Return the field with the id of the message: it has far fewer values than there are pieces."""
    for place in sorted(unit.places, key=len):
        if place and isinstance(place[-1], str) and plain(place[-1]) in MESSAGE_IDS:
            values = unit.values(place)
            if all(isinstance(value, str) and value for value in values):
                bodies = len({record.at.body for record, _ in unit.places[place]})
                if len(set(values)) <= bodies or len(set(values)) * 3 <= len(values):
                    return place
    return None


# Tools


def _add_tool(found: _Meanings, use: ToolUse) -> None:
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
            _expression(unit, use.arguments) if use.use == "pieces" and use.arguments else ""
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
            begin = _and(here, f"!({_result(use)})")
        arguments = use.arguments
        fields = _fields(use, tool_id=use.tool_id, tool_name=use.name, arguments=arguments)
        if use.rest:
            fields["arguments"] = _rest(use)
        places = (use.tool_id, use.name, arguments, *use.rest)
        found.add(unit, {"type": "tool_call_start", **fields}, places, begin)
    if use.use == "end" or (use.use == "both" and ends):
        end = _and(here, _result(use)) if use.use == "both" and begins else here
        _add_end(found, use, end)


def _add_end(found: _Meanings, use: ToolUse, when: str | None) -> None:
    unit = use.unit
    names = {"tool_id": use.tool_id} if use.tool_id is not None else {"tool_name": use.name}
    fields = _fields(use, **names, result=use.result, error=use.error, duration_ms=use.duration)
    if use.rest:
        fields["result"] = _rest(use, alone=True)
    places: tuple[Place | None, ...] = (*names.values(), use.result, use.error, use.duration, *use.rest)
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
    found.add(unit, {"type": "tool_call_end", **failing}, places, _and(when, condition))
    found.add(unit, {"type": "tool_call_end", **fields}, places, _and(when, f"!({condition})"))


def _failed(use: ToolUse) -> Condition | None:
    """Return the field and value that mark a failed call; None if no call failed."""
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
    return {name: _expression(use.unit, place) for name, place in places.items() if place is not None}


def _rest(use: ToolUse, *, alone: bool = False) -> Any:
    """Return the fields without a known meaning; a single one without its name if `alone`."""
    if alone and len(use.rest) == 1:
        return _expression(use.unit, use.rest[0])
    return {str(place[-1]): _expression(use.unit, place) for place in use.rest}


def _result(use: ToolUse) -> str:
    places = [place for place in (use.result, use.error) if place is not None]
    given = [
        place for place in places if any(value not in (None, "", [], {}) for value in use.unit.values(place))
    ]
    return " || ".join(use.unit.express(place) for place in given)


def _presence(use: ToolUse) -> str | None:
    """Return an expression that is true for records with a call; None if all records of the unit have one."""
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


def _and(*conditions: str | None) -> str | None:
    given = [condition for condition in conditions if condition]
    if len(given) > 1:
        given = [f"({condition})" if "||" in condition else condition for condition in given]
    return " && ".join(given) or None


# Errors, ends and the rest


def _note_single(found: _Meanings) -> None:
    """Note groups that were seen once, unless their events come once per stream."""
    for meaning in found.all:
        if len(meaning.group.messages) == 1 and not set(meaning.types) <= _ONCE:
            found.note(meaning.group, "seen once")


def _errors(found: _Meanings) -> dict[int, tuple[Place, Place | None]]:
    """Return the place of message and code of each group that reports a failure, by `id()` of the group."""
    errors = {}
    for meaning in found.all:
        unit = meaning.units[0]
        is_named = bool(ERROR_WORDS.intersection(words_of(meaning.group.names)))
        if is_named and not unit.is_about_tools and (error := error_in(unit)) is not None:
            errors[id(meaning.group)] = error
    return errors


def _add_errors(found: _Meanings, errors: dict[int, tuple[Place, Place | None]]) -> None:
    for meaning in found.all:
        unit = meaning.units[0]
        if id(meaning.group) in errors:
            place, code = errors[id(meaning.group)]
            fields: dict[str, Any] = {"type": "error", "message": _expression(unit, place)}
            if code is not None:
                fields["code"] = _expression(unit, code)
            if _goes_on_after(meaning, found):
                fields["terminal"] = False
                found.note(meaning.group, "the run went on after it: taken as no end")
            found.add(unit, fields, (place, code))
        elif not meaning.entries and "warning" in unit.words and (given := _warning(unit)) is not None:
            found.add(unit, {"type": "warning", "message": _expression(unit, given)}, (given,))


def _goes_on_after(failure: Meaning, found: _Meanings) -> bool:
    """Do text or tool calls follow a message that reports a failure?"""
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


def _add_ends(found: _Meanings, kinds: Kinds, texts: list[Text], tools: list[ToolUse]) -> None:
    speaking = {
        at.frame for text in texts if text.how in ("delta", "cumulative") for at, _ in text.series.texts
    }
    speaking |= {record.at.frame for use in tools if use.use not in ("again",) for record, _ in use.records}
    textual = {id(text.series.unit.group) for text in texts if text.how in ("delta", "cumulative")}
    textual |= {id(use.unit.group) for use in tools if use.use != "again"}
    for end in ends_in(kinds.groups, found.units, speaking, textual):
        _add_end_of_stream(found, end, has_mark=bool(kinds.end_marks))


def _add_end_of_stream(found: _Meanings, end: End, *, has_mark: bool) -> None:
    unit = found.of(end.group).units[0]
    if not end.is_sure:
        if has_mark:
            return
        found.note(end.group, "the last message of each body, which says nothing else: taken as an end")
    type_ = "session_end" if end.is_final and not has_mark else "complete"
    found.add(unit, {"type": type_}, (end.place,), end.when)


def _add_the_rest(found: _Meanings) -> None:
    groups = [meaning.group for meaning in found.all]
    first = True
    for meaning in found.all:
        unit = meaning.units[0]
        types = meaning.types
        usage = usage_in(unit)
        if usage and (len(usage) > 1 or "finish_reason" not in usage or types):
            fields = {name: _expression(unit, place) for name, place in usage.items()}
            found.add(unit, {"type": "usage", **fields}, usage.values())
        if first and not types and "session_id" in (ids := session_in(unit)):
            fields = {name: _expression(unit, place) for name, place in ids.items()}
            found.add(unit, {"type": "session_start", **fields}, ids.values())
        first = first and not {"content", "tool_call_start", "tool_call_delta"} & {*meaning.types}
        if not meaning.entries and not meaning.repeats:
            meaning.is_idle = bool(meaning.group.names) and holds_nothing(meaning.group, groups)
