"""What some records say of tool calls: which fields they have, and what they do."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from streamweir.learning.field_names import ARGUMENTS, RESULTS, plain, words_of
from streamweir.learning.places import Place
from streamweir.learning.units import Record, Unit

__all__ = ["ToolUse", "Use", "fields_of_a_call", "is_number", "words_of_use"]

Use = Literal["start", "end", "both", "pieces", "again", "nothing"]

_ENVELOPES: Final = {"payload", "kwargs"}
"""What may hold a call as well as its arguments."""
_DEEPEST: Final = 3


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
        return self.unit.values_by_record(place).get(record.at)

    @property
    def begins_and_ends(self) -> tuple[list[Record], list[Record]]:
        """The records without and with a result."""
        begins: list[Record] = []
        ends: list[Record] = []
        for record, _ in self.records:
            (ends if self.has_ended(record) else begins).append(record)
        return begins, ends

    def has_ended(self, record: Record) -> bool:
        """Whether a record holds a result, or an error."""
        return any(self.value(record, place) not in (None, "", [], {}) for place in (self.result, self.error))


def fields_of_a_call(unit: Unit, container: Place) -> list[Place]:
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


def words_of_use(unit: Unit, container: Place) -> list[str]:
    """What is said of the call: the names of the records, and the words of the container."""
    last = [step for step in container if isinstance(step, str)][-1:]
    names = [name.removeprefix("response.") for name in unit.names]  # what an answer is called, not a result
    return [*words_of(names), *words_of(last)]


def is_number(value: Any) -> bool:
    """Return whether a value is a number; true is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)
