"""Writes the entries for texts of the answer and of thinking, and for failures in these texts."""

from __future__ import annotations

from typing import Any, Final

from streamweir.learning.failing_texts import begins_failing, failing_beginning
from streamweir.learning.field_names import MESSAGE_IDS, plain
from streamweir.learning.found_meanings import FoundMeanings, both, field_value
from streamweir.learning.places import Place
from streamweir.learning.series import Series, texts_by_body
from streamweir.learning.texts import Text
from streamweir.learning.units import Unit

__all__ = ["add_text"]

_MOST_BEGINNINGS: Final = 6


def add_text(found: FoundMeanings, text: Text) -> None:
    """Add the entries for a series of texts to the meaning of its group."""
    series, unit = text.series, text.series.unit
    if text.note:
        found.note(unit.group, text.note)
    if text.how == "again":
        found.of(unit.group).repeats = True
        return
    fields: dict[str, Any] = {"type": text.kind, "content": field_value(unit, series.place)}
    if text.how != "delta":
        fields["text"] = text.how
    message_id = _message_id(unit) if text.kind == "content" else None
    if message_id is not None:
        fields["message_id"] = field_value(unit, message_id)
    if not text.is_sure and not text.note:
        found.note(unit.group, "its texts look like pieces of the answer: are they?")
    is_mixed = any(not isinstance(value, str) for value in unit.values(series.place))
    is_text = f"type({unit.express(series.place)}) == 'string'" if is_mixed else None
    when = both(series.when, is_text)
    failing = _failing_beginnings(series)
    if failing:
        fails = begins_failing(unit.express(series.place), failing)
        error = {"type": "error", "message": fields["content"]}
        if _is_text_behind(series, failing):
            error["terminal"] = False
        found.add(unit, error, (series.place,), both(when, fails))
        found.note(unit.group, "a text of the answer looks like a failure: is it always one?")
        when = both(when, f"!({fails})")
    if len(failing) < len(series.texts) or not _are_all_failing(series, failing):
        found.add(unit, fields, (series.place, message_id), when)


def _failing_beginnings(series: Series) -> list[str]:
    """Return the beginnings of the texts that report a failure."""
    bodies = texts_by_body(series)
    found = [
        failing_beginning(text, is_alone=len(texts) == 1) for texts in bodies.values() for _, text in texts
    ]
    return [*dict.fromkeys(beginning for beginning in found if beginning)][:_MOST_BEGINNINGS]


def _are_all_failing(series: Series, failing: list[str]) -> bool:
    return bool(failing) and all(text.startswith(tuple(failing)) for _, text in series.texts)


def _is_text_behind(series: Series, failing: list[str]) -> bool:
    """Return whether a text comes after a text that reports a failure."""
    return any(
        text.startswith(tuple(failing)) for texts in texts_by_body(series).values() for _, text in texts[:-1]
    )


def _message_id(unit: Unit) -> Place | None:
    """Return the field with the id of the message, with far fewer values than pieces; None without one."""
    for place in sorted(unit.places, key=len):
        if place and isinstance(place[-1], str) and plain(place[-1]) in MESSAGE_IDS:
            values = unit.values(place)
            if all(isinstance(value, str) and value for value in values):
                bodies = len({record.at.body for record, _ in unit.places[place]})
                if len(set(values)) <= bodies or len(set(values)) * 3 <= len(values):
                    return place
    return None
