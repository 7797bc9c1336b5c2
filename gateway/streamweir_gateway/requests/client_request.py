"""A client's request that has been read, and that is written for one or several upstreams.

Source: the request contract, sections 1, 4 and 5.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from streamweir.codec.answer_ids import answer_id
from streamweir.codec.dialect import Dialect
from streamweir.requests.canonical import Request
from streamweir.requests.errors import RequestError
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.writing import of_new_conversation
from streamweir_gateway.incoming import Incoming
from streamweir_gateway.requests.asked_upstream import AskedUpstream
from streamweir_gateway.requests.conversation import Conversation
from streamweir_gateway.requests.conversation_tap import Asking
from streamweir_gateway.requests.kept_answers import user_digests
from streamweir_gateway.turns.found_turns import Restored
from streamweir_gateway.turns.turn_recorder import TurnRecorder
from streamweir_gateway.turns.turns_of_request import TurnsOfRequest
from streamweir_gateway.turns.unproven_reasoning import without_unproven_reasoning

__all__ = ["ClientRequest"]


class ClientRequest(msgspec.Struct, eq=False):
    """One request of a client, while it is written for one or several upstreams."""

    request: Request
    protocol: Dialect
    reader: RequestReader
    conversation: Conversation | None
    incoming: Incoming
    around: Mapping[str, Any]
    new_id: Callable[[], str]
    turns: TurnsOfRequest
    unknown_answer: RequestError | None = None
    """The error for upstreams that cannot know the answered question; None if all can know it."""

    has_several_upstreams: bool = False
    """Whether there are several upstreams, which get the same ids."""

    has_several_dialects: bool = False
    """Whether the upstreams speak several dialects. Thoughts of one dialect must not reach another."""

    _ids: list[str] = []
    """The ids that `new_id` has returned."""

    @property
    def thread(self) -> str | None:
        """The client's name for the conversation; None: the client will learn it; empty: it has no name."""
        named = self.request.get("thread_id") if self.reader.has_own_threads else None
        return "" if named is None and self.reader.answers_by_message else named

    @property
    def ends_with_turn(self) -> bool:
        """Whether the last message is the assistant's, which an answer may continue."""
        return [message["role"] for message in self.request.get("messages", [])[-1:]] == ["assistant"]

    def asking(self, *, keeps_questions: bool) -> Asking:
        """Return the facts about the request that decide how questions in the answer are kept.

        Args:
            keeps_questions: False: no question will be kept, so only the conversation is named.
        """
        incoming = self.incoming
        if not keeps_questions:
            return Asking(incoming.key, self.thread)
        secret = incoming.names.secret
        digests = user_digests(self.request.get("messages", [])[-1:])
        make = self._call_id if secret is None else partial(answer_id, secret)
        return Asking(incoming.key, self.thread, secret, digests[0] if digests else None, make)

    def _call_id(self, tool_id: str) -> str:
        return self.protocol.client_call_id(tool_id, self.incoming.request_id)

    def recorders(self, destination: AskedUpstream) -> Callable[[], TurnRecorder] | None:
        """Return the function that makes the recorder of an answer; None if turns are not stored."""
        return self.turns.recorders(destination.identity, destination.dialect, self._call_id)

    def for_upstream(self, destination: AskedUpstream, writer: RequestWriter) -> Restored:
        """Return the request with the upstream's name for the conversation and the upstream's own turns.

        If client and upstream both make ids, the upstream does not know the client's id. A client whose
        protocol has no conversations may still answer a question asked within an upstream's conversation.
        """
        found = of_new_conversation(self.request, self.reader, writer)
        known = self.conversation
        if (
            known is not None
            and known.thread_id
            and known.upstream == destination.identity
            and not found.get("thread_id")
        ):
            found = cast("Request", {**found, "thread_id": known.thread_id})
        restored = self.turns.put_back(found, destination.identity, destination.dialect)
        if not self.has_several_dialects:
            return restored
        return replace(restored, request=without_unproven_reasoning(restored.request))

    def ids(self) -> Iterator[str]:
        """Yield new ids, the same for each upstream."""
        for index in itertools.count():
            if index == len(self._ids):
                self._ids.append(self.new_id())
            yield self._ids[index]
