"""Tracks the messages that have text and have not ended, for a dialect that marks the ends of messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from streamweir.events import Content, Event
from streamweir.ids import short_id

__all__ = ["OpenMessages"]

MAX_OPEN: Final = 1000
"""The most open messages whose ids are remembered."""


class OpenMessages:
    """The open messages of one stream, by id and channel."""

    def __init__(self) -> None:
        self._open: set[tuple[str, str]] = set()

    @property
    def is_any_open(self) -> bool:
        """Whether a message has text and has not ended."""
        return bool(self._open)

    def note(self, events: Iterable[Event]) -> Iterator[Event]:
        """Yield `events`, and note the messages that these events begin and end."""
        for event in events:
            if isinstance(event, Content):
                key = (short_id((event.meta or {}).get("message_id", "")), short_id(event.channel or ""))
                if event.is_complete:
                    self._open.discard(key)
                elif len(self._open) < MAX_OPEN:
                    self._open.add(key)
            yield event
