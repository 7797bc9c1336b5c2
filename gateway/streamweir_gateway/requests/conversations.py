"""The conversations of an endpoint: which upstream conversation belongs to each, and the open questions.

If all replicas share a store, `conversation_sync.py` reads conversations from the store and writes to it.

Source: the request contract, sections 4 (threads) and 5 (answering an interaction).
"""

from __future__ import annotations

from typing import Final

from streamweir.ids import short_id
from streamweir.runs.store import RunStore
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversation_sync import ConversationSync
from streamweir_gateway.requests.kept_conversations import KeptConversations
from streamweir_gateway.requests.open_questions import QuestionPlace

__all__ = ["Conversation", "Conversations", "ConversationsOfWorker"]

MAX_THREAD_CHARACTERS: Final = 1000
"""The most characters of an upstream's name for a conversation; longer names are not kept."""


class Conversations(KeptConversations):
    """The conversations of one endpoint.

    Attributes:
        sync: shares the conversations with other processes; None: only this process has them.
    """

    def __init__(self, keep: float, max_kept: int) -> None:
        super().__init__(keep, max_kept)
        self.sync: ConversationSync | None = None

    def note(self, key: str | None, thread: str, conversation: Conversation) -> None:
        """Keep a conversation, or keep it longer. An upstream name that is too long is not kept."""
        if len(conversation.thread_id or "") > MAX_THREAD_CHARACTERS:
            return
        self.keep_known(key, thread, conversation)
        if self.sync is not None:
            self.sync.note_change(QuestionPlace(key, short_id(thread)))


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
