"""How much of a stream the rules of its dialect have known."""

from __future__ import annotations

from collections.abc import Sequence

from streamweir.events import Content, Data, Event, SessionEnd, SessionStart, Status

__all__ = ["Understanding"]


class Understanding:
    """What was understood of one stream.

    Attributes:
        has_any: a rule of the dialect has known a message other than the end.
        unknown: how many messages no rule knew.
    """

    __slots__ = ("has_any", "unknown")

    def __init__(self) -> None:
        self.has_any = False
        self.unknown = 0

    def note(self, events: Sequence[Event], is_end: bool) -> None:
        """Note whether a rule of the dialect knew the message that gave `events`.

        Args:
            events: what the message means.
            is_end: it is the end, or comes behind it. What such a message says of the run is no answer.
        """
        is_known = False
        for event in events:
            if type(event) is not Data or not event.unknown:
                is_known = True
                self.has_any = self.has_any or not (is_end and _is_about_the_run(event))
        if events and not is_known:
            self.unknown += 1


def _is_about_the_run(event: Event) -> bool:
    """Does the event say how the run is, and nothing of what came of it?"""
    return isinstance(event, SessionStart | SessionEnd | Status) or (
        isinstance(event, Content) and not event.content
    )
