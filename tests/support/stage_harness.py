"""Events in, events out: stages on their own and in their chain."""

import gc
import pickle
import tracemalloc
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from streamweir.events import Event, wire_data
from streamweir.stages import Stage, passed_on


def run(stage: Stage, events: Iterable[Event]) -> list[Event]:
    """What `stage` gives for `events`; what it does not handle passes it by."""
    return [out for event in events for out in passed_on(stage, event)]


def shown(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """The events as tuples that read well: the type, and the values of the data on the wire."""
    return [(event.type, *wire_data(event).values()) for event in events]


def kept_after(make: Callable[[], Stage], events: list[Event]) -> int:
    """How many bytes a stage keeps when it has seen `events`, and nobody else keeps what it gave."""
    gc.collect()
    tracemalloc.start()
    try:
        stage = make()
        for event in events:  # as fresh as from a decoder: what is kept of it is all that keeps it
            deque(passed_on(stage, pickle.loads(pickle.dumps(event))), maxlen=0)
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
