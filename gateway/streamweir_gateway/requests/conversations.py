"""Which conversation of an upstream goes with a client's, and what was asked in it: in memory, per worker.

Source: the request contract, sections 4 (threads) and 5 (answering an interaction).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any, Final, NamedTuple

from streamweir.errors import MalformedEvent
from streamweir.events import Interaction
from streamweir.ids import short_id
from streamweir.jsontext import parse_json, write_json

__all__ = ["Conversation", "Conversations", "ConversationsOfWorker", "OpenQuestion"]

MAX_HELD_BYTES: Final = 64 << 20
"""What all questions of an endpoint may take that wait for an answer."""

_MAX_QUESTIONS: Final = 100_000

MAX_THREAD_CHARACTERS: Final = 1000
"""What an upstream may call a conversation that is kept."""

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


class OpenQuestion(NamedTuple):
    """A question that waits for an answer.

    Attributes:
        upstream: that asked.
        interaction_id: of the question.
        kind: of the question.
        held: what its `resume` held, and the schema of its form, as JSON.
    """

    upstream: str
    interaction_id: str
    kind: str
    held: bytes

    @property
    def resume(self) -> Any:
        """What its `resume` held."""
        return self._held()[0]

    @property
    def schema(self) -> Any:
        """Its form's; None where it has none."""
        return self._held()[1]

    def _held(self) -> tuple[Any, Any]:
        try:
            resume, schema = parse_json(self.held)[0]
        except MalformedEvent:
            return None, None
        return resume, schema


class Conversations:
    """Those of one endpoint.

    Attributes:
        keep: seconds for which nothing may happen in one.
        max: how many are kept.
    """

    def __init__(self, keep: float, max_kept: int) -> None:
        self.keep = keep
        self.max = max_kept
        self._known: OrderedDict[Key, tuple[float, Conversation]] = OrderedDict()
        self._asked: OrderedDict[tuple[str | None, str, str], tuple[float, OpenQuestion]] = OrderedDict()
        self._held_bytes = 0

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
        self._known[place] = (time.monotonic() + self.keep, conversation)
        self._known.move_to_end(place)
        while len(self._known) > self.max:
            self._known.popitem(last=False)

    def ask(self, key: str | None, thread: str, upstream: str, question: Interaction) -> None:
        """Keep what a question holds until it is answered."""
        place = _place(key, thread, question.interaction_id)
        self._forget(place)
        held = write_json([question.resume, question.schema])
        self._held_bytes += len(held)
        asked = OpenQuestion(upstream, short_id(question.interaction_id), question.kind, held)
        self._asked[place] = (time.monotonic() + self.keep, asked)
        while self._asked and (
            self._held_bytes > MAX_HELD_BYTES or len(self._asked) > min(self.max, _MAX_QUESTIONS)
        ):
            self._forget(next(iter(self._asked)))

    def asked(self, key: str | None, thread: str, interaction_id: str) -> OpenQuestion | None:
        """Return a question that waits."""
        found = self._asked.get(_place(key, thread, interaction_id))
        return None if found is None or found[0] < time.monotonic() else found[1]

    def last_asked(self, key: str | None, thread: str) -> OpenQuestion | None:
        """Return the question of a conversation that was asked last."""
        now = time.monotonic()
        for (of_key, of_thread, _), (until, asked) in reversed(self._asked.items()):
            if (of_key, of_thread) == (key, short_id(thread)) and until >= now:
                return asked
        return None

    def answered(self, key: str | None, thread: str, interaction_id: str) -> None:
        """A question has its answer."""
        self._forget(_place(key, thread, interaction_id))

    def _forget(self, place: tuple[str | None, str, str]) -> None:
        found = self._asked.pop(place, None)
        if found is not None:
            self._held_bytes -= len(found[1].held)


def _place(key: str | None, thread: str, interaction_id: str) -> tuple[str | None, str, str]:
    return key, short_id(thread), short_id(interaction_id)


class ConversationsOfWorker:
    """Those of all endpoints: where a configuration replaces another one, they stay."""

    def __init__(self) -> None:
        self._endpoints: dict[str, Conversations] = {}

    def of(self, template: str, keep: float, max_kept: int) -> Conversations:
        """Return those of an endpoint, to be kept so long and so many."""
        found = self._endpoints.setdefault(template, Conversations(keep, max_kept))
        found.keep, found.max = keep, max_kept
        return found
