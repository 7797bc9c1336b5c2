"""Describes how the records of a unit report tool calls: each value's field, and each record's step."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from streamweir.learning.field_names import ARGUMENTS, RESULTS, plain, words_of
from streamweir.learning.places import Place
from streamweir.learning.units import Record, Unit

__all__ = ["ToolUse", "Use", "fields_of_a_call", "is_number", "words_of_use"]

Use = Literal["start", "end", "both", "pieces", "again", "nothing"]

_ENVELOPES: Final = {"payload", "kwargs"}
"""Names of fields that may contain a call or its arguments."""
_DEEPEST: Final = 3


class ToolUse(msgspec.Struct):
    """The way in which some records describe calls.

    Attributes:
        unit: the records.
        container: the place of the call in a record.
        use: the step that the records report: `start`, `end`, `both` in one record, `pieces` of arguments, or
            `again` (a repetition).
        name: the place of the tool's name. Further attributes hold the places of the other values.
        begins: an expression that is true for records that begin a call, if the same unit also ends calls.
        index: the place of the number that identifies pieces without an id.
        rest: the fields without a known name, which count as arguments or results.
        collects: the arguments of these calls follow in pieces.
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
        """The records that contain a call, each with the call."""
        found = self.unit.places.get(self.container, [])
        return [(record, value) for record, value in found if value not in ("", [], {})]

    def value(self, record: Record, place: Place | None) -> Any:
        """Return the value of a record at a place; None if there is no value."""
        if place is None:
            return None
        return self.unit.values_by_record(place).get(record.at)

    @property
    def begins_and_ends(self) -> tuple[list[Record], list[Record]]:
        """The records without a result, and the records with a result."""
        begins: list[Record] = []
        ends: list[Record] = []
        for record, _ in self.records:
            (ends if self.has_ended(record) else begins).append(record)
        return begins, ends

    def has_ended(self, record: Record) -> bool:
        """Return whether a record contains a result or an error."""
        return any(self.value(record, place) not in (None, "", [], {}) for place in (self.result, self.error))


def fields_of_a_call(unit: Unit, container: Place) -> list[Place]:
    """Yield the fields of a call, outer fields first, without the fields inside arguments and results."""
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


def words_of_use(unit: Unit, container: Place) -> list[str]:
    """Return the words of the names of the records and of the container."""
    last = [step for step in container if isinstance(step, str)][-1:]
    names = [name.removeprefix("response.") for name in unit.names]  # a name of the answer, not of a result
    return [*words_of(names), *words_of(last)]


def is_number(value: Any) -> bool:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)
