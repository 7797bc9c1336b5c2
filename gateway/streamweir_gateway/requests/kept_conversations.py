"""Keeps in the memory of this process which upstream conversation belongs to each client conversation."""

from __future__ import annotations

import time
from collections import OrderedDict

from streamweir.ids import short_id
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.open_questions import OpenQuestions

__all__ = ["KeptConversations"]

Key = tuple[str | None, str]
"""The name of a client's key, and the conversation as the client names it."""


class KeptConversations:
    """The conversations of one endpoint in this process.

    Args:
        keep: the seconds for which a conversation is kept after its last request.
        max_kept: the most conversations; the one whose last request is longest ago makes room.

    Attributes:
        questions: the questions in the conversations.
    """

    def __init__(self, keep: float, max_kept: int) -> None:
        self._keep = keep
        self._max = max_kept
        self.questions = OpenQuestions(keep, max_kept)
        self._known: OrderedDict[Key, tuple[float, Conversation]] = OrderedDict()

    @property
    def keep(self) -> float:
        """The seconds for which a conversation is kept after its last request."""
        return self._keep

    def set_limits(self, keep: float, max_kept: int) -> None:
        """Set the seconds for which a conversation is kept after its last request, and the most to keep."""
        self._keep, self._max = keep, max_kept
        self.questions.keep, self.questions.max = keep, max_kept

    def find(self, key: str | None, thread: str) -> Conversation | None:
        """Return the conversation that a client names; None if it is not known."""
        found = self._known.get((key, short_id(thread)))
        if found is None or found[0] < time.monotonic():
            return None
        return found[1]

    def keep_known(self, key: str | None, thread: str, conversation: Conversation) -> None:
        """Keep a conversation in this process, or keep it longer."""
        place = key, short_id(thread)
        self._known[place] = (time.monotonic() + self._keep, conversation)
        self._known.move_to_end(place)
        while len(self._known) > self._max:
            self._known.popitem(last=False)
