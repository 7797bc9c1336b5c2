"""Takes note of the conversation that a stream belongs to, and of what is asked in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streamweir.events import Content, Event, Interaction, SessionStart, Stamp, Thinking
from streamweir.translation.sink import EventTap
from streamweir_gateway.requests.conversations import Conversation, Conversations

__all__ = ["ConversationTap"]


class ConversationTap(EventTap):
    """A sink of one attempt.

    Args:
        conversations: of the endpoint.
        key: the name of the client's key.
        thread: the conversation as the client names it; None: it will name it as the upstream does; empty:
            it names none.
        upstream: that is asked.
        sent: the conversation as the upstream was sent it.
        answers: the upstream can take answers: what it asks is kept for them.
        made: the session's id where the upstream gives none: it is ours.
    """

    def __init__(
        self,
        conversations: Conversations,
        *,
        key: str | None,
        thread: str | None,
        upstream: str,
        sent: str | None,
        made: str,
        answers: bool = True,
    ) -> None:
        self._conversations = conversations
        self._key = key
        self._thread = thread
        self._upstream = upstream
        self._known = sent
        self._made = made
        self._answers = answers
        if thread is not None and sent is not None:
            self._note()

    def write(self, event: Event, stamp: Stamp) -> None:
        """Take the ids of an event, and what it asks."""
        del stamp
        if (found := self._thread_of(event)) is not None and found != self._known:
            self._known = found
            self._note()
        if isinstance(event, Interaction) and event.state == "requested" and event.resume is not None:
            self._ask(event)

    def write_run(self, event: Content | Thinking, texts: Sequence[str], stamp: Stamp) -> None:
        """Take the ids of the first piece: the others have the same."""
        del texts
        self.write(event, stamp)

    def _thread_of(self, event: Event) -> str | None:
        meta: Any = event.meta or {}
        found = meta.get("thread_id") or meta.get("session_id")
        if found is None and isinstance(event, SessionStart) and event.session_id != self._made:
            found = event.session_id
        return found if isinstance(found, str) and found else None

    @property
    def _named(self) -> str | None:
        """The conversation as the client will name it; empty: it will not."""
        return self._known if self._thread is None else self._thread

    def _note(self) -> None:
        if thread := self._named:
            self._conversations.note(self._key, thread, Conversation(self._upstream, self._known))

    def _ask(self, event: Interaction) -> None:
        """Keep what a question holds; without a conversation only that of a call, whose id is its own."""
        thread = self._named or ""
        if self._answers and (thread or event.kind in ("tool", "approval")):
            self._conversations.ask(self._key, thread, self._upstream, event)
