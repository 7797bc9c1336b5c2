"""Tool calls: where they begin and end, and which field says what of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal

import msgspec

from streamweir.errors import MalformedEvent
from streamweir.jsontext import parse_json, write_json_text
from streamweir.learning.field_names import (
    ARGUMENTS,
    CALL_IDS,
    DURATIONS,
    ERROR_WORDS,
    MESSAGE_IDS,
    NO_TEXT,
    PIECES,
    PIECES_WORDS,
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
from streamweir.learning.places import Parsed, Place
from streamweir.learning.units import At, Record, Unit

__all__ = ["ToolUse", "tools_in"]

Use = Literal["start", "end", "both", "pieces", "again", "nothing"]

_ENVELOPES: Final = {"payload"}
"""What may hold a call as well as its arguments."""
_DESCRIPTIONS: Final = frozenset(
    {"description", "label", "display", "displayname", "message", "text", "step"}
)
_LONGEST_NAME: Final = 80
_DEEPEST: Final = 3
_INDICES: Final = ("index", "idx", "i", "position", "outputindex", "toolindex")


class ToolUse(msgspec.Struct):
    """What some records say of calls.

    Attributes:
        unit: the records.
        container: where in them the call stands.
        use: what begins or ends; `both` in one record; `pieces` of arguments; `again` what was said before.
        name: place of the tool's name; likewise the rest.
        begins: holds for records that begin a call, where the same kind of record ends it as well.
        index: place of a number that pieces without an id are known by.
        rest: fields without a known name that can be nothing but the arguments, or the result.
        collects: the arguments of these calls come later, in pieces.
    """

    unit: Unit
    container: Place
    use: Use
    name: Place | None = None
    arguments: Place | None = None
    result: Place | None = None
    error: Place | None = None
    tool_id: Place | None = None
    index: Place | None = None
    duration: Place | None = None
    rest: list[Place] = []
    collects: bool = False
    is_sure: bool = True
    notes: list[str] = []

    @property
    def records(self) -> list[tuple[Record, Any]]:
        """The records in which the call stands, with it."""
        found = self.unit.places.get(self.container, [])
        return [(record, value) for record, value in found if value not in ("", [], {})]

    def value(self, record: Record, place: Place | None) -> Any:
        """What a record says at a place; None if nothing."""
        if place is None:
            return None
        return next((value for one, value in self.unit.places.get(place, ()) if one is record), None)

    @property
    def begins_and_ends(self) -> tuple[list[Record], list[Record]]:
        """The records without and with a result."""
        ends = [record for record, _ in self.records if self._has_ended(record)]
        return [record for record, _ in self.records if record not in ends], ends

    def _has_ended(self, record: Record) -> bool:
        return any(self.value(record, place) not in (None, "", [], {}) for place in (self.result, self.error))


def tools_in(units: Iterable[Unit]) -> list[ToolUse]:
    """Return what says something of tool calls, in the order of the stream."""
    units = [*units]
    uses = [use for unit in units if (use := _use_in(unit)) is not None]
    uses = [use for use in uses if use.use != "nothing"]
    uses.sort(key=lambda use: use.records[0][0].at)
    _find_ids(uses, units)
    _find_pieces(uses)
    _settle(uses)
    _drop_repetitions(uses)
    for use in uses:
        _find_rest(use)
    return uses


def _find_rest(use: ToolUse) -> None:
    """What else a record holds is its arguments, or its result, where no field is named like them."""
    lacks_result = use.use == "end" and use.result is None and use.error is None
    lacks_arguments = use.use == "start" and use.arguments is None and not use.collects
    if not (lacks_result or lacks_arguments):
        return
    names = {*TOOL_NAMES, *CALL_IDS, *DURATIONS} if lacks_result else _DESCRIPTIONS | {*TOOL_NAMES, *CALL_IDS}
    for place in _fields_of_a_call(use.unit, use.container):
        name = plain(place[-1])
        is_inner = any(place[: len(other)] == other for other in use.rest)
        is_known = name in names or name in NO_TEXT or name.endswith("id") or name in SESSION_IDS
        values = [value for value in use.unit.values(place) if value not in ("", [], {})]
        if values and not is_inner and not is_known and place not in (use.name, use.tool_id):
            use.rest.append(place)
    if use.rest:
        what = "result" if lacks_result else "arguments"
        use.notes.append(f"no field is named like the {what}: what else there is was taken for them")


# Where a call stands, and its fields


def _use_in(unit: Unit) -> ToolUse | None:
    for container, is_named in _containers(unit):
        use = _fields(unit, container, is_named=is_named)
        if use is not None:
            return use
    return None


def _containers(unit: Unit) -> Iterator[tuple[Place, bool]]:
    """Where a call may stand, and whether a name says that it is one."""
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
        if isinstance(last, str) and _is_tool_key(last):
            yield place, True
    if is_about:
        yield (), True
    for place in objects:
        if isinstance(place[-1], Parsed) and is_about:
            yield place, True
    if any(_names_a_tool(place, unit) for place in unit.places):
        yield (), True
    yield from ((place[:-1], True) for place in unit.places if _names_a_call(place))


def _is_tool_key(name: str) -> bool:
    words = words_of([name])
    return bool(TOOL.search(name) or set(words) & (TOOL_WORDS - {"action", "command", "call", "calls"})) and (
        plain(name) not in ARGUMENTS and plain(name) not in RESULTS
    )


def _names_a_call(place: Place) -> bool:
    """A field such as `toolCallId`, near the top."""
    return 0 < len(place) < _DEEPEST and plain(place[-1]) in (
        "toolcallid",
        "tooluseid",
        "functioncallid",
        "callid",
    )


def _names_a_tool(place: Place, unit: Unit) -> bool:
    """A field such as `tool_name` or `tool` with the name of one."""
    if not place or not isinstance(place[-1], str) or len(place) > _DEEPEST:
        return False
    name = plain(place[-1])
    if name not in ("toolname", "functionname", "tool", "function", "pluginname", "plugin", "fn", "skill"):
        return False
    return any(isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME for value in unit.values(place))


def _fields(unit: Unit, container: Place, *, is_named: bool) -> ToolUse | None:
    use = ToolUse(unit, container, "start")
    inside = _fields_of_a_call(unit, container)
    use.name = _pick(unit, inside, TOOL_NAMES, _can_name)
    use.arguments = _pick(unit, inside, ARGUMENTS, _can_be_arguments)
    use.result = _pick(unit, inside, RESULTS, _is_something, but={use.arguments, use.name})
    use.error = _error_in(unit, inside)
    use.duration = _pick(unit, inside, DURATIONS, _is_number)
    words = set(_words_of_use(unit, container))
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


def _fields_of_a_call(unit: Unit, container: Place) -> list[Place]:
    """The fields of a call, the nearer first; what its arguments and results hold is not looked at."""
    found: list[Place] = []
    data = {*ARGUMENTS, *RESULTS} - _ENVELOPES
    for place in unit.places:
        inner = place[len(container) :]
        if place[: len(container)] != container or not inner or len(inner) > _DEEPEST:
            continue
        if not isinstance(place[-1], str) or place in unit.group.named_places:
            continue
        if any(isinstance(step, str) and plain(step) in data for step in inner[:-1]):
            continue
        found.append(place)
    return sorted(found, key=len)


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
    return isinstance(value, dict | list | str)


def _is_something(value: Any) -> bool:
    return value is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


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


def _words_of_use(unit: Unit, container: Place) -> list[str]:
    """What is said of the call: the names of the records, and the words of the container."""
    last = [step for step in container if isinstance(step, str)][-1:]
    names = [name.removeprefix("response.") for name in unit.names]  # what an answer is called, not a result
    return [*words_of(names), *words_of(last)]


def _first_guess(use: ToolUse, words: set[str], *, has_result: bool) -> Use:
    """What a record does, as far as names and fields say."""
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


# Ids


def _find_ids(uses: list[ToolUse], units: list[Unit]) -> None:
    """Find the field by which records of one call are known: its values are shared, and differ per call."""
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
    """What other messages say as well is no call's: sessions, runs, answers."""
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
    """How many calls there are, by their names."""
    names = {str(use.value(record, use.name)) for record, _ in use.records if use.value(record, use.name)}
    return len(names)


