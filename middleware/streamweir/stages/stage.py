"""The interface of a stage: an event in, events out. No frame, no network, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import ClassVar, Protocol

from streamweir.events import EVENT_TYPES, Event

__all__ = ["Stage", "passed_on", "routes"]


class Stage(Protocol):
    """Ensures one property of a valid stream. It only gets the kinds of event that it handles."""

    handles: ClassVar[frozenset[type[Event]]]
    """The kinds of event that the stage handles; all others bypass it."""
    handles_with_meta: ClassVar[frozenset[type[Event]]]
    """The kinds of event that the stage handles if they have metadata; most events have none."""

    def process(self, event: Event) -> Iterable[Event] | None:
        """Return the events that replace `event`; None to pass it on unchanged."""


def passed_on(stage: Stage, event: Event) -> Iterable[Event]:
    """Return the events that `stage` returns for `event`."""
    handled = stage.handles if event.meta is None else stage.handles_with_meta
    events = stage.process(event) if type(event) in handled else None
    return (event,) if events is None else events


Routes = Mapping[type[Event], tuple[tuple[int, ...], ...]]
"""For each kind of event and each position in the chain: the later stages that handle the kind."""


@lru_cache
def routes(stages: tuple[type[Stage], ...], *, with_meta: bool) -> Routes:
    """Return the stages that an event goes through, by kind, with `meta` or without; computed once."""
    handled = [stage.handles_with_meta if with_meta else stage.handles for stage in stages]

    def path(kind: type[Event], start: int) -> tuple[int, ...]:
        return tuple(index for index in range(start, len(stages)) if kind in handled[index])

    positions = range(len(stages) + 1)
    return {kind: tuple(path(kind, start) for start in positions) for kind in EVENT_TYPES.values()}
