"""What a stage is: an event in, events out. No frame, no network, no clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from streamweir.events import EVENT_TYPES, Event

__all__ = ["Stage", "routes"]


class Stage(Protocol):
    """One concern of a valid stream. Only the kinds of event in `handles` are shown to it."""

    @property
    def handles(self) -> frozenset[type[Event]]:
        """The kinds of event that the stage looks at; all others pass it by."""
        ...

    def process(self, event: Event) -> Iterable[Event]:
        """Return what goes on in place of `event`."""
        ...


_Step = tuple[Callable[[Event], Iterable[Event]], int]
"""A stage, and where to go on after it."""


def routes(stages: Sequence[Stage]) -> dict[type[Event], tuple[_Step | None, ...]]:
    """For each kind of event and each position in `stages`: the next that handles the kind, or None."""

    def step(kind: type[Event], start: int) -> _Step | None:
        rest = range(start, len(stages))
        return next(((stages[i].process, i + 1) for i in rest if kind in stages[i].handles), None)

    positions = range(len(stages) + 1)
    return {kind: tuple(step(kind, start) for start in positions) for kind in EVENT_TYPES.values()}
