"""Shares the conversations of an endpoint and their questions with the other workers and replicas.

The conversations in memory are a copy. A request first replaces its own conversation by the one in the store
(`load`). Changes are written in the background, one batch after the other; `settle` returns when all changes
before the call are written. The end of a stream waits for `settle`, so that another replica knows the
conversation when the client continues there. While the store does not answer, the copy is used.

    value of a conversation             {conversation: [upstream, thread] or null, questions: [...]}
    value of a question whose client    {conversation: null, questions: [...]}
    names no conversation

Source: the conversation contract, section 4; the request contract, sections 4 and 5.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple

from streamweir.ids import short_id
from streamweir.jsontext import write_json
from streamweir.optional_json import json_or
from streamweir.runs.many_values import get_values
from streamweir.runs.store import RunStore, StoreUnavailable
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.kept_conversations import KeptConversations
from streamweir_gateway.requests.open_questions import HeldQuestion, OpenQuestion, QuestionPlace
from streamweir_gateway.requests.value_names import value_name

__all__ = ["ConversationSync"]

_CONVERSATION: Final = "conversation"
_QUESTION: Final = "question"
_MAX_ANSWERS: Final = 1_000
"""The most answers of one request for which questions are looked up."""


class _Place(NamedTuple):
    """Identifies one value of the store.

    Attributes:
        place: the client and the conversation.
        answer_id: the answer id of the question; None: the value is that of a conversation.
    """

    place: QuestionPlace
    answer_id: str | None


class ConversationSync:
    """The conversations of one endpoint in the store.

    Args:
        store: the store, which is shared with other processes.
        endpoint: the template of the path.
        conversations: the copy of the conversations in this process.
    """

    def __init__(self, store: RunStore, endpoint: str, conversations: KeptConversations) -> None:
        self._store: Final = store
        self._endpoint: Final = endpoint
        self._conversations: Final = conversations
        self._changed: dict[_Place, None] = {}
        """The places whose values the next batch will write."""
        self._writing: asyncio.Task[None] | None = None
        """The task that writes the present batch; None: all changes are written."""

    async def load(self, key: str | None, thread: str, answer_ids: Sequence[str]) -> None:
        """Read the conversation of a request, or the questions that it answers.

        Args:
            key: the name of the client's key.
            thread: the client's name for the conversation; empty: it names none.
            answer_ids: the ids of the answers in the request, for a client without conversations.
        """
        place = QuestionPlace(key, short_id(thread))
        wanted = (
            [_Place(place, None)]
            if thread
            else [_Place(place, short_id(name)) for name in dict.fromkeys(answer_ids)][:_MAX_ANSWERS]
        )
        if not wanted:
            return
        await self.settle()
        names = [self._name(one) for one in wanted]
        with suppress(StoreUnavailable):
            values = await get_values(self._store, names, ttl=self._conversations.keep)
            for one, value in zip(wanted, values, strict=True):
                if value is not None:
                    self._take(one, value)

    def note_change(self, place: QuestionPlace, answer_id: str = "") -> None:
        """Note that this process has changed a conversation, or one of its questions."""
        self._changed[_Place(place, None if place.thread else answer_id)] = None
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())

    async def settle(self) -> None:
        """Wait until all changes before this call are written, or the store has failed to take them.

        Later changes are not waited for, because a busy endpoint always has some.
        """
        for _ in range(2):  # a change is in the present batch or in the next one
            if self._writing is not None:
                await asyncio.wait([self._writing])

    async def _write(self) -> None:
        changed, self._changed = self._changed, {}
        try:
            await asyncio.gather(*map(self._put, changed))
        finally:
            self._writing = asyncio.create_task(self._write()) if self._changed else None

    async def _put(self, one: _Place) -> None:
        with suppress(StoreUnavailable):
            await self._store.put(self._name(one), self._value(one), ttl=self._conversations.keep)

    def _name(self, one: _Place) -> str:
        kind, name = (
            (_CONVERSATION, one.place.thread) if one.answer_id is None else (_QUESTION, one.answer_id)
        )
        return value_name(kind, self._endpoint, one.place.key, name)

    def _value(self, one: _Place) -> bytes:
        known = None if one.answer_id is not None else self._conversations.find(*one.place)
        held = self._conversations.questions.held(one.place, one.answer_id)
        return write_json(
            {
                "conversation": None if known is None else [*known],
                "questions": [[entry.answer_id, entry.question.written(), entry.is_open] for entry in held],
            }
        )

    def _take(self, one: _Place, value: bytes) -> None:
        """Replace the copy of one place by a value of the store. An unreadable value is ignored."""
        match json_or(value):
            case {"conversation": known, "questions": list(questions)}:
                held = [entry for given in questions if (entry := _held(given)) is not None]
                self._conversations.questions.replace(one.place, held, one.answer_id)
                match known:
                    case [str(upstream), str() | None as thread] if one.answer_id is None:
                        self._conversations.keep_known(*one.place, Conversation(upstream, thread))


def _held(value: Any) -> HeldQuestion | None:
    match value:
        case [str(answer_id), question, bool(is_open)] if (read := OpenQuestion.read(question)) is not None:
            return HeldQuestion(answer_id, read, is_open)
    return None
