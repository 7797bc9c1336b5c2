"""Takes note of the conversation that a stream belongs to, and of what is asked in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from streamweir.codec.answer_ids import waits_for_client
from streamweir.events import Content, Event, Interaction, SessionStart, Stamp, Thinking
from streamweir.ids import short_id
from streamweir.jsontext import write_json
from streamweir.translation.sink import EventTap
from streamweir_gateway.requests.conversations import Conversation, Conversations
from streamweir_gateway.requests.open_questions import OpenQuestion, QuestionPlace

__all__ = ["Asking", "ConversationTap"]


class Asking(NamedTuple):
    """A client's request, as far as what is asked in its answer is kept for it.

    Attributes:
        key: the name of the client's key.
        thread: the conversation as the client names it; None: it will name it as the upstream does; empty:
            its protocol has no conversations.
        secret: tells this request from others, where its protocol has no conversations; else None.
        asked_behind: the digest of the user's last message; None without one.
        call_id: makes of a call's id the one under which the client sends the result.
    """

    key: str | None
    thread: str | None
    secret: str | None = None
    asked_behind: bytes | None = None
    call_id: Callable[[str], str] = str


class ConversationTap(EventTap):
    """A sink of one attempt.

    Args:
        conversations: of the endpoint.
        asking: the client's request.
        upstream: that is asked.
        sent: the conversation as the upstream was sent it; None: none was sent.
        answers: the upstream can take answers: what it asks is kept for them.
        made: the session's id where the upstream gives none: it is ours.
    """

    def __init__(
        self,
        conversations: Conversations,
        asking: Asking,
        *,
        upstream: str,
        sent: str | None,
        made: str,
        answers: bool = True,
    ) -> None:
        self._conversations = conversations
        self._asking = asking
        self._upstream = upstream
        self._known = sent
        self._made = made
        self._answers = answers
        if asking.thread is not None and sent is not None:
            self._note()

    def write(self, event: Event, stamp: Stamp) -> None:
        """Take the ids of an event, and what it asks."""
        del stamp
        if (found := self._thread_of(event)) is not None and found != self._known:
            self._known = found
            self._note()
        if isinstance(event, Interaction) and self._answers:
            self._take_interaction(event)

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
    def _named(self) -> str:
        """The conversation as the client will name it; empty if it will not."""
        thread = self._known if self._asking.thread is None else self._asking.thread
        return thread or ""

    def _note(self) -> None:
        if thread := self._named:
            self._conversations.note(self._asking.key, thread, Conversation(self._upstream, self._known))

    def _take_interaction(self, event: Interaction) -> None:
        """Keep a question, unless it can be answered under nothing but an id that others may know."""
        place, given = QuestionPlace(self._asking.key, self._named), event.interaction_id
        if event.kind == "tool":
            given = self._asking.call_id(given)
        if event.state != "requested":
            self._conversations.questions.forget(place, given)
        elif event.resume is not None and (place.thread or (self._asking.secret and waits_for_client(event))):
            self._conversations.questions.add(place, given, self._question(event))

    def _question(self, event: Interaction) -> OpenQuestion:
        return OpenQuestion(
            self._upstream,
            short_id(event.interaction_id),
            event.kind,
            write_json([event.resume, event.schema]),
            self._known,
            self._asking.asked_behind,
            self._asking.secret,
        )
