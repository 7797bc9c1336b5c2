"""Events in, events out: stages on their own and in their chain."""

from collections.abc import Iterable
from typing import Any

from streamweir.events import Event, wire_data
from streamweir.stages import Stage, passed_on


def run(stage: Stage, events: Iterable[Event]) -> list[Event]:
    """What `stage` gives for `events`; what it does not handle passes it by."""
    return [out for event in events for out in passed_on(stage, event)]


def shown(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """The events as tuples that read well: the type, and the values of the data on the wire."""
    return [(event.type, *wire_data(event).values()) for event in events]