# Arguments in pieces


def _find_pieces(uses: list[ToolUse]) -> None:
    for use in uses:
        place = _pieces_place(use)
        if place is None:
            continue
        use.use, use.arguments, use.result = "pieces", place, None
        use.index = _index_place(use)
    pieces = [use for use in uses if use.use == "pieces"]
    if not pieces:
        return
    first = pieces[0].records[0][0].at
    for use in uses:
        if use.use in ("start", "both") and use.records[0][0].at <= first and not _has_arguments(use):
            use.collects = True
            use.index = _index_place(use)
        elif use.use in ("start", "end") and not use.begins_and_ends[1]:
            use.use = "start"  # the pieces are whole
            use.result = None


def _has_arguments(use: ToolUse) -> bool:
    values = [use.value(record, use.arguments) for record, _ in use.records]
    return any(value not in (None, "", {}, [], "{}") for value in values)


def _pieces_place(use: ToolUse) -> Place | None:
    """The field whose texts are JSON only when put together."""
    places = [use.arguments] if use.arguments else []
    words = set(_words_of_use(use.unit, use.container))
    if words & PIECES_WORDS or not places:
        places += [
            place
            for place in _fields_of_a_call(use.unit, use.container)
            if plain(place[-1]) in (*PIECES, *ARGUMENTS) and place not in places
        ]
    for place in places:
        texts = [
            (record, value) for record, value in use.unit.places.get(place, ()) if isinstance(value, str)
        ]
        given = [text for _, text in texts if text]
        if len(given) > 1 and not all(map(_is_object, given)) and _joins_to_json(use, texts):
            return place
        is_piece = bool(words & {"delta", "deltas", "chunk", "partial"}) or (
            use.name is None and not words & RESULT_WORDS
        )
        if given and is_piece and _joins_to_json(use, texts):
            return place
    is_whole = (
        use.name is None and use.use == "start" and use.arguments is not None and use.tool_id is not None
    )
    return use.arguments if is_whole else None


