"""Finds tool calls: the records that describe them, and the meaning of their fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from streamweir.learning.argument_pieces import find_pieces, has_arguments
from streamweir.learning.call_ids import find_ids
from streamweir.learning.call_lifetimes import drop_repetitions, key_set, resolve_lifetimes
from streamweir.learning.field_names import (
    ARGUMENTS,
    CALL_IDS,
    DURATIONS,
    ERROR_WORDS,
    NO_TEXT,
    PIECES,
    RESULT_WORDS,
    RESULTS,
    SESSION_IDS,
    START_WORDS,
    TOOL,
    TOOL_NAMES,
    TOOL_WORDS,
    VAGUE_RESULTS,
    plain,
    words_of,
)
from streamweir.learning.foreign_words import english
from streamweir.learning.places import Parsed, Place
from streamweir.learning.tool_use import ToolUse, Use, fields_of_a_call, is_number, words_of_use
from streamweir.learning.units import Unit

__all__ = ["tools_in"]

_DESCRIPTIONS: Final = frozenset(
    {"description", "label", "display", "displayname", "message", "text", "step"}
)
_NAMES_OF_CALLS: Final = frozenset({*CALL_IDS[:7], "toolname", "functionname"})
_LONGEST_NAME: Final = 80
_DEEPEST: Final = 3


def tools_in(units: Iterable[Unit]) -> list[ToolUse]:
    """Return the uses of tool calls in the order of the stream."""
    units = [*units]
    uses = [use for unit in units for use in _uses_in(unit)]
    uses = [use for use in uses if use.use != "nothing"]
    uses.sort(key=lambda use: use.records[0][0].at)
    find_ids(uses, units)
    find_pieces(uses)
    _find_answers(uses)
    resolve_lifetimes(uses)
    drop_repetitions(uses)
    for use in uses:
        _find_rest(use)
    return uses


def _find_answers(uses: list[ToolUse]) -> None:
    """Mark records as results if they name a call that has begun before, and have content."""
    for place, use in enumerate(uses):
        if use.use != "start" or use.tool_id is None or has_arguments(use) or use.collects:
            continue
        begun = [other for other in uses[:place] if other.use in ("start", "both", "pieces")]
        if any(key_set(use) <= key_set(other) for other in begun):
            inside = fields_of_a_call(use.unit, use.container)
            result = _pick(use.unit, inside, VAGUE_RESULTS, _is_something, but={use.name, use.tool_id})
            if result is not None:
                use.use, use.result, use.arguments = "end", result, None


def _find_rest(use: ToolUse) -> None:
    """Use the remaining fields as arguments or results, if no field has such a name."""
    lacks_result = use.use == "end" and use.result is None and use.error is None
    lacks_arguments = use.use == "start" and use.arguments is None and not use.collects
    if not (lacks_result or lacks_arguments):
        return
    names = {*TOOL_NAMES, *CALL_IDS, *DURATIONS} if lacks_result else _DESCRIPTIONS | {*TOOL_NAMES, *CALL_IDS}
    for place in fields_of_a_call(use.unit, use.container):
        name = plain(place[-1])
        is_inner = any(place[: len(other)] == other for other in use.rest)
        is_known = name in names or name in NO_TEXT or name.endswith("id") or name in SESSION_IDS
        values = [value for value in use.unit.values(place) if value not in ("", [], {})]
        if values and not is_inner and not is_known and place not in (use.name, use.tool_id):
            use.rest.append(place)
    if use.rest:
        what = "result" if lacks_result else "arguments"
        use.notes.append(f"no field is named like the {what}: are the other fields the {what}?")


# The place of a call, and its fields


def _uses_in(unit: Unit) -> list[ToolUse]:
    """Return the uses of a unit: one call per record, or several in separate fields."""
    found: list[ToolUse] = []
    for container, is_named in _containers(unit):
        is_apart = container and not any(_overlap(container, use.container) for use in found)
        if found and not (is_apart and is_named):
            continue
        use = _fields(unit, container, is_named=is_named)
        if use is not None:
            found.append(use)
    return found


def _overlap(one: Place, other: Place) -> bool:
    common = min(len(one), len(other))
    return one[:common] == other[:common]


def _containers(unit: Unit) -> Iterator[tuple[Place, bool]]:
    """Yield each place that may contain a call, with whether the name of the place indicates it."""
    objects = [
        place
        for place, found in unit.places.items()
        if place
        and all(isinstance(value, dict | str) for _, value in found)
        and any(isinstance(value, dict) and value for _, value in found)
    ]
    objects.sort(key=len)
    is_about = unit.is_about_tools
    for place in objects:
        last = place[-1]
        if isinstance(last, str) and (
            _is_tool_key(last) or _holds_result(place, unit) or _looks_like_a_call(place, unit)
        ):
            yield place, True
    if is_about:
        yield (), True
    for place in objects:
        if isinstance(place[-1], Parsed) and is_about:
            yield place, True
    if any(_names_a_tool(place, unit) for place in unit.places):
        yield (), True
    yield from ((place[:-1], True) for place in unit.places if _names_a_call(place))


def _holds_result(place: Place, unit: Unit) -> bool:
    """Return whether a field such as `tool_result` contains only the result, next to the name of the call."""
    if not TOOL.search(english(str(place[-1]))):
        return False
    keys = {plain(key) for value in unit.values(place) if isinstance(value, dict) for key in value}
    return bool(keys & {"id", "name", *_NAMES_OF_CALLS})


def _looks_like_a_call(place: Place, unit: Unit) -> bool:
    """Return whether a field such as `call` contains a name or an id, and also arguments or a result."""
    if plain(place[-1]) not in ("call", "calls", "action", "command", "invocation"):
        return False
    keys = {plain(key) for value in unit.values(place) if isinstance(value, dict) for key in value}
    return bool(keys & {*TOOL_NAMES, *CALL_IDS}) and bool(keys & {*ARGUMENTS[:11], *RESULTS[:9]})


def _is_tool_key(name: str) -> bool:
    words = words_of([name])
    return bool(
        TOOL.search(english(name)) or set(words) & (TOOL_WORDS - {"action", "command", "call", "calls"})
    ) and (plain(name) not in ARGUMENTS and plain(name) not in RESULTS)


def _names_a_call(place: Place) -> bool:
    """Return whether a field such as `toolCallId` is near the top of a record."""
    return 0 < len(place) < _DEEPEST and plain(place[-1]) in (
        "toolcallid",
        "tooluseid",
        "functioncallid",
        "callid",
    )


def _names_a_tool(place: Place, unit: Unit) -> bool:
    """Return whether there is a field such as `tool_name`, or `tool` with a name in it."""
    if not place or not isinstance(place[-1], str) or len(place) > _DEEPEST:
        return False
    name = plain(place[-1])
    if name not in ("toolname", "functionname", "tool", "function", "pluginname", "plugin", "fn", "skill"):
        return False
    return any(isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME for value in unit.values(place))


def _fields(unit: Unit, container: Place, *, is_named: bool) -> ToolUse | None:
    use = ToolUse(unit, container, "start")
    inside = fields_of_a_call(unit, container)
    use.name = _pick(unit, inside, TOOL_NAMES, _can_name)
    use.arguments = _pick(unit, inside, ARGUMENTS, _can_be_arguments)
    use.result = _pick(unit, inside, RESULTS, _is_something, but={use.arguments, use.name})
    use.error = _error_in(unit, inside)
    use.duration = _pick(unit, inside, DURATIONS, is_number)
    words = set(words_of_use(unit, container))
    if not words & RESULT_WORDS:
        inside_pieces = [place for place in inside if plain(place[-1]) in PIECES]
    else:
        inside_pieces = []
        if use.result is None and (use.arguments is None or not words & START_WORDS):
            use.result = _pick(unit, inside, VAGUE_RESULTS, _is_something, but={use.arguments, use.name})
    if use.result is not None and words & START_WORDS and not words & RESULT_WORDS and use.arguments is None:
        use.arguments, use.result = _own_arguments(unit, use.result)
    if use.arguments is not None and words & RESULT_WORDS and use.result is None and not words & START_WORDS:
        use.result = _pick(unit, inside, VAGUE_RESULTS, _is_something, but={use.arguments, use.name})
    has_result = use.result is not None or use.error is not None
    if use.name is None and use.arguments is None and not has_result and not inside_pieces:
        if not is_named or not words & (RESULT_WORDS | START_WORDS) or not inside:
            return None
        if not any(plain(place[-1]) in CALL_IDS for place in inside):
            return None
    use.use = _first_guess(use, words, has_result=has_result)
    return use


def _own_arguments(unit: Unit, place: Place) -> tuple[Place | None, Place | None]:
    values = unit.values(place)
    return (place, None) if any(isinstance(value, dict) for value in values) else (None, place)


def _pick(
    unit: Unit, places: list[Place], names: tuple[str, ...], fits: Any, but: Iterable[Place | None] = ()
) -> Place | None:
    but = {*but}
    for name in names:
        for place in places:
            if plain(place[-1]) == name and place not in but and any(map(fits, unit.values(place))):
                return place
    return None


def _can_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and "\n" not in value


def _can_be_arguments(value: Any) -> bool:
    if isinstance(value, dict) and any(plain(key) in _NAMES_OF_CALLS for key in value):
        return False  # the container of the call
    return isinstance(value, dict | list | str)


def _is_something(value: Any) -> bool:
    return value is not None


def _error_in(unit: Unit, places: list[Place]) -> Place | None:
    for place in places:
        if set(words_of([place[-1]])) <= ERROR_WORDS | {
            "message",
            "tool",
            "text",
        } and ERROR_WORDS.intersection(words_of([place[-1]])):
            values = [value for value in unit.values(place) if value not in ("", False, [], {})]
            if any(isinstance(value, str | dict) for value in values):
                return place
    return None


def _first_guess(use: ToolUse, words: set[str], *, has_result: bool) -> Use:
    """Return the step of a call that the records report, judged only by names and fields."""
    begins, ends = bool(words & START_WORDS), bool(words & RESULT_WORDS)
    if has_result and use.result is not None and use.arguments is None and not begins:
        return "end"
    if ends and not begins:
        return "end"
    if has_result:
        _, ended = use.begins_and_ends
        if not ended:
            return "end" if ends else "start"
        return "end" if ends and use.arguments is None else "both"
    if ends and use.arguments is None:
        return "end"
    return "start"
