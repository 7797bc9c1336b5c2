"""Places in messages: the path to a value, and the expression that reads the value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias

from streamweir.errors import MalformedEvent
from streamweir.expressions.scope import NAMES
from streamweir.jsontext import parse_json

__all__ = ["MAX_DEPTH", "Parsed", "Place", "Step", "expression", "parsed", "places_in", "value_at"]


class Parsed:
    """The step in a place that leads from a text to the JSON in that text."""

    def __repr__(self) -> str:
        return "from_json"


PARSED: Final = Parsed()

Step: TypeAlias = str | int | Parsed
Place: TypeAlias = tuple[Step, ...]
"""The keys, indices and steps into JSON text that lead from a message to a value."""

MAX_DEPTH: Final = 8
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parsed(value: Any) -> Any:
    """Return the object or list that a text contains as JSON; None for any other value."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return None
    try:
        found = parse_json(value.encode())[0]
    except (MalformedEvent, UnicodeEncodeError):
        return None
    return found if isinstance(found, dict | list) else None


def value_at(value: Any, place: Place) -> Any:
    """Return the value at a place; None if there is no value."""
    for step in place:
        if isinstance(step, Parsed):
            value = parsed(value)
        elif isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def places_in(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Yield each value within a value, with its place; a container precedes its items.

    A list is only entered if the whole value is a list. Items of other lists are separate records.
    """
    yield place, value
    if len(place) >= MAX_DEPTH:
        return
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from places_in(inner, (*place, key))
    elif isinstance(value, list) and not place:
        for index, inner in enumerate(value[:4]):
            yield from places_in(inner, (index,))


def expression(place: Place, root: str = "") -> str:
    """Return the expression for a place below the expression `root`; below the message if `root` is empty."""
    text = root
    for step in place:
        if isinstance(step, Parsed):
            text = f"from_json({text or '@'})"
        elif isinstance(step, int):
            text += f"[{step}]"
        else:
            text = f"{text or '@' * (step in NAMES)}"
            text += f".{_key(step)}" if text else _key(step)
    return text or "@"


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
