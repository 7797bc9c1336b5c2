"""Units of records: the messages of a group, or the items of a list in these messages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

from streamweir.learning.field_names import ARGUMENTS, RESULTS, TOOL, TOOL_WORDS, plain, words_of
from streamweir.learning.foreign_words import english
from streamweir.learning.groups import Condition, Group, is_a_name
from streamweir.learning.places import PARSED, Place, expression, parsed, places_in, value_at

__all__ = ["At", "Record", "Unit", "units_of"]

_ALWAYS_ITEMS: Final = frozenset({"parts", "blocks", "contentblocks", "items"})
_PIECES: Final = frozenset({"partialjson", "inputjsondelta", "argumentsdelta", "argsdelta", "argumentdelta"})
"""Names of fields with pieces of arguments, in any message."""

_ITEM_NAMES: Final = ("type", "kind", "event", "role")
_MOST_NAMES: Final = 20
_MOST_LISTS: Final = 64
"""The most lists that are read. Each of these lists is read in every message."""

_JSON_TEXTS: Final = frozenset(
    {"content", "data", "text", "payload", "message", "body", "json", "value", "detail", "info", "extra"}
)
"""Names of fields whose text may be JSON with further fields."""


class At(NamedTuple):
    """The position of a record: the indices of its body, its frame, and its place in a list."""

    body: int
    frame: int
    item: int = 0


class Record(NamedTuple):
    """One message, or one item of a list."""

    at: At
    value: Any


class Unit:
    """Records of one kind.

    Attributes:
        group: the group of their messages.
        each: the place of the list whose items the records are; None if the records are messages.
        conditions: the fields that distinguish these items from other items of the list.
        records: the records, in order.
    """

    def __init__(
        self,
        group: Group,
        records: list[Record],
        each: Place | None = None,
        conditions: tuple[Condition, ...] = (),
    ) -> None:
        self.group = group
        self.records = records
        self.each = each
        self.conditions = conditions
        self._by_record: dict[Place, dict[At, Any]] = {}

    @property
    def when(self) -> str | None:
        """An expression that is true only for these items of their list; None if it is true for all items."""
        return " && ".join(condition.when("_item") for condition in self.conditions) or None

    @cached_property
    def names(self) -> list[str]:
        """The names of these records."""
        values = [condition.value for condition in self.conditions]
        keys = [step for step in self.each or () if isinstance(step, str)]
        values += [value for name in _ITEM_NAMES[:3] if (value := self._constant(name)) is not None]
        return [*self.group.names, *keys, *(value for value in values if isinstance(value, str))]

    def _constant(self, name: str) -> str | None:
        """Return the value that all records have in a field; None if the values differ."""
        values = [record.value.get(name) for record in self.records if isinstance(record.value, dict)]
        is_constant = len(values) == len(self.records) and all(value == values[0] for value in values)
        return values[0] if is_constant and is_a_name(values[0]) else None

    @cached_property
    def words(self) -> list[str]:
        """The words of the names."""
        return words_of(self.names)

    @cached_property
    def is_about_tools(self) -> bool:
        """Whether a name states that the records describe tool calls."""
        if any(place and plain(place[-1]) in _PIECES for place in self.places):
            return True
        return (
            self.group.is_call
            or bool(TOOL_WORDS.intersection(self.words))
            or any(map(TOOL.search, map(english, self.names)))
        )

    @cached_property
    def places(self) -> dict[Place, list[tuple[Record, Any]]]:
        """The values by place, without null; places in JSON text are included."""
        found: dict[Place, list[tuple[Record, Any]]] = {}
        for record in self.records:
            for place, value in self._places_in(record.value):
                if value is not None:
                    found.setdefault(place, []).append((record, value))
        for place in [place for place in found if self._holds_json(place, found[place])]:
            for record, text in found[place]:
                for inner, value in places_in(parsed(text), (*place, PARSED)):
                    if value is not None:
                        found.setdefault(inner, []).append((record, value))
        return found

    def express(self, place: Place) -> str:
        """Return the expression for a place in a record."""
        return self.group.root(place) if self.each is None else expression(place, "_item")

    def used(self, place: Place) -> tuple[Place, Place]:
        """Return the places that a report counts as used: of the list, and in the list's items."""
        return (self.each or (), place)

    def values(self, place: Place) -> list[Any]:
        """Return all values of a place, without null."""
        return [value for _, value in self.places.get(place, ())]

    def values_by_record(self, place: Place) -> dict[At, Any]:
        """Return the first value of a place in each record that has one, without null."""
        found = self._by_record.get(place)
        if found is None:
            found = self._by_record[place] = {}
            for record, value in self.places.get(place, ()):
                found.setdefault(record.at, value)
        return found

    def _places_in(self, value: Any) -> Iterator[tuple[Place, Any]]:
        for place, inner in places_in(value):
            yield place, inner
            if self.each is None and is_single(inner, place):
                yield from places_in(inner[0], (*place, 0))

    @staticmethod
    def _holds_json(place: Place, found: list[tuple[Record, Any]]) -> bool:
        name = plain(place[-1]) if place and isinstance(place[-1], str) else ""
        if name not in _JSON_TEXTS or name in (*ARGUMENTS[:8], *RESULTS[:4]):
            return False
        texts = [value for _, value in found if value != ""]
        return bool(texts) and all(isinstance(parsed(value), dict) for value in texts)


