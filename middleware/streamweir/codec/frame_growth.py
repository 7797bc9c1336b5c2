"""Bounds the size of all events of one frame, even if the events repeat a part of the frame many times.

Source: the standard protocol 1.1, section 3 rule 11; the dialect-file contract, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from streamweir.codec.base import MAX_EVENTS_OF_A_FRAME
from streamweir.codec.short_names import with_short_names
from streamweir.errors import LimitExceeded, MalformedEvent
from streamweir.events import Event
from streamweir.ids import MAX_ID_CHARACTERS, short_id
from streamweir.json_size import JsonSizes

__all__ = [
    "GROWTH",
    "FrameGrowth",
    "append_bounded",
    "bounded_events",
    "largest_frame_of",
    "uncounted_events",
]

GROWTH: Final = 4
"""The events of one frame may be at most this many times as large as an event (`limits.event_bytes`)."""

_ENVELOPE: Final = 160
"""The bytes of an event in addition to its fields: its type, the request id, its number and its time."""

_COPIES: Final = 8
"""The most times that one event of a built-in decoder holds the same part of its frame."""

_SMALL: Final = 4 << 20
"""Below this limit, in bytes, every event is counted: cells that fill a table may take a quarter."""

_REMEMBERED: Final = 8 << 10
"""The bytes of an event that may come from the decoder's memory: a few ids of the greatest length."""


def uncounted_events(frame_bytes: int, most: int) -> int:
    """Return the number of events of a frame that certainly fit in `most` bytes and need no counting."""
    if most < _SMALL:
        return 0
    return min(most // (_COPIES * frame_bytes + _REMEMBERED), MAX_EVENTS_OF_A_FRAME)


@lru_cache(maxsize=16)
def largest_frame_of(events: int, most: int) -> int:
    """Return the size in bytes of the largest frame for which `uncounted_events` is at least `events`; -1 if
    there is none.
    """
    if most < _SMALL or events > MAX_EVENTS_OF_A_FRAME:
        return -1
    return (most // events - _REMEMBERED) // _COPIES


class FrameGrowth:
    """Counts the JSON bytes of the events of one frame.

    Args:
        most: the most bytes that the events may have together.
    """

    __slots__ = ("_digests", "_left", "_sizes")

    def __init__(self, most: int) -> None:
        self._sizes = JsonSizes(most)
        self._left = most
        self._digests: dict[str, str] = {}

    def take(self, event: Event) -> Event:
        """Count `event`, and return it with ids that are too long replaced by their digests.

        Raises:
            MalformedEvent: the events are larger than the events of one frame may be.
        """
        event = with_short_names(event, self._short)
        size = _ENVELOPE
        for name in event.__struct_fields__:
            value = getattr(event, name)
            if value is not None:
                size += self._sizes.of(value)
        self._left -= size
        if self._left < 0:
            raise MalformedEvent("the events of a frame are larger than allowed")
        return event

    def _short(self, text: str) -> str:
        """Return `short_id(text)`. The result is cached, because a long id may be in each of the events."""
        if len(text) <= MAX_ID_CHARACTERS:
            return text
        if text not in self._digests:
            self._digests[text] = short_id(text)
        return self._digests[text]


def append_bounded(events: list[Event], decoded: Iterable[Event], few: int, most: int) -> None:
    """Append the events of one frame; all of them have ids of bounded length if one of them was counted.

    Args:
        events: an empty list.
        decoded: the events.
        few: the number of events that need not be counted.
        most: the most bytes that the events may have together.

    Raises:
        MalformedEvent: the events are larger; those before are in the list.
        LimitExceeded: there are more events than one frame may have.
    """
    growth: FrameGrowth | None = None
    for event in decoded:
        if len(events) < few:
            events.append(event)
            continue
        if growth is None:
            growth = FrameGrowth(most)
            events[:] = map(growth.take, events)
        taken = growth.take(event)
        if len(events) >= MAX_EVENTS_OF_A_FRAME:
            raise LimitExceeded("one message is more events than allowed")
        events.append(taken)


def bounded_events(events: Iterable[Event], frame_bytes: int, most: int) -> Iterator[Event]:
    """Yield `events`, which come from one frame, while they are no more than `most` bytes of JSON together.

    Raises:
        MalformedEvent: the events are larger.
    """
    few = uncounted_events(frame_bytes, most)
    first: list[Event] = []
    growth: FrameGrowth | None = None
    for event in events:
        if growth is None and len(first) < few:
            first.append(event)
            yield event
            continue
        if growth is None:
            growth = FrameGrowth(most)
            for earlier in first:
                growth.take(earlier)
        yield growth.take(event)
