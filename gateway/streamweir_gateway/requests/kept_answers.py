"""Completes clients' answers from the kept questions, for protocols that cannot send a question back.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from streamweir.codec.answer_ids import is_answer_id
from streamweir.requests.canonical import Answer, Message, Request
from streamweir.requests.decisions import decision_in
from streamweir.requests.messages import text_of_message, tool_results
from streamweir.requests.sides import RequestReader
from streamweir_gateway.requests.form_values import form_values
from streamweir_gateway.requests.open_questions import OpenQuestion, OpenQuestions, QuestionPlace

__all__ = ["KeptAnswers", "message_digest", "unasked_answers", "user_digests", "with_kept_answers"]


class KeptAnswers(msgspec.Struct, frozen=True):
    """A request whose answers have been completed from the questions that they answer.

    Attributes:
        request: the canonical request with the completed answers.
        question: the first question that is answered; None if all are unknown.
        unknown: the ids of answers that no upstream could match to a question: the question is not open in
            this conversation, and the answer lacks its data. In a protocol without conversations, results for
            calls of several runs count too, because no single run can take them.
    """

    request: Request
    question: OpenQuestion | None = None
    unknown: tuple[str, ...] = ()


def with_kept_answers(
    request: Request, reader: RequestReader, key: str | None, questions: OpenQuestions
) -> KeptAnswers | None:
    """Return the request with its answers completed; None if it has no answers.

    Args:
        request: the canonical request.
        reader: the reader of the client's protocol.
        key: the name of the client's key.
        questions: the questions of the endpoint.
    """
    answers, results = request.get("resume"), tool_results(request.get("messages", []))
    if not (answers or results or reader.answers_by_message):
        return None
    place = QuestionPlace(key, request.get("thread_id", ""))
    if answers:
        return _completed(request, answers, place, questions, fills=not reader.has_resume)
    if results and (answered := _answered_by_results(request, results, reader, place, questions)) is not None:
        return answered
    if reader.answers_by_message:
        return _answered_by_message(request, place, questions)
    return None


def unasked_answers(unknown: Sequence[str], request: Request) -> list[str]:
    """Return the ids of answers without those that answer a call in the messages, such as in a kept thread.

    Args:
        unknown: the ids of answers that match no question (`KeptAnswers`).
        request: with all messages of the thread. Its answers become the results of these calls.
    """
    answered = {answer["interaction_id"] for answer in request.get("resume", [])}
    calls = {call["id"] for message in request.get("messages", []) for call in message.get("tool_calls", ())}
    return [one for one in unknown if one not in answered & calls or is_answer_id(one)]


def user_digests(messages: Sequence[Message]) -> list[bytes]:
    """Return the digests of the user's messages, oldest first."""
    return [message_digest(message) for message in messages if message["role"] == "user"]


def message_digest(message: Mapping[str, Any]) -> bytes:
    """Return a digest of the id and the text of a message."""
    text = f"{message.get('id', '')}:{text_of_message(cast('Message', message))}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _completed(
    request: Request, answers: list[Answer], place: QuestionPlace, questions: OpenQuestions, *, fills: bool
) -> KeptAnswers:
    """Complete answers that name their questions. If `fills`, an answer's text may fill in a form."""
    found: list[Answer] = []
    first: OpenQuestion | None = None
    unknown: list[str] = []
    digests = user_digests(request.get("messages", []))
    for answer in answers:
        asked = questions.answer(place, answer["interaction_id"], digests=digests)
        first = first or asked
        if asked is not None:
            completed = _with_held(answer, asked)
            found.append(_filled(completed, asked) if fills else completed)
            continue
        found.append(answer)
        if not answer.get("resume"):
            unknown.append(answer["interaction_id"])
    return KeptAnswers(_with(request, resume=found), first, tuple(unknown))


