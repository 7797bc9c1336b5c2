"""The items that a reader yields and a pipeline takes: events, runs of texts, and events marked as safe."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeAlias, final

import msgspec

from streamweir.codec.turn_collector import TurnCollector
from streamweir.events import Content, Event, Thinking
from streamweir.framing import Frame

__all__ = [
    "DONE",
    "FrameItems",
    "ReadFrame",
    "SafeEvent",
    "StreamItem",
    "TextRun",
    "ThoughtRun",
    "collected",
    "events_of",
    "frame_of_run",
    "items_of",
    "raising",
]

DONE: Final = b"[DONE]"
"""The data of a mark behind the last message."""

_text: Final = msgspec.json.Decoder(str).decode


@final
class TextRun(msgspec.Struct, frozen=True, gc=False):
    """A run of events that differ only in their text.

    Attributes:
        event: an event with the common fields. A later run with the same object continues the same text.
        texts: the texts; neither the list nor a text is empty. If `event.whole` is `snapshot`, each event of
            the run holds all of its text so far, and `texts` are what each adds to it.
        whole: the JSON of the whole text after the last of them, without its last quote; empty if the texts
            are pieces.
    """

    event: Content | Thinking
    texts: list[str]
    whole: bytes = b""

    def __iter__(self) -> Iterator[Content | Thinking]:
        """Yield the events of the run."""
        return self._wholes() if self.whole else map(self.event.with_text, self.texts)

    def _wholes(self) -> Iterator[Content | Thinking]:
        whole = _text(self.whole + b'"')
        end = len(whole) - sum(map(len, self.texts))
        for text in self.texts:
            end += len(text)
            yield msgspec.structs.replace(self.event, content=whole[:end])


@final
class ThoughtRun(msgspec.Struct, frozen=True, gc=False):
    """A run of thoughts that differ in their text and in the id of their message.

    Attributes:
        event: an event with the common fields. Its metadata has a `message_id` and no `extra`.
        ids: the id of each text; none is empty or too long for an event.
        texts: the texts; neither the list nor a text is empty.
        room: roughly the most bytes that ids and texts take.
    """

    event: Thinking
    ids: list[str]
    texts: list[str]
    room: int

    def __iter__(self) -> Iterator[Thinking]:
        """Yield the events of the run."""
        stage, meta = self.event.stage, self.event.meta or {}
        for name, text in zip(self.ids, self.texts, strict=True):
            yield Thinking(text, stage, meta={**meta, "message_id": name})

    @property
    def first(self) -> Thinking:
        """The first event of the run."""
        return next(iter(self))

    def begins(self, count: int) -> ThoughtRun:
        """Return the first `count` thoughts."""
        return ThoughtRun(self.event, self.ids[:count], self.texts[:count], self.room)

    def rest(self, count: int) -> ThoughtRun:
        """Return the thoughts behind the first `count`."""
        if not count:
            return self
        return ThoughtRun(self.event, self.ids[count:], self.texts[count:], self.room)


@final
class SafeEvent(msgspec.Struct, frozen=True, gc=False):
    """An event made in this process whose texts are safe already: the sanitizer passes it unchanged."""

    event: Event


StreamItem: TypeAlias = Event | TextRun | ThoughtRun | SafeEvent

FrameItems: TypeAlias = tuple[Sequence[StreamItem], Frame | None]
"""The items that were read from one frame, with the frame.

The frame has its bytes (`Frame.raw`) only if the reader keeps them. For a text run it is one frame with the
bytes of all its frames, and of the blocks that share it. None: the items do not come from a frame of the
upstream.
"""

ReadFrame: TypeAlias = Event | Iterable[FrameItems]
"""The only event of a frame, if it is no text; otherwise frames with their items."""


def frame_of_run(raws: Sequence[bytes]) -> Frame | None:
    """Return one frame with the bytes of the frames of a text run; None if they are not kept."""
    return Frame(b"", raw=b"".join(raws)) if raws else None


def raising(error: Exception) -> Iterator[FrameItems]:
    """Return an iterator that raises an exception, as the iterator of a parser does."""
    yield from ()
    raise error


def collected(read: Iterable[FrameItems], collector: TurnCollector) -> Iterator[FrameItems]:
    """Yield the items, and give `collector` the runs of texts; the reader gives it single frames."""
    for items, frame in read:
        first = items[0] if items else None
        if type(first) is TextRun:
            collector.take_texts(first.event, first.texts)
        yield items, frame


def items_of(read: Iterable[FrameItems]) -> Iterator[StreamItem]:
    """Yield the items that were read, without their frames."""
    for items, _ in read:
        yield from items


def events_of(read: Iterable[FrameItems]) -> Iterator[Event]:
    """Yield the single events that were read, without their frames."""
    for item in items_of(read):
        if isinstance(item, TextRun | ThoughtRun):
            yield from item
        else:
            yield item.event if isinstance(item, SafeEvent) else item
