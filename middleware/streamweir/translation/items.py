"""The items that a reader yields and a pipeline takes: events, runs of text, events that are safe already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias, final

import msgspec

from streamweir.events import Content, Event, Thinking
from streamweir.framing import Frame

__all__ = ["FrameItems", "SafeEvent", "StreamItem", "TextRun", "events_of", "items_of"]


@final
class TextRun(msgspec.Struct, frozen=True, gc=False):
    """Pieces of text that differ in nothing but their text.

    Attributes:
        event: a piece like all of them; the same object for more of the same.
        texts: what they say; neither is the list empty, nor one of them.
    """

    event: Content | Thinking
    texts: list[str]

    def __iter__(self) -> Iterator[Content | Thinking]:
        """Yield the events that the run stands for."""
        return map(self.event.with_text, self.texts)


@final
class SafeEvent(msgspec.Struct, frozen=True, gc=False):
    """An event that this process has made: its texts were made safe then, and are left as they are."""

    event: Event


StreamItem: TypeAlias = Event | TextRun | SafeEvent

FrameItems: TypeAlias = tuple[Sequence[StreamItem], Frame | None]
"""The items that were read from one frame, with the frame.

The frame has its bytes (`Frame.raw`) only if the reader keeps them. For a `TextRun` that is read without
cutting it is one frame whose bytes are those of the whole run. None: no frame of the upstream says the items.
"""


def items_of(read: Iterable[FrameItems]) -> Iterator[StreamItem]:
    """Yield the items that were read, without their frames."""
    for items, _ in read:
        yield from items


def events_of(read: Iterable[FrameItems]) -> Iterator[Event]:
    """Yield the single events that were read, without their frames."""
    for item in items_of(read):
        if isinstance(item, TextRun):
            yield from item
        else:
            yield item.event if isinstance(item, SafeEvent) else item
