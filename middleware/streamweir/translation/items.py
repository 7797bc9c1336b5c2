"""What a reader gives and a pipeline takes: events, runs of text, and events that are safe as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, final

import msgspec

from streamweir.events import Content, Event, Thinking

__all__ = ["SafeEvent", "StreamItem", "TextRun", "events_of"]


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


def events_of(items: Iterable[StreamItem]) -> Iterator[Event]:
    """Yield the single events that `items` stand for."""
    for item in items:
        if isinstance(item, TextRun):
            yield from item
        else:
            yield item.event if isinstance(item, SafeEvent) else item
