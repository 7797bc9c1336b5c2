"""What a stage is: an event in, events out. No frame, no network, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import ClassVar, Protocol

from streamweir.events import EVENT_TYPES, Event

__all__ = ["Stage", "passed_on", "routes"]


class Stage(Protocol):
    """One concern of a valid stream. Only the kinds of event in `handles` are shown to it."""

    handles: ClassVar[frozenset[type[Event]]]
    """The kinds of event that the stage looks at; all others pass it by."""

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return what goes on in place of `event`; None where that is `event` as it is."""
        ...


def passed_on(stage: Stage, event: Event) -> Iterable[Event]:
    """Return what `stage` lets through for `event`."""
    events = stage.process(event) if type(event) in stage.handles else None
    return (event,) if events is None else events


Routes = Mapping[type[Event], tuple[tuple[int, ...], ...]]
"""For each kind of event and each position in the chain: the stages from there on that handle the kind."""


@lru_cache
def routes(stages: tuple[type[Stage], ...]) -> Routes:
    """Return which of `stages` an event goes through; found out once for all streams."""

    def path(kind: type[Event], start: int) -> tuple[int, ...]:
        return tuple(index for index in range(start, len(stages)) if kind in stages[index].handles)

    positions = range(len(stages) + 1)
    return {kind: tuple(path(kind, start) for start in positions) for kind in EVENT_TYPES.values()}
