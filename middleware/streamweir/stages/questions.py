"""Holds questions back until the end of a stream, if the turn has to be stored before an answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from streamweir.events import Error, Event, Interaction, SessionEnd

__all__ = ["HeldQuestions"]


class HeldQuestions:
    """Holds questions until an end, an error or the answer to a question comes, and passes them on before
    that event.

    A client that is asked for the result of a call sends it at once. Before the end of the stream it does not
    know all calls of the turn, and the turn is not stored.

    Attributes:
        is_on: questions are held. Set before the first event if the turn of the stream is kept; cleared by
            the first frame that is copied to a client, because copies cannot be held.
        held: the questions that wait; None if there are none.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset({Interaction, SessionEnd, Error})
    handles_with_meta: ClassVar[frozenset[type[Event]]] = handles

    is_on = False
    held: list[Event] | None = None

    def process(self, event: Event) -> Iterable[Event] | None:
        """Hold back a question; for an event that releases the questions, return them before it."""
        if self.is_on and type(event) is Interaction and event.state == "requested":
            self.held = self.held or []
            self.held.append(event)
            return ()
        if not self.held:
            return None
        held, self.held = self.held, None
        return (*held, event)
