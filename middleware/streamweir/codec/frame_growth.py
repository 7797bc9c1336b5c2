"""How much the events of one frame are together, which is bounded however often they repeat a part of it.

Source: the standard protocol 1.1, section 3 rule 11; the dialect-file contract, section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.codec.base import MAX_EVENTS_OF_A_FRAME
from streamweir.codec.short_names import with_short_names
from streamweir.errors import MalformedEvent
from streamweir.events import Event
from streamweir.ids import MAX_ID_CHARACTERS, short_id
from streamweir.json_size import JsonSizes

__all__ = ["GROWTH", "FrameGrowth", "bounded_events", "largest_frame_of", "uncounted_events"]

GROWTH: Final = 4
"""The events of one frame are at most so many times as large as one event may be (`limits.event_bytes`)."""

_ENVELOPE: Final = 160
"""Bytes of an event beside its fields: its type, the id of the request, its number and its time."""

_COPIES: Final = 8
"""How many times one event of a decoder of ours may hold the same part of its frame, at most."""

_SMALL: Final = 4 << 20
"""Below so many bytes every event counts: a table that is filled up may alone be a quarter of them."""

_REMEMBERED: Final = 8 << 10
"""Bytes of an event that may come from the decoder's memory: a few ids of the longest kind."""


def uncounted_events(frame_bytes: int, most: int) -> int:
    """Return how many events of a frame of that size are surely no more than `most` bytes."""
    if most < _SMALL:
        return 0
    return min(most // (_COPIES * frame_bytes + _REMEMBERED), MAX_EVENTS_OF_A_FRAME)


def largest_frame_of(events: int, most: int) -> int:
    """Return the bytes of the largest frame for which `uncounted_events` is at least `events`, or -1."""
    if most < _SMALL or events > MAX_EVENTS_OF_A_FRAME:
        return -1
    return (most // events - _REMEMBERED) // _COPIES


class FrameGrowth:
    """Counts the events of one frame as JSON.

    Args:
        most: bytes that they may have together.
    """

    __slots__ = ("_digests", "_left", "_sizes")

    def __init__(self, most: int) -> None:
        self._sizes = JsonSizes(most)
        self._left = most
        self._digests: dict[str, str] = {}

    def take(self, event: Event) -> Event:
        """Count `event`, and return it with its ids as short as they leave.

        Raises:
            MalformedEvent: the events are more than one frame may become.
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
        """Return `short_id(text)`, which is computed once: a long id may be in each of the events."""
        if len(text) <= MAX_ID_CHARACTERS:
            return text
        if text not in self._digests:
            self._digests[text] = short_id(text)
        return self._digests[text]


def bounded_events(events: Iterable[Event], frame_bytes: int, most: int) -> Iterator[Event]:
    """Yield `events`, all of one frame, as long as they are no more than `most` bytes of JSON.

    Raises:
        MalformedEvent: they are more.
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
