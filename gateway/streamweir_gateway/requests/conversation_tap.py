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
from streamweir_gateway.requests.settling import Settling

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


class ConversationTap(Settling):
    """Follows the answer to one attempt.

    Args:
        conversations: the conversations of the endpoint.
        asking: the facts about the client's request.
        upstream: the identity of the upstream.
        sent: the name of the conversation in the request to the upstream; None if it names no conversation.
        answers: whether the upstream can take answers, so that its questions are kept.
        made: the session id that the gateway gives if the upstream gives none.
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
            self._keep()

    @property
    def thread(self) -> str | None:
        """The upstream's name for the conversation; None: it is unknown, or there is no conversation."""
        return self._known

    def note(self, event: Event) -> None:
        """Note the conversation that an event names. If the event is a question, keep it or drop it."""
        meta = event.meta
        found = meta.get("thread_id") or meta.get("session_id") if meta else None
        if found is None and type(event) is SessionStart and event.session_id != self._made:
            found = event.session_id
        if found and found != self._known and isinstance(found, str):
            self._known = found
            self._keep()
        if self._answers and type(event) is Interaction:
            self._take_interaction(event)

    @property
    def is_shared(self) -> bool:
        """Whether other replicas will know the conversation too when it is stored."""
        return self._conversations.sync is not None

    async def settle(self) -> None:
        """Wait until other replicas know the conversation and its questions."""
        self.is_due = False
        if self._conversations.sync is not None:
            await self._conversations.sync.settle()

    @property
    def _named(self) -> str:
        """The client's name for the conversation; empty if the client has no name for it."""
        thread = self._known if self._asking.thread is None else self._asking.thread
        return thread or ""

    def _keep(self) -> None:
        if thread := self._named:
            self._conversations.note(self._asking.key, thread, Conversation(self._upstream, self._known))

    def _take_interaction(self, event: Interaction) -> None:
        """Keep a question that is open, and drop a question that is over.

        A question is not kept if an answer could name it only by an id that other clients may know.
        """
        is_open = event.state == "requested"
        if is_open and event.resume is None:
            return
        place = QuestionPlace(self._asking.key, self._named)
        if not is_open:
            self._conversations.questions.forget(place, self._client_id(event))
        elif place.thread or (self._asking.secret and waits_for_client(event)):
            self._conversations.questions.add(place, self._client_id(event), self._question(event))
            self.is_due = self.is_shared

    def _client_id(self, event: Interaction) -> str:
        """Return the id under which the client answers a question."""
        given = event.interaction_id
        return self._asking.call_id(given) if event.kind == "tool" else given

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
