"""Keeps questions of upstreams that wait for an answer, in memory.

`conversation_sync.py` shares them by a store.

A question is kept under three names, all of which a look-up needs: the name of the client's key, the
conversation, and the id under which the client answers. The cost of a look-up does not depend on the number
of questions.

    open      since it was asked; a client's next message may answer it (`take_only`)
    answered  by id: it can be answered by its id again, as a client does whose request broke off
    gone      after `keep` seconds, when too many are kept, or when the same conversation asks it again

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from streamweir.ids import short_id
from streamweir.optional_json import json_or

__all__ = ["MAX_HELD_BYTES", "HeldQuestion", "OpenQuestion", "OpenQuestions", "QuestionPlace"]

MAX_HELD_BYTES: Final = 64 << 20
"""The most bytes that all questions of an endpoint may take together."""

_MAX_QUESTIONS: Final = 100_000
_MAX_NAMESAKES: Final = 8
"""The most questions with equal ids in one conversation."""

_SEVERAL: Final = 2


class QuestionPlace(NamedTuple):
    """The client and the conversation that a question belongs to.

    Attributes:
        key: the name of the client's key; None if the gateway has no keys.
        thread: the client's name for the conversation; empty in a protocol without conversations.
    """

    key: str | None
    thread: str


class OpenQuestion(NamedTuple):
    """A question that waits for an answer.

    Attributes:
        upstream: the identity of the upstream.
        interaction_id: the upstream's id of the question.
        kind: the kind of the question.
        held: the `resume` of the question and the schema of its form, as JSON.
        thread_id: the upstream's name for the conversation; None if it is unknown.
        asked_behind: the digest (`message_digest`) of the user's message before the question; None without a
            message.
        run: distinguishes the questions of one request from those of others; None if the conversation
            distinguishes them.
    """

    upstream: str
    interaction_id: str
    kind: str
    held: bytes
    thread_id: str | None = None
    asked_behind: bytes | None = None
    run: str | None = None

    @property
    def resume(self) -> Any:
        """The `resume` value of the question."""
        return self._held()[0]

    @property
    def schema(self) -> Any:
        """The schema of the question's form; None if it has no form."""
        return self._held()[1]

    def written(self) -> list[Any]:
        """Return the question as JSON for a store."""
        behind = None if self.asked_behind is None else self.asked_behind.hex()
        return [*self[:3], self.held.decode(), self.thread_id, behind, self.run]

    @classmethod
    def read(cls, value: Any) -> OpenQuestion | None:
        """Return the question in a value of a store; None if the value is not a question."""
        match value:
            case [
                str(upstream),
                str(interaction_id),
                str(kind),
                str(held),
                str() | None as thread_id,
                str() | None as behind,
                str() | None as run,
            ]:
                pass
            case _:
                return None
        try:
            digest = None if behind is None else bytes.fromhex(behind)
        except ValueError:
            return None
        return cls(upstream, interaction_id, kind, held.encode("utf-8", "replace"), thread_id, digest, run)

    def is_same(self, other: OpenQuestion) -> bool:
        """Return whether two questions are equal, apart from their runs and the messages before them."""
        return self[:5] == other[:5]

    def _held(self) -> tuple[Any, Any]:
        resume, schema = json_or(self.held, (None, None))
        return resume, schema


@dataclass(slots=True)
class _Kept:
    """A kept question, the keys under which it is found, and the time at which it expires."""

    question: OpenQuestion
    place: QuestionPlace
    answer_id: str
    until: float
    is_open: bool = True


class HeldQuestion(NamedTuple):
    """A question as a store shares it.

    Attributes:
        answer_id: the id under which the client answers.
        question: the question.
        is_open: whether the client's next message may answer the question.
    """

    answer_id: str
    question: OpenQuestion
    is_open: bool