def is_single(value: Any, place: Place) -> bool:
    """Return whether a list only wraps one object, as `choices` does."""
    return (
        bool(place)
        and isinstance(value, list)
        and len(value) == 1
        and isinstance(value[0], dict)
        and plain(place[-1]) not in _ALWAYS_ITEMS
        and not TOOL.search(english(str(place[-1])))
        and any(isinstance(inner, dict) for inner in value[0].values())
        and not _is_block(value[0])
    )


def _is_block(item: dict[str, Any]) -> bool:
    """Return whether an item has a type, and no list in it."""
    return isinstance(item.get("type"), str) and not any(isinstance(inner, list) for inner in item.values())


def units_of(group: Group) -> list[Unit]:
    """Return a unit for the messages of a group, and a unit for each list of objects in the messages."""
    records = [Record(At(message.body, message.frame), message.value) for message in group.messages]
    units = [Unit(group, records)]
    for place in _lists(group):
        items = [
            Record(At(message.body, message.frame, number), item)
            for message in group.messages
            for number, item in enumerate(value_at(message.value, place) or ())
            if isinstance(item, dict)
        ]
        units += [Unit(group, found, place, conditions) for conditions, found in _kinds(items) if found]
    return units


def _lists(group: Group) -> list[Place]:
    """Return the places of lists of objects, without lists that only wrap one object."""
    found: dict[Place, bool] = {}
    singles: set[Place] = set()
    for message in group.messages:
        for place, value in _with_singles(message.value):
            if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
                if is_single(value, place) and found.get(place, True):
                    singles.add(place)
                    found.setdefault(place, True)
                elif place:
                    found[place] = False
    return [place for place, wraps in found.items() if not wraps][:_MOST_LISTS]


def _with_singles(value: Any) -> Iterator[tuple[Place, Any]]:
    for inner, found in places_in(value):
        yield inner, found
        if is_single(found, inner):
            yield from places_in(found[0], (*inner, 0))


def _kinds(items: list[Record]) -> list[tuple[tuple[Condition, ...], list[Record]]]:
    """Split items by their type, or by whether they are thinking or text."""
    for name in _ITEM_NAMES:
        values = {item.value.get(name) for item in items if isinstance(item.value.get(name), str | None)}
        if 2 <= len(values) <= _MOST_NAMES and all(value is None or is_a_name(value) for value in values):
            place = (name,)
            return [
                ((Condition(place, value),), [item for item in items if item.value.get(name) == value])
                for value in sorted(values, key=str)
            ]
    for name in ("thought", "thinking", "is_thought", "reasoning"):
        flags = {item.value.get(name) is True for item in items}
        if len(flags) > 1:
            place = (name,)
            spoken = [item for item in items if item.value.get(name) is not True]
            thought = [item for item in items if item.value.get(name) is True]
            return [((Condition(place, value=True),), thought), ((Condition(place, value=False),), spoken)]
    return [((), items)]
