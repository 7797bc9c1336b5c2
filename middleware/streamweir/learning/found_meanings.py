"""The meanings of all groups while they are being found: entries, conditions and questions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from streamweir.learning.groups import Condition, Group
from streamweir.learning.kinds import Kinds
from streamweir.learning.places import Place
from streamweir.learning.units import Unit, units_of

__all__ = ["Entry", "FoundMeanings", "Meaning", "both", "field_value"]


class Entry(msgspec.Struct):
    """One event of a rule.

    Attributes:
        fields: its type and fields, as written in the rule.
        unit: the records from which the event is made.
        places: the places that the event reads.
        when: an expression that is true if the event is to be made; None if it always is.
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
        notes: the questions about this meaning.
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
        """The types of the events, each once."""
        return [*dict.fromkeys(str(entry.fields["type"]) for entry in self.entries)]


class FoundMeanings:
    """The meaning of each group.

    Attributes:
        all: the meanings, in the order of the groups.
        units: all records.
        failed_bodies: the indices of bodies with a message that reports a failure.
    """

    def __init__(self, kinds: Kinds) -> None:
        self.all = [Meaning(group, units_of(group)) for group in kinds.groups]
        self._of = {id(meaning.group): meaning for meaning in self.all}
        self.failed_bodies: set[int] = set()
        self.units = [unit for meaning in self.all for unit in meaning.units]

    def add(
        self, unit: Unit, fields: dict[str, Any], places: Iterable[Place | None], when: str | None = None
    ) -> None:
        """Add an entry to the meaning of the group of `unit`."""
        used = [place for place in places if place is not None]
        self._of[id(unit.group)].entries.append(Entry(fields, unit, used, when))

    def condition(self, group: Group, conditions: Iterable[Condition]) -> None:
        """Restrict the rule of a group to values that were seen."""
        group.conditions = (*group.conditions, *conditions)

    def note(self, group: Group, text: str) -> None:
        """Add a question about a group."""
        notes = self._of[id(group)].notes
        if text not in notes:
            notes.append(text)

    def of(self, group: Group) -> Meaning:
        """Return the meaning of a group."""
        return self._of[id(group)]


def field_value(unit: Unit, place: Place) -> str:
    """Return the value to write in a rule for a field that reads a place."""
    return "${{ " + unit.express(place) + " }}"


def both(*conditions: str | None) -> str | None:
    """Return an expression that is true if all conditions are; None if every condition is None or empty."""
    given = [condition for condition in conditions if condition]
    if len(given) > 1:
        given = [f"({condition})" if "||" in condition else condition for condition in given]
    return " && ".join(given) or None
