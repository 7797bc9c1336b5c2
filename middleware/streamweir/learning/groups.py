"""Messages of one kind: which there are, and what tells them from the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final, NamedTuple

from streamweir.learning.field_names import (
    ENUMS,
    NAMES_OF_MESSAGES,
    THINKING,
    TOOL_ENDS,
    TOOL_STARTS,
    TOOL_WORDS,
    plain,
    words_of,
)
from streamweir.learning.places import Place, expression, places_in, value_at

__all__ = ["Condition", "Group", "Message", "is_a_name", "literal", "split"]

MAX_NAMES: Final = 80
"""A field with more values than that names nothing."""

_NAME: Final = re.compile(r"[\w.:/@+-]{1,64}(?: [\w.:/@+-]{1,30}){0,2}")
_SHORT: Final = 3
_ROLES: Final = {"user", "human", "assistant", "ai", "system", "tool", "function", "bot", "model"}


class Message(NamedTuple):
    """What one frame says.

    Attributes:
        body: which body it is of.
        frame: its place among all frames.
        event: the SSE event name, None without one.
        value: the JSON, the text, or what a line was taken apart into.
    """

    body: int
    frame: int
    event: str | None
    value: Any


class Condition(NamedTuple):
    """A field with one value; None stands for an absent one too."""

    place: Place
    value: Any

    @property
    def can_be_matched(self) -> bool:
        """Whether `match` can say it, which goes through objects only."""
        return all(isinstance(step, str) for step in self.place)

    def when(self, root: str = "") -> str:
        """Return it as an expression."""
        path = expression(self.place, root)
        if isinstance(self.value, bool):
            return path if self.value else f"!({path})"
        if self.value is None:
            return f"{path} == null"
        if isinstance(self.value, str):
            return f"{path} == {literal(self.value)}"
        return f"{path} == `{self.value}`"


@dataclass(eq=False)
class Group:
    """Messages that mean the same.

    Attributes:
        messages: in order.
        event: the SSE event name that they have and others do not; `message` for none.
        prefix: what their lines begin with.
        conditions: fields that tell them apart.
        root: the expression for a place in them.
        is_text: they are text, not JSON.
        is_call: their form is that of a tool call, or of its result.
    """

    messages: list[Message]
    _: KW_ONLY
    event: str | None = None
    prefix: str | None = None
    conditions: tuple[Condition, ...] = ()
    root: Callable[[Place], str] = expression
    is_text: bool = False
    is_call: bool = False

    @property
    def names(self) -> list[str]:
        """What these messages are called, by all that tells them apart."""
        values = [condition.value for condition in self.conditions]
        flags = [str(c.place[-1]) for c in self.conditions if c.value is True and c.place]
        named = [self.event, self.prefix, *(value for value in values if isinstance(value, str)), *flags]
        return [name for name in named if name and name != "message"]

    @property
    def label(self) -> str:
        """What a report calls them."""
        values = [
            str(c.value) for c in self.conditions if c.value is not None and not isinstance(c.value, bool)
        ]
        flags = [
            f"{'' if c.value else '!'}{c.place[-1]}" for c in self.conditions if isinstance(c.value, bool)
        ]
        parts = [part for part in (self.event, (self.prefix or "").strip(), *values, *flags) if part]
        return " ".join(dict.fromkeys(parts)) or "message"

    @property
    def words(self) -> list[str]:
        """The words of its names."""
        return words_of(self.names)

    @property
    def named_places(self) -> set[Place]:
        """Where the names stand."""
        return {condition.place for condition in self.conditions}


def split(messages: list[Message], event: str | None = None) -> Iterator[Group]:
    """Yield the kinds of JSON messages in `messages`, which have one SSE event name or are not told by it."""
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
            key = key or None  # false says no more than an absent flag
        found.setdefault(key, []).append(message)
    return found


def _candidates(messages: list[Message]) -> list[Place]:
    """Fields that may tell messages apart, the likelier first."""
    seen: Counter[Place] = Counter()
    for message in messages:
        for place, value in places_in(message.value):
            if (
                0 < len(place) <= _MAX_NESTING
                and isinstance(value, str | int)
                and not _is_in_tool_data(place)
            ):
                seen[place] += 1
    known = [place for place in seen if _rank(place) < _UNRANKED or _is_flag(place)]
    return sorted(known, key=lambda place: (_tier(place), len(place), _rank(place)))[:_MAX_CANDIDATES]


_MAX_CANDIDATES: Final = 64
"""So many fields are tried: each is looked at in every message."""

_MAX_NESTING: Final = 4
_RANKS: Final = {name: rank for rank, name in enumerate((*NAMES_OF_MESSAGES, *ENUMS))}
_UNRANKED: Final = len(_RANKS)
_DATA: Final = {
    "args",
    "arguments",
    "input",
    "result",
    "output",
    "toolargs",
    "toolinput",
    "params",
    "parameters",
}


def _is_in_tool_data(place: Place) -> bool:
    return any(plain(step) in _DATA for step in place[:-1])


def _rank(place: Place) -> int:
    step = place[-1]
    if isinstance(step, int):
        return 0
    return _RANKS.get(plain(step), _UNRANKED)


def _tier(place: Place) -> int:
    return 0 if _rank(place) < len(NAMES_OF_MESSAGES) else 1


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
    if texts and _rank(place) == _UNRANKED:
        return False
    is_inside = bool(TOOL_WORDS.intersection(words_of(place[:-1])))
    if plain(place[-1]) in ("name", "node") and (is_inside or any(map(_is_about_tools, messages))):
        return False  # the tool's
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


def _means_something(place: Place, messages: list[Message], values: dict[Any, list[Message]]) -> bool:
    """The values say what is thought and what is said, who speaks, or whether a call begins or ends."""
    names = [value for value in values if isinstance(value, str)]
    if any(value is True for value in values):
        return _is_flag(place)
    if not names or len(values) > MAX_NAMES // 8:
        return False
    if plain(place[-1]) == "role" and _ROLES.issuperset(map(str.lower, names)) and len(values) > 1:
        return True
    thoughts = [value for value in names if THINKING.search(value)]
    if thoughts and len(thoughts) < len(values) and _rank(place) < _UNRANKED:
        return True
    words = set(words_of(names))
    is_about_tools = any(_is_about_tools(message) for message in messages)
    return is_about_tools and bool(words & TOOL_STARTS) and bool(words & TOOL_ENDS)


def _is_flag(place: Place) -> bool:
    """A field that says what is thought, or what is only a piece."""
    name = plain(place[-1])
    return bool(THINKING.search(str(place[-1]))) or name in ("partial", "ispartial", "incremental")


def literal(text: str) -> str:
    """Return a text as it stands in an expression."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _is_about_tools(message: Message) -> bool:
    fields = message.value if isinstance(message.value, dict) else {}
    spoken = [value for key, value in fields.items() if _RANKS.get(plain(key), _UNRANKED) < _UNRANKED]
    return bool(
        set(words_of([message.event, *fields, *spoken])) & (TOOL_WORDS - {"call", "action", "command"})
    )


def _differ(place: Place, values: dict[Any, list[Message]], *, most: float) -> bool:
    """Messages with different values have different fields: for each value, those that all of them have."""
    shapes = {value: _shape(found) - {place} for value, found in values.items()}
    return len(set(shapes.values())) > 1 and len({*shapes.values()}) >= len(shapes) * (1 - most)


def _shape(messages: Iterable[Message]) -> frozenset[Place]:
    """The fields that say something in all messages."""
    shapes = [
        {place for place, value in places_in(message.value) if value not in (None, "", [], {}, False)}
        for message in messages
    ]
    return frozenset(set.intersection(*shapes)) if shapes else frozenset()
