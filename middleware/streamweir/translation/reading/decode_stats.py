"""Counts the messages of a stream that its decoder knew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from streamweir.codec.head_messages import head_message
from streamweir.codec.message_kinds import message_kind
from streamweir.events import Content, Data, Event, SessionEnd, SessionStart, Status
from streamweir.framing import Frame

__all__ = ["MAX_NAMED", "DecodeStats"]

MAX_NAMED: Final = 5
"""The most kinds of unknown messages that are named."""

_MOST_LOOKED_AT: Final = 200


class DecodeStats:
    """The messages of one stream, known and unknown.

    Attributes:
        has_any: the decoder knew a message other than the end.
        messages: the number of messages with events, except those read by a template.
        unknown: the number of messages that the decoder did not know.
        kinds: the kinds of the first unknown messages, each once.
    """

    has_any = False
    messages = 0
    unknown = 0
    kinds: Sequence[str] = ()
    _types: tuple[str, ...] = ()
    """The values of `type` in the messages whose kinds have been named."""

    def note(self, events: Sequence[Event], frame: Frame, is_complete: bool) -> None:
        """Count a message.

        Args:
            events: the events of the message; empty for a held-back failure whose kind is unknown.
            frame: the frame of the message.
            is_complete: the decoder has read the end. At the end and after it, events about the run do not
                set `has_any`.
        """
        first = events[0] if events else None
        is_alone = len(events) == 1 and not is_complete
        if (type(first) is Content and first.content) or (type(first) is SessionStart and is_alone):
            self.has_any = True  # nearly all
            return
        if len(events) == 1:
            known = () if type(first) is Data and first.unknown else events
        else:
            known = [event for event in events if type(event) is not Data or not event.unknown]
        if not known:
            self.note_unknown(frame)
        elif not self.has_any:
            is_end = is_complete or SessionEnd in map(type, events)
            self.has_any = not (is_end and all(map(_is_about_the_run, known)))

    def note_unknown(self, frame: Frame) -> None:
        """Count a message that the decoder did not know."""
        self.unknown += 1
        if len(self.kinds) < MAX_NAMED and self.unknown <= _MOST_LOOKED_AT:
            self._name(frame)

    def _name(self, frame: Frame) -> None:
        value = frame.json_or(None)
        word: Any = value.get("type") if type(value) is dict else None
        if word is not None and word in self._types:  # a message is named by its type first of all
            return
        message = head_message(frame)
        kind = None if message is None else message_kind(message)
        if kind is not None and kind not in self.kinds:
            self.kinds = (*self.kinds, kind)
            if kind == f"type={word}":
                self._types = (*self._types, word)


def _is_about_the_run(event: Event) -> bool:
    """Return whether the event is about the run, not a part of an answer."""
    return isinstance(event, SessionStart | SessionEnd | Status) or (
        isinstance(event, Content) and not event.content
    )
