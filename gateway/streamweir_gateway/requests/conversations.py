"""The upstreams' conversations that belong to those of clients, and their questions: in memory, per worker.

Source: the request contract, sections 4 (threads) and 5 (answering an interaction).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final, NamedTuple

from streamweir.ids import short_id
from streamweir_gateway.requests.open_questions import OpenQuestions

__all__ = ["Conversation", "Conversations", "ConversationsOfWorker"]

MAX_THREAD_CHARACTERS: Final = 1000
"""The longest name of an upstream for a conversation that is kept."""

Key = tuple[str | None, str]
"""The name of a client's key, and the conversation as the client names it."""


class Conversation(NamedTuple):
    """One conversation of a client.

    Attributes:
        upstream: that began it.
        thread_id: as the upstream calls it; None where that is not known.
    """

    upstream: str
    thread_id: str | None


class Conversations:
    """The conversations of one endpoint.

    Attributes:
        questions: the questions in them.
    """

    def __init__(self, keep: float, max_kept: int) -> None:
        self._keep = keep
        self._max = max_kept
        self.questions = OpenQuestions(keep, max_kept)
        self._known: OrderedDict[Key, tuple[float, Conversation]] = OrderedDict()

    def set_limits(self, keep: float, max_kept: int) -> None:
        """Set the seconds for which a conversation without requests is kept, and the most conversations."""
        self._keep, self._max = keep, max_kept
        self.questions.keep, self.questions.max = keep, max_kept

    def find(self, key: str | None, thread: str) -> Conversation | None:
        """Return the conversation that a client names."""
        found = self._known.get((key, short_id(thread)))
        if found is None or found[0] < time.monotonic():
            return None
        return found[1]

    def note(self, key: str | None, thread: str, conversation: Conversation) -> None:
        """Keep a conversation, or keep it longer, unless its upstream calls it by a very long name."""
        if len(conversation.thread_id or "") > MAX_THREAD_CHARACTERS:
            return
        place = key, short_id(thread)
        self._known[place] = (time.monotonic() + self._keep, conversation)
        self._known.move_to_end(place)
        while len(self._known) > self._max:
            self._known.popitem(last=False)


class ConversationsOfWorker:
    """The conversations of all endpoints. They outlive a reload of the configuration."""

    def __init__(self) -> None:
        self._endpoints: dict[str, Conversations] = {}

    def of(self, template: str, keep: float, max_kept: int) -> Conversations:
        """Return the conversations of an endpoint, with changed limits."""
        found = self._endpoints.setdefault(template, Conversations(keep, max_kept))
        found.set_limits(keep, max_kept)
        return found