def _is_object(text: str) -> bool:
    try:
        return isinstance(parse_json(text.encode())[0], dict | list)
    except (MalformedEvent, UnicodeEncodeError):
        return False


def _joins_to_json(use: ToolUse, texts: list[tuple[Record, str]]) -> bool:
    """The texts of each call make up an object: by id or index, else in a row."""
    index = _index_place(use)
    joined: dict[tuple[Any, ...], str] = {}
    last: dict[tuple[Any, ...], Any] = {}
    for record, text in texts:
        number = use.value(record, index)
        name = use.value(record, use.tool_id) or use.value(record, use.name)
        row = (record.at.body, number)
        if name is not None:
            last[row] = name
        key = (*row, last.get(row))
        joined[key] = joined.get(key, "") + text
    whole = [text for text in joined.values() if text.strip()]
    if whole and all(map(_is_object, whole)):
        return True
    by_body: dict[int, str] = {}
    for record, text in texts:
        by_body[record.at.body] = by_body.get(record.at.body, "") + text
    return all(_are_objects(text) for text in by_body.values() if text)


def _are_objects(text: str) -> bool:
    """One object after the other."""
    depth = starts = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        starts += letter == "{" and depth == 1
    return bool(starts) and depth == 0 and text.lstrip().startswith("{")


def _index_place(use: ToolUse) -> Place | None:
    own = sorted((place for place in use.unit.places if place and isinstance(place[-1], str)), key=len)
    for name in _INDICES:
        for place in own:
            if plain(place[-1]) == name and all(map(_is_number, use.unit.values(place))):
                return place
    return None


# What begins, what ends, what was said before


def _settle(uses: list[ToolUse]) -> None:
    """Decide what is both; a call that began in another record only ends here."""
    others = [use for use in uses if use.use in ("start", "pieces")]
    for use in uses:
        if use.use == "both":
            started_before = _keys(other for other in others if other is not use)
            begins, ends = use.begins_and_ends
            if not begins and ends and _key_set(use) & started_before:
                use.use = "end"
        if use.use == "end" and not any(other.use in ("start", "both", "pieces") for other in uses):
            is_whole = use.name is not None and (use.result is not None or use.arguments is not None)
            use.use = "both" if is_whole else "end"
    if not any(use.use in ("end", "both") for use in uses):
        return
    for use in uses:
        if use.use == "end" and use.result is None and use.error is None:
            richer = [
                other for other in uses if other is not use and other.use in ("end", "both") and other.result
            ]
            if any(_key_set(use) & _key_set(other) for other in richer):
                use.use = "again"


def _keys(uses: Iterable[ToolUse]) -> set[str]:
    return {key for use in uses for key in _key_set(use)}


def _key_set(use: ToolUse) -> set[str]:
    """What calls are known by here: ids if there are any, else names."""
    place = use.tool_id or use.name
    return {
        str(use.value(record, place)) for record, _ in use.records if use.value(record, place) is not None
    }


def _drop_repetitions(uses: list[ToolUse]) -> None:
    """What begins and ends no call that had not begun and ended before only repeats."""
    given: list[tuple[At, ToolUse, Record]] = sorted(
        (
            (record.at, use, record)
            for use in uses
            if use.use in ("start", "end", "both")
            for record, _ in use.records
        ),
        key=lambda found: found[0],
    )
    news: set[int] = set()
    begun: set[tuple[Any, ...]] = set()
    ended: set[tuple[Any, ...]] = set()
    collected = _keys(use for use in uses if use.use == "pieces" or use.collects)
    for at, use, record in given:
        key = _call_key(use, record)
        has_ended = use.use == "end" or (use.use == "both" and record in use.begins_and_ends[1])
        is_new = False
        if use.use in ("start", "both"):
            is_new = (at.body, key) not in begun or key[0] in collected
            begun.add((at.body, key))
        if has_ended:
            is_new = is_new or (at.body, key) not in ended
            ended.add((at.body, key))
        if is_new or key == (None,):
            news.add(id(use))
    for use in uses:
        if use.use in ("start", "end", "both") and id(use) not in news and not use.collects:
            use.use = "again"


def _call_key(use: ToolUse, record: Record) -> tuple[Any, ...]:
    """What a call is known by; without an id all that is said of it."""
    if use.tool_id is not None:
        return (str(use.value(record, use.tool_id)),)
    if use.use == "both":
        spoken = [use.value(record, place) for place in (use.name, use.arguments, use.result)]
        return (write_json_text(spoken),)
    return (None,)
