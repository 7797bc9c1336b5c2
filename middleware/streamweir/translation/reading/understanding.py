"""How much of a stream the rules of its dialect have known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamweir.codec.head_messages import head_message
from streamweir.codec.message_kinds import message_kind
from streamweir.events import Content, Data, Event, SessionEnd, SessionStart, Status
from streamweir.framing import Frame

__all__ = ["MAX_NAMED", "Understanding"]

MAX_NAMED: Final = 5
"""So many kinds of unknown events are named."""

_MOST_LOOKED_AT: Final = 200


class Understanding:
    """What was understood of one stream.

    Attributes:
        has_any: a rule of the dialect has known a message other than the end.
        messages: how many messages meant anything, those that a template read aside.
        unknown: how many messages no rule knew.
        kinds: of these, the first few, each once.
    """

    __slots__ = ("has_any", "kinds", "messages", "unknown")

    def __init__(self) -> None:
        self.has_any = False
        self.messages = 0
        self.unknown = 0
        self.kinds: list[str] = []

    def note(self, events: Sequence[Event], frame: Frame, is_end: bool) -> None:
        """Note whether a rule of the dialect knew the message that gave `events`.

        Args:
            events: what the message means.
            frame: the message.
            is_end: it is the end, or comes behind it. What such a message says of the run is no answer.
        """
        is_known = False
        for event in events:
            if type(event) is not Data or not event.unknown:
                is_known = True
                self.has_any = self.has_any or not (is_end and _is_about_the_run(event))
        if events and not is_known:
            self.unknown += 1
            if len(self.kinds) < MAX_NAMED and self.unknown <= _MOST_LOOKED_AT:
                self._name(frame)

    def _name(self, frame: Frame) -> None:
        message = head_message(frame)
        kind = None if message is None else message_kind(message)
        if kind is not None and kind not in self.kinds:
            self.kinds.append(kind)


def _is_about_the_run(event: Event) -> bool:
    """Does the event say how the run is, and nothing of what came of it?"""
    return isinstance(event, SessionStart | SessionEnd | Status) or (
        isinstance(event, Content) and not event.content
    )
