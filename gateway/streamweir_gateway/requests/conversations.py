"""Keeps in memory which upstream conversation belongs to each client conversation, and the open questions.

If all replicas share a store, `conversation_sync.py` reads conversations from the store and writes to it.

Source: the request contract, sections 4 (threads) and 5 (answering an interaction).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Final

from streamweir.ids import short_id
from streamweir.runs.store import RunStore
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversation_sync import ConversationSync
from streamweir_gateway.requests.open_questions import OpenQuestions, QuestionPlace

__all__ = ["Conversation", "Conversations", "ConversationsOfWorker"]

MAX_THREAD_CHARACTERS: Final = 1000
"""The most characters of an upstream's name for a conversation; longer names are not kept."""

Key = tuple[str | None, str]
"""The name of a client's key, and the conversation as the client names it."""


class Conversations:
    """The conversations of one endpoint.

    Attributes:
        questions: the questions in the conversations.
        sync: shares the conversations with other processes; None: only this process has them.
    """

    def __init__(self, keep: float, max_kept: int) -> None:
        self._keep = keep
        self._max = max_kept
        self.questions = OpenQuestions(keep, max_kept)
        self.sync: ConversationSync | None = None
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

    def note(self, key: str | None, thread: str, conversation: Conversation) -> None:
        """Keep a conversation, or keep it longer. An upstream name that is too long is not kept."""
        if len(conversation.thread_id or "") > MAX_THREAD_CHARACTERS:
            return
        self.keep_known(key, thread, conversation)
        if self.sync is not None:
            self.sync.note_change(QuestionPlace(key, short_id(thread)))

    def keep_known(self, key: str | None, thread: str, conversation: Conversation) -> None:
        """Keep a conversation in this process only, because the store has it."""
        place = key, short_id(thread)
        self._known[place] = (time.monotonic() + self._keep, conversation)
        self._known.move_to_end(place)
        while len(self._known) > self._max:
            self._known.popitem(last=False)


class ConversationsOfWorker:
    """The conversations of all endpoints. They are kept when the configuration is reloaded.

    Args:
        store: shares the conversations with other processes; None: only this process has them.
    """

    def __init__(self, store: RunStore | None = None) -> None:
        self._store = store
        self._endpoints: dict[str, Conversations] = {}

    def of(self, template: str, keep: float, max_kept: int) -> Conversations:
        """Return the conversations of an endpoint, and apply changed limits to them."""
        found = self._endpoints.setdefault(template, Conversations(keep, max_kept))
        found.set_limits(keep, max_kept)
        if self._store is not None and found.sync is None:
            found.sync = ConversationSync(self._store, template, found)
            found.questions.on_change = found.sync.note_change
        return found
