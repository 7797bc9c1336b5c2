"""Holds questions back until the end of a stream whose turn is stored before the client may go on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from streamweir.events import Error, Event, Interaction, SessionEnd

__all__ = ["HeldQuestions"]


class HeldQuestions:
    """A client that is asked for the result of a call goes on at once; until the end, more calls may follow.

    While `is_on` is True, questions are held, and passed on before an end, an error, or the answer to one.
    It is False unless the gateway keeps the turn of the stream, and where the client gets copies of the
    frames, which hold no questions.

    Attributes:
        is_on: see above.
        held: the questions that wait.
    """

    handles: ClassVar[frozenset[type[Event]]] = frozenset({Interaction, SessionEnd, Error})
    handles_with_meta: ClassVar[frozenset[type[Event]]] = handles

    def __init__(self) -> None:
        self.is_on = False
        self.held: list[Event] = []

    def process(self, event: Event) -> Iterable[Event] | None:
        """Hold a question; return those that are held with the event that lets them pass."""
        if self.is_on and type(event) is Interaction and event.state == "requested":
            self.held.append(event)
            return ()
        if not self.held:
            return None
        held, self.held = self.held, []
        return (*held, event)
