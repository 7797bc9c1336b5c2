"""Splits messages into groups that get one rule each, and finds the conditions that tell them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, NamedTuple

from streamweir.learning.field_names import (
    ENUMS,
    NAMES_OF_MESSAGES,
    NO_TEXT,
    THINKING,
    TOOL_ENDS,
    TOOL_STARTS,
    TOOL_WORDS,
    plain,
    words_of,
)
from streamweir.learning.foreign_words import english
from streamweir.learning.places import Place, expression, places_in, value_at

__all__ = ["PRESENT", "Condition", "Group", "Message", "is_a_name", "is_tool_message", "literal", "split"]

PRESENT: Final = object()
"""The value of a condition for a field that only has to be present and not empty."""

MAX_NAMES: Final = 80
"""The most different values of a field that names messages."""

_NAME: Final = re.compile(r"[\w.:/@+-]{1,64}(?: [\w.:/@+-]{1,30}){0,2}")
_SHORT: Final = 3
_ROLES: Final = {"user", "human", "assistant", "ai", "system", "tool", "function", "bot", "model"}


class Message(NamedTuple):
    """The content of one frame.

    Attributes:
        body: the index of the body that contains the frame.
        frame: the number of the frame among all frames.
        event: the SSE event name, if there is one.
        value: the JSON, the text, or the parts of a line.
    """

    body: int
    frame: int
    event: str | None
    value: Any


class Condition(NamedTuple):
    """A field with the value that it must have; the value None also means that the field is absent.

    Attributes:
        place: the field.
        value: the value, a tuple of values, or `PRESENT`.
        is_outcome: the field reports success or failure, and does not name messages.
    """

    place: Place
    value: Any
    is_outcome: bool = False

    @property
    def can_be_matched(self) -> bool:
        """Whether the condition can be written as a `match`, which reaches into objects, not into lists."""
        return self.value is not PRESENT and all(isinstance(step, str) for step in self.place)

    def when(self, root: str = "") -> str:
        """Return the condition as an expression."""
        return self.at(expression(self.place, root))

    def at(self, path: str) -> str:
        """Return the condition as an expression, with the field at `path`."""
        if isinstance(self.value, tuple):
            return "(" + " || ".join(self._replace(value=one).equals(path) for one in self.value) + ")"
        return path if self.value is PRESENT else self.equals(path)

    def holds_for(self, message: Any) -> bool:
        """Return whether a message has the value, or one of the values."""
        value = value_at(message, self.place)
        if self.value is PRESENT:
            return value not in (None, "", [], {}, False)
        values = self.value if isinstance(self.value, tuple) else (self.value,)
        return any(type(value) is type(one) and value == one for one in values)

    def equals(self, path: str) -> str:
        """Return an expression that is true for one value at `path`."""
        if isinstance(self.value, bool):
            return path if self.value else f"!({path})"
        if self.value is None:
            return f"{path} == null"
        if isinstance(self.value, str):
            return f"{path} == {literal(self.value)}"
        return f"{path} == `{self.value}`"


@dataclass(eq=False)
class Group:
    """Messages with the same meaning, which one rule takes.

    Attributes:
        messages: in order.
        event: the SSE event name, if it distinguishes the messages from others; `message` if without a name.
        prefix: the beginning of their lines.
        conditions: the fields that distinguish the messages from others.
        root: returns the expression for a place in the messages.
        is_text: the messages are text, not JSON.
        is_call: the messages are lines in the form of a tool call or its result.
        fails: a field states that the messages report a failure.
    """

    messages: list[Message]
    _: KW_ONLY
    event: str | None = None
    prefix: str | None = None
    conditions: tuple[Condition, ...] = ()
    root: Callable[[Place], str] = expression
    is_text: bool = False
    is_call: bool = False
    fails: bool = False

    @property
    def names(self) -> list[str]:
        """The names of these messages: event name, prefix and the values of conditions."""
        named_by = [condition for condition in self.conditions if not condition.is_outcome]
        values = [condition.value for condition in named_by]
        flags = [str(c.place[-1]) for c in named_by if c.value is True and c.place]
        named = [self.event, self.prefix, *(value for value in values if isinstance(value, str)), *flags]
        return [name for name in named if name and name != "message"]

    @property
    def label(self) -> str:
        """The name of the group in a report."""
        named_by = [condition for condition in self.conditions if not condition.is_outcome]
        values = [str(c.value) for c in named_by if c.value is not None and not isinstance(c.value, bool)]
        flags = [f"{'' if c.value else '!'}{c.place[-1]}" for c in named_by if isinstance(c.value, bool)]
        parts = [part for part in (self.event, (self.prefix or "").strip(), *values, *flags) if part]
        return " ".join(dict.fromkeys(parts)) or "message"

    @property
    def words(self) -> list[str]:
        """The words of the names."""
        return words_of(self.names)

    @property
    def named_places(self) -> set[Place]:
        """The places of the conditions."""
        return {condition.place for condition in self.conditions if condition.value is not PRESENT}


def split(messages: list[Message], event: str | None = None) -> Iterator[Group]:
    """Yield the groups of JSON messages that share an SSE event name or whose event name has no meaning."""
    for conditions, found in _split(messages, (), _candidates(messages)):
        yield Group(found, event=event, conditions=conditions)


_Split = tuple[tuple[Condition, ...], list[Message]]


def _split(
    messages: list[Message], conditions: tuple[Condition, ...], candidates: list[Place]
) -> Iterator[_Split]:
    for number, place in enumerate(candidates):
        if _separates(place, messages, is_first=not conditions):
            rest = candidates[number + 1 :] if _rank(place) < len(NAMES_OF_MESSAGES) else candidates
            rest = [other for other in rest if other != place]
            for value, found in _by_value(place, messages).items():
                yield from _split(found, (*conditions, Condition(place, value)), rest)
            return
    yield conditions, messages


def _by_value(place: Place, messages: list[Message]) -> dict[Any, list[Message]]:
    found: dict[Any, list[Message]] = {}
    for message in messages:
        value = value_at(message.value, place)
        key = value if isinstance(value, str | int) else None
        if isinstance(key, bool):
            key = key or None  # a false flag means the same as an absent one
        found.setdefault(key, []).append(message)
    return found


def _candidates(messages: list[Message]) -> list[Place]:
    """Return the fields that may distinguish messages, the likelier ones first."""
    seen: Counter[Place] = Counter()
    for message in messages:
        for place, value in places_in(message.value):
            if (
                0 < len(place) <= _MAX_NESTING
                and isinstance(value, str | int)
                and not _is_in_tool_data(place)
            ):
                seen[place] += 1
    known = [
        place
        for place in seen
        if _rank(place) < _UNRANKED or _is_flag(place) or (seen[place] == len(messages) and len(place) < 3)
    ]
    return sorted(known, key=lambda place: (_tier(place), len(place), _rank(place)))[:_MAX_CANDIDATES]


_MAX_CANDIDATES: Final = 64
"""The most fields that are tried. Each of these fields is read in every message."""

_MAX_NESTING: Final = 4
_RANKS: Final = {name: rank for rank, name in enumerate((*NAMES_OF_MESSAGES, *ENUMS))}
_UNRANKED: Final = len(_RANKS)
_DATA: Final = {
    *("args", "arguments", "input", "result", "output", "toolargs", "toolinput"),
    *("params", "parameters"),
}


def _is_in_tool_data(place: Place) -> bool:
    return any(plain(step) in _DATA for step in place[:-1])


def _rank(place: Place) -> int:
    step = place[-1]
    if isinstance(step, int):
        return 0
    return _RANKS.get(plain(step), _UNRANKED)


def _tier(place: Place) -> int:
    rank = _rank(place)
    return (rank >= len(NAMES_OF_MESSAGES)) + (rank == _UNRANKED and not _is_flag(place))


def is_a_name(value: object) -> bool:
    """Return whether a value looks like the name of something: one to three words."""
    return isinstance(value, str) and bool(_NAME.fullmatch(value))


def _separates(place: Place, messages: list[Message], *, is_first: bool) -> bool:
    values = _by_value(place, messages)
    texts = [value for value in values if isinstance(value, str)]
    if any(isinstance(value_at(message.value, place), dict | list | float) for message in messages):
        return False
    if not 2 <= len(values) <= MAX_NAMES or not all(map(is_a_name, texts)):
        return False
    if _tier(place) > 1:
        return is_first and _names_shapes(place, messages, values)
    if texts and _rank(place) == _UNRANKED:
        return False
    is_inside = bool(TOOL_WORDS.intersection(words_of(place[:-1])))
    if plain(place[-1]) in ("name", "node") and (is_inside or any(map(is_tool_message, messages))):
        return False  # the name of a tool
    if _means_something(place, messages, values):
        return True
    numbers = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if _rank(place) < len(NAMES_OF_MESSAGES):
        if isinstance(place[-1], int):
            return len(values) * 2 <= len(messages) + 2
        is_short = len(plain(place[-1])) <= _SHORT or plain(place[-1]) in ("action", "command")
        repeats = len(values) * 2 <= len(messages) + 2
        if is_first and not is_short and not numbers:
            return True
        if numbers and not (repeats and is_first):
            return False
        return repeats or (len(messages) <= len(values) + 2 and _differ(place, values, most=1.0))
    if numbers or any(value is True for value in values):
        return False
    return len(values) * 3 <= len(messages) + 6 and _differ(place, values, most=0.5)


def _names_shapes(place: Place, messages: list[Message], values: dict[Any, list[Message]]) -> bool:
    """Return whether messages with different values of a field of any name have different fields."""
    is_known = all(isinstance(value, str) or type(value) is int for value in values)
    if not is_known or len(values) > _MOST_SHAPES or len(values) * 2 > len(messages):
        return False
    if plain(place[-1]) in NO_TEXT or plain(place[-1]).endswith("id") or is_tool_message(messages[0]):
        return False
    shapes = {value: _fields_of_all(found) for value, found in values.items()}
    return len({*shapes.values()}) == len(shapes)


_MOST_SHAPES: Final = 8


def _fields_of_all(messages: list[Message]) -> frozenset[Place]:
    """Return the fields that all messages have."""
    found: set[Place] | None = None
    for message in messages:
        own = {place for place, _ in places_in(message.value)}
        found = own if found is None else found & own
    return frozenset(found or ())


def _means_something(place: Place, messages: list[Message], values: dict[Any, list[Message]]) -> bool:
    """Return whether the values tell thinking from text, name a role, or mark starts and ends of calls."""
    names = [value for value in values if isinstance(value, str)]
    if any(value is True for value in values):
        return _is_flag(place)
    if not names or len(values) > MAX_NAMES // 8:
        return False
    if plain(place[-1]) == "role" and _ROLES.issuperset(map(str.lower, names)) and len(values) > 1:
        return True
    thoughts = [value for value in names if THINKING.search(english(value))]
    if thoughts and len(thoughts) < len(values) and _rank(place) < _UNRANKED:
        return True
    words = set(words_of(names))
    is_about_tools = any(is_tool_message(message) for message in messages)
    return is_about_tools and bool(words & TOOL_STARTS) and bool(words & TOOL_ENDS)


def _is_flag(place: Place) -> bool:
    """Return whether a field is a flag for thinking or for pieces."""
    name = plain(place[-1])
    return bool(THINKING.search(english(str(place[-1])))) or name in ("partial", "ispartial", "incremental")


def literal(text: str) -> str:
    """Return a text in the form of a literal in an expression."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def is_tool_message(message: Message) -> bool:
    """Return whether a name in a message states that the message describes a tool call."""
    fields = message.value if isinstance(message.value, dict) else {}
    spoken = [value for key, value in fields.items() if _RANKS.get(plain(key), _UNRANKED) < _UNRANKED]
    return bool(
        set(words_of([message.event, *fields, *spoken])) & (TOOL_WORDS - {"call", "action", "command"})
    )


def _differ(place: Place, values: dict[Any, list[Message]], *, most: float) -> bool:
    """Return whether messages with different values of a field also have different other fields."""
    shapes = {value: _shape(found) - {place} for value, found in values.items()}
    return len(set(shapes.values())) > 1 and len({*shapes.values()}) >= len(shapes) * (1 - most)


def _shape(messages: Iterable[Message]) -> frozenset[Place]:
    """Return the fields that are not empty in at least one of the messages."""
    shapes = [
        {place for place, value in places_in(message.value) if value not in (None, "", [], {}, False)}
        for message in messages
    ]
    return frozenset(set.intersection(*shapes)) if shapes else frozenset()