def _with_held(answer: Answer, asked: OpenQuestion) -> Answer:
    """Return the answer with the data of its question. Data that the client sent takes precedence."""
    kept = asked.resume if isinstance(asked.resume, dict) else {}
    sent: Any = answer.get("resume", {})
    held = {**kept, **sent} if isinstance(sent, dict) else sent
    return cast("Answer", {**answer, "interaction_id": _asked_id(answer, asked), "resume": held})


def _asked_id(answer: Answer, asked: OpenQuestion) -> str:
    own = answer["interaction_id"]
    return asked.interaction_id if is_answer_id(own) else own


def _answered_by_results(
    request: Request,
    results: Sequence[Message],
    reader: RequestReader,
    place: QuestionPlace,
    questions: OpenQuestions,
) -> KeptAnswers | None:
    """Return the request with the results of calls that an agent waits for; None without such results.

    A chat client knows these calls by the gateway's ids, a client with conversations by the upstream's ids.
    """
    messages = request.get("messages", [])
    digests = user_digests(messages) if place.thread else []
    found: dict[str, OpenQuestion] = {}
    answers: list[Answer] = []
    unknown: list[str] = []
    for message in results:
        call_id = message.get("tool_call_id", "")
        may_answer = is_answer_id(call_id) if reader.answers_by_message else bool(place.thread)
        if not may_answer:
            continue
        if (question := questions.answer(place, call_id, digests=digests)) is not None:
            found[call_id] = question
            answers.append(_answer(question, text_of_message(message)))
        elif reader.answers_by_message:
            unknown.append(call_id)
    if not place.thread and len({question.run for question in found.values()}) > 1:
        unknown.extend(found)
    if not found and not unknown:
        return None
    answered = _with(request, messages=_with_upstream_ids(messages, found), resume=answers)
    return KeptAnswers(answered if answers else request, next(iter(found.values()), None), tuple(unknown))


def _answered_by_message(
    request: Request, place: QuestionPlace, questions: OpenQuestions
) -> KeptAnswers | None:
    """Return the request with its last message as the answer, if exactly one question is open; else None."""
    messages = request.get("messages", [])
    if place.thread and messages and messages[-1]["role"] == "user":
        asked = questions.take_only(place)
        if asked is not None:
            answer = _answer(asked, text_of_message(messages[-1]))
            return KeptAnswers(_with(request, resume=[answer]), asked)
    return None


def _with_upstream_ids(messages: Sequence[Message], found: Mapping[str, OpenQuestion]) -> list[Message]:
    """Return the messages, with the call ids that the client was given replaced by the upstream's ids."""
    ids = {own: question.interaction_id for own, question in found.items()}
    changed: list[Message] = []
    for message in messages:
        made: dict[str, Any] = dict(message)
        if message.get("tool_call_id") in ids:
            made["tool_call_id"] = ids[message["tool_call_id"]]
        if any(call["id"] in ids for call in message.get("tool_calls", [])):
            made["tool_calls"] = [
                {**call, "id": ids.get(call["id"], call["id"])} for call in message["tool_calls"]
            ]
        changed.append(cast("Message", made))
    return changed


def _answer(asked: OpenQuestion, text: str) -> Answer:
    answer: Answer = {"interaction_id": asked.interaction_id, "action": "submit", "resume": asked.resume}
    match asked.kind, decision_in(text):
        case "approval", bool(decided):
            answer["action"] = "approve" if decided else "reject"
            return {**answer, "value": text} if len(text.split()) > 1 else answer
    return _filled({**answer, "value": text}, asked)


def _filled(answer: Answer, asked: OpenQuestion) -> Answer:
    """Return the answer with the values of the form, if the answer is a text; else unchanged."""
    text = answer.get("value")
    if asked.kind == "approval":
        return answer
    return {**answer, "value": form_values(text, asked.schema)} if isinstance(text, str) else answer


def _with(request: Request, **fields: Any) -> Request:
    return cast("Request", {**request, **fields})
