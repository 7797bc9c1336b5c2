"""Notes the conversation that a stream belongs to, and keeps the questions of the stream."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from streamweir.codec.answer_ids import waits_for_client
from streamweir.events import Event, Interaction, SessionStart
from streamweir.ids import short_id
from streamweir.jsontext import write_json
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversations import Conversations
from streamweir_gateway.requests.open_questions import OpenQuestion, QuestionPlace

__all__ = ["Asking", "ConversationTap"]


class Asking(msgspec.Struct, frozen=True):
    """The facts about a client's request that decide how the questions in the answer are kept.

    Attributes:
        key: the name of the client's key.
        thread: the client's name for the conversation; None if the client will use the upstream's name;
            empty if its protocol has no conversations.
        secret: distinguishes this request from others if its protocol has no conversations; otherwise None.
        asked_behind: the digest of the user's last message; None without a message of the user.
        call_id: returns the id under which the client sends the result of a call, given the id of the call.
    """

    key: str | None
    thread: str | None
    secret: str | None = None
    asked_behind: bytes | None = None
    call_id: Callable[[str], str] = str


class ConversationTap(msgspec.Struct, eq=False):
    """Follows the answer to one attempt.

    Attributes:
        conversations: the conversations of the endpoint.
        asking: the facts about the client's request.
        upstream: the identity of the upstream.
        thread: the upstream's name for the conversation, at first that in the request to the upstream; None:
            it is unknown, or there is no conversation.
        made: the session id that the gateway gives if the upstream gives none.
        answers: whether the upstream can take answers, so that its questions are kept.
        is_due: whether the next bytes hold a question that is not stored yet. `settle` clears it.
    """

    conversations: Conversations
    asking: Asking
    upstream: str
    thread: str | None
    made: str
    answers: bool = True
    is_due: bool = False

    def note(self, event: Event) -> None:
        """Note the conversation that an event names. If the event is a question, keep it or drop it."""
        meta = event.meta
        found = meta.get("thread_id") or meta.get("session_id") if meta else None
        if found is None and type(event) is SessionStart and event.session_id != self.made:
            found = event.session_id
        if found and found != self.thread and isinstance(found, str):
            self.thread = found
            self.keep()
        if self.answers and type(event) is Interaction:
            self._take_interaction(event)

    @property
    def is_shared(self) -> bool:
        """Whether other replicas will know the conversation too when it is stored."""
        return self.conversations.sync is not None

    async def settle(self) -> None:
        """Wait until other replicas know the conversation and its questions."""
        self.is_due = False
        if self.conversations.sync is not None:
            await self.conversations.sync.settle()

    @property
    def _named(self) -> str:
        """The client's name for the conversation; empty if the client has no name for it."""
        thread = self.thread if self.asking.thread is None else self.asking.thread
        return thread or ""

    def keep(self) -> None:
        """Keep which conversation of the upstream belongs to the client's, if the client names it."""
        if thread := self._named:
            self.conversations.note(self.asking.key, thread, Conversation(self.upstream, self.thread))

    def _take_interaction(self, event: Interaction) -> None:
        """Keep a question that is open, and drop a question that is over.

        A question is not kept if an answer could name it only by an id that other clients may know.
        """
        is_open = event.state == "requested"
        if is_open and event.resume is None:
            return
        place = QuestionPlace(self.asking.key, self._named)
        if not is_open:
            self.conversations.questions.forget(place, self._client_id(event))
        elif place.thread or (self.asking.secret and waits_for_client(event)):
            self.conversations.questions.add(place, self._client_id(event), self._question(event))
            self.is_due = self.is_shared

    def _client_id(self, event: Interaction) -> str:
        """Return the id under which the client answers a question."""
        given = event.interaction_id
        return self.asking.call_id(given) if event.kind == "tool" else given

    def _question(self, event: Interaction) -> OpenQuestion:
        return OpenQuestion(
            self.upstream,
            short_id(event.interaction_id),
            event.kind,
            write_json([event.resume, event.schema]),
            self.thread,
            self.asking.asked_behind,
            self.asking.secret,
        )