class OpenQuestions:
    """The questions of one endpoint.

    Attributes:
        keep: the seconds for which a question is kept.
        max: the most questions to keep.
        on_change: called with the conversation and the answer id of a question that is added, answered or
            dropped on request; None: no call.
    """

    def __init__(self, keep: float, max_kept: int) -> None:
        self.keep = keep
        self.max = max_kept
        self.on_change: Callable[[QuestionPlace, str], None] | None = None
        self._kept: OrderedDict[int, _Kept] = OrderedDict()
        """All questions by number, the oldest question first."""
        self._by_id: dict[tuple[QuestionPlace, str], list[int]] = {}
        self._open: dict[QuestionPlace, dict[int, None]] = {}
        """The numbers of the open questions of each conversation."""
        self._at: dict[QuestionPlace, dict[int, None]] = {}
        """The numbers of all questions of each conversation."""
        self._count = 0
        self._held_bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, place: QuestionPlace, answer_id: str, question: OpenQuestion) -> None:
        """Keep a question. It replaces an equal question, and answered questions with its answer id.

        Args:
            place: the client and the conversation.
            answer_id: the id under which the client answers.
            question: the question.
        """
        place, answer_id = _short(place), short_id(answer_id)
        for number in [*self._by_id.get((place, answer_id), ())]:
            if not self._kept[number].is_open or self._kept[number].question.is_same(question):
                self._drop(number)
        self._count += 1
        self._kept[self._count] = _Kept(question, place, answer_id, time.monotonic() + self.keep)
        self._by_id.setdefault((place, answer_id), []).append(self._count)
        self._open.setdefault(place, {})[self._count] = None
        self._at.setdefault(place, {})[self._count] = None
        self._held_bytes += len(question.held)
        self._make_room(place, answer_id)
        self._changed(place, answer_id)

    def find(
        self, place: QuestionPlace, answer_id: str, *, digests: Sequence[bytes] = ()
    ) -> OpenQuestion | None:
        """Return the question that an answer names; None if the question is unknown or ambiguous.

        Args:
            place: the client and the conversation of the answer.
            answer_id: the id in the answer.
            digests: the digests of the user's messages in the request, oldest first. Of several questions
                with this id, the question after the latest of these messages is returned.
        """
        found = self._find(place, answer_id, digests)
        return None if found is None else self._kept[found].question

    def answer(
        self, place: QuestionPlace, answer_id: str, *, digests: Sequence[bytes] = ()
    ) -> OpenQuestion | None:
        """Return the question as `find` does, and note that it has been answered."""
        found = self._find(place, answer_id, digests)
        if found is None:
            return None
        self._close(found)
        self._changed(_short(place), short_id(answer_id))
        return self._kept[found].question

    def take_only(self, place: QuestionPlace) -> OpenQuestion | None:
        """Return the only open question of a conversation and drop it; None unless exactly one is open.

        The client's next message answers that question. If several questions are open, the message answers no
        question. All are closed then: from now on they can only be answered by their ids.
        """
        place = _short(place)
        numbers = self._first_open(place)
        if numbers:
            self._changed(place, "")
        if len(numbers) == 1:
            question = self._kept[numbers[0]].question
            self._drop(numbers[0])
            return question
        for number in self._open.pop(place, ()):
            self._kept[number].is_open = False
        return None

    def forget(self, place: QuestionPlace, answer_id: str) -> None:
        """Drop the questions with this id: the upstream has the answer, or does not wait any longer."""
        numbers = [*self._by_id.get((_short(place), short_id(answer_id)), ())]
        for number in numbers:
            self._drop(number)
        if numbers:
            self._changed(_short(place), short_id(answer_id))

    def held(self, place: QuestionPlace, answer_id: str | None = None) -> list[HeldQuestion]:
        """Return the questions of a conversation, oldest first; only those with `answer_id`, if given."""
        place = _short(place)
        if answer_id is None:
            numbers = [*self._at.get(place, ())]
        else:
            numbers = self._by_id.get((place, short_id(answer_id)), [])
        now = time.monotonic()
        alive = [kept for number in numbers if (kept := self._kept[number]).until >= now]
        return [HeldQuestion(kept.answer_id, kept.question, kept.is_open) for kept in alive]

    def replace(
        self, place: QuestionPlace, held: Iterable[HeldQuestion], answer_id: str | None = None
    ) -> None:
        """Keep the questions `held` of a conversation, in place of those that the method `held` returns."""
        place = _short(place)
        numbers = self._at.get(place, ()) if answer_id is None else self._by_id.get((place, answer_id), ())
        for number in [*numbers]:
            self._drop(number)
        on_change, self.on_change = self.on_change, None
        for entry in held:
            self.add(place, entry.answer_id, entry.question)
            if not entry.is_open and self._count in self._kept:
                self._close(self._count)
        self.on_change = on_change

    def _changed(self, place: QuestionPlace, answer_id: str) -> None:
        if self.on_change is not None:
            self.on_change(place, answer_id)

    def _first_open(self, place: QuestionPlace) -> list[int]:
        """Return the first two open questions of a conversation, and drop expired questions before them."""
        now = time.monotonic()
        found: list[int] = []
        for number in [*self._open.get(place, ())]:
            if self._kept[number].until >= now:
                found.append(number)
                if len(found) == _SEVERAL:
                    break
            else:
                self._drop(number)
        return found

    def _find(self, place: QuestionPlace, answer_id: str, digests: Sequence[bytes]) -> int | None:
        now = time.monotonic()
        numbers = self._by_id.get((_short(place), short_id(answer_id)), ())
        alive = [number for number in numbers if self._kept[number].until >= now]
        if len(alive) < _SEVERAL:
            return alive[0] if alive else None
        positions = {digest: index for index, digest in enumerate(digests)}
        followed = [positions.get(self._kept[number].question.asked_behind or b"", -1) for number in alive]
        latest = max(followed)
        return alive[followed.index(latest)] if latest >= 0 and followed.count(latest) == 1 else None

    def _close(self, number: int) -> None:
        kept = self._kept[number]
        kept.is_open = False
        if (numbers := self._open.get(kept.place)) is not None:
            numbers.pop(number, None)
            if not numbers:
                del self._open[kept.place]

    def _make_room(self, place: QuestionPlace, answer_id: str) -> None:
        namesakes = self._by_id[place, answer_id]
        if len(namesakes) > _MAX_NAMESAKES:
            self._drop(namesakes[0])
        most = min(self.max, _MAX_QUESTIONS)
        while self._kept and (self._held_bytes > MAX_HELD_BYTES or len(self._kept) > most):
            self._drop(next(iter(self._kept)))

    def _drop(self, number: int) -> None:
        self._close(number)
        kept = self._kept.pop(number)
        self._held_bytes -= len(kept.question.held)
        del self._at[kept.place][number]
        if not self._at[kept.place]:
            del self._at[kept.place]
        numbers = self._by_id[kept.place, kept.answer_id]
        numbers.remove(number)
        if not numbers:
            del self._by_id[kept.place, kept.answer_id]


def _short(place: QuestionPlace) -> QuestionPlace:
    return QuestionPlace(place.key, short_id(place.thread))
