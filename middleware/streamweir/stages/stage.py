"""What a stage is: an event in, events out. No frame, no network, no clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from streamweir.events import Event

__all__ = ["Stage"]


class Stage(Protocol):
    """One concern of a valid stream. Only the kinds of event in `handles` are shown to it."""

    @property
    def handles(self) -> frozenset[type[Event]]:
        """The kinds of event that the stage looks at; all others pass it by."""
        ...

    def process(self, event: Event) -> Iterable[Event]:
        """Return what goes on in place of `event`."""
        ...
