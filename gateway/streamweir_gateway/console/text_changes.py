"""Finds out whether a stage removed a text of an event for the client, or left out a repeated text.

Source: the contract of capture files, section 2 (`redacted`, `repeated`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import msgspec

from streamweir.events import Content, Event, Thinking

__all__ = ["change_of"]

_MOST_TEXTS: Final = 10_000
"""The most texts of one event that are compared."""


def change_of(event: Event, replaced: Sequence[Event]) -> Literal["redacted", "repeated"] | None:
    """Return the kind of change between an event and the events that a stage put in its place.

    Args:
        event: the event as it was read.
        replaced: the events that the stage put in its place; empty if the stage left the event out.
    """
    kind = type(event)
    if kind is Content or kind is Thinking:  # `isinstance` takes longer for these classes
        return _change_of_text(event, replaced)  # type: ignore[arg-type]
    if not replaced or any(one is event for one in replaced) or (len(replaced) == 1 and replaced[0] == event):
        return None
    left = {*_texts_of(replaced)}
    return None if all(text in left for text in _texts_of([event])) else "redacted"


def _change_of_text(event: Content | Thinking, replaced: Sequence[Any]) -> Literal["repeated"] | None:
    """Return whether the stage left out some text of the event, or made the event replace earlier text."""
    kind = type(event)
    if len(replaced) == 1 and type(one := replaced[0]) is kind:  # nearly always
        replaces = kind is Content and one.op == "replace" and event.op != "replace"  # type: ignore[union-attr]
        return "repeated" if replaces or one.content != event.content else None
    left = ""
    was_piece = isinstance(event, Content) and event.op != "replace"
    for one in replaced:
        if type(one) is kind:
            if was_piece and isinstance(one, Content) and one.op == "replace":
                return "repeated"
            left += one.content
    return None if left == event.content else "repeated"


def _texts_of(events: Sequence[Event]) -> Iterator[str]:
    """Yield the texts in events that have more than one letter; keys of objects are not texts."""
    waiting: list[Any] = [msgspec.structs.asdict(event) for event in events]
    count = 0
    while waiting and count < _MOST_TEXTS:
        value = waiting.pop()
        count += 1
        if isinstance(value, str) and len(value) > 1:
            yield value
        elif isinstance(value, dict):
            waiting += value.values()
        elif isinstance(value, list | tuple):
            waiting += value
