"""Finds arguments that come in pieces: texts that are JSON only when joined."""

from __future__ import annotations

from typing import Any, Final

from streamweir.learning.field_names import ARGUMENTS, PIECES, PIECES_WORDS, RESULT_WORDS, plain
from streamweir.learning.places import Place, parsed
from streamweir.learning.tool_use import ToolUse, fields_of_a_call, is_number, words_of_use
from streamweir.learning.units import Record

__all__ = ["find_pieces", "has_arguments"]

_INDICES: Final = ("index", "idx", "i", "position", "outputindex", "toolindex")


def find_pieces(uses: list[ToolUse]) -> None:
    """Mark the uses that contain pieces of arguments, and the uses whose arguments come in pieces."""
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
        is_beside = use.use == "start" and any(use.unit.group is other.unit.group for other in pieces)
        if is_beside and _only_names(use, pieces):
            use.use = "again"  # the arguments received so far, next to the pieces
            continue
        if use.use in ("start", "both") and use.records[0][0].at <= first and not has_arguments(use):
            use.collects = True
            use.index = _index_place(use)
        elif use.use in ("start", "end") and not use.begins_and_ends[1]:
            use.use = "start"  # each piece is a whole object
            use.result = None


def _only_names(use: ToolUse, pieces: list[ToolUse]) -> bool:
    """Return whether pieces were found for the id and the name of every call in this use."""
    own = [(use.tool_id, use), (use.name, use)]
    theirs = {
        str(other.value(record, place))
        for other in pieces
        for place in (other.tool_id, other.name)
        for record, _ in other.records
    }
    values = [one.value(record, place) for place, one in own for record, _ in one.records]
    return all(str(value) in theirs for value in values if value not in (None, ""))


def has_arguments(use: ToolUse) -> bool:
    """Return whether some record contains arguments that are not empty."""
    values = [use.value(record, use.arguments) for record, _ in use.records]
    return any(value not in (None, "", {}, [], "{}") for value in values)


def _pieces_place(use: ToolUse) -> Place | None:
    """Return the field whose texts are JSON only when joined; None if there is no such field."""
    places = [use.arguments] if use.arguments else []
    words = set(words_of_use(use.unit, use.container))
    if words & PIECES_WORDS or not places:
        places += [
            place
            for place in fields_of_a_call(use.unit, use.container)
            if plain(place[-1]) in (*PIECES, *ARGUMENTS) and place not in places
        ]
    for place in places:
        texts = [
            (record, value) for record, value in use.unit.places.get(place, ()) if isinstance(value, str)
        ]
        given = [text for _, text in texts if text]
        if len(given) > 1 and not all(map(_holds_json, given)) and _joins_to_json(use, texts):
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


def _holds_json(text: str) -> bool:
    return parsed(text) is not None


def _joins_to_json(use: ToolUse, texts: list[tuple[Record, str]]) -> bool:
    """Return whether the texts of each call join to an object; calls are told apart by id, index or order."""
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
    if whole and all(map(_holds_json, whole)):
        return True
    by_body: dict[int, str] = {}
    for record, text in texts:
        by_body[record.at.body] = by_body.get(record.at.body, "") + text
    return all(_are_objects(text) for text in by_body.values() if text)


def _are_objects(text: str) -> bool:
    """Return whether a text consists of several objects in a row."""
    depth = starts = 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        starts += letter == "{" and depth == 1
    return bool(starts) and depth == 0 and text.lstrip().startswith("{")


def _index_place(use: ToolUse) -> Place | None:
    own = sorted((place for place in use.unit.places if place and isinstance(place[-1], str)), key=len)
    for name in _INDICES:
        for place in own:
            if plain(place[-1]) == name and all(map(is_number, use.unit.values(place))):
                return place
    return None
