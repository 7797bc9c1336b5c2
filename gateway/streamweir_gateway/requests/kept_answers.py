"""Answers of clients to what was kept of the questions: for protocols that cannot send it back.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

from typing import Any, cast

from streamweir.requests.canonical import Answer, Request
from streamweir.requests.decisions import decision_in
from streamweir.requests.messages import text_of_message, tool_results
from streamweir.requests.sides import RequestReader
from streamweir_gateway.requests.conversations import Conversations, OpenQuestion
from streamweir_gateway.requests.form_values import form_values

__all__ = ["with_kept_answers"]


def with_kept_answers(
    request: Request, reader: RequestReader, key: str | None, conversations: Conversations
) -> tuple[Request, str | None]:
    """Return the request with what its answers need, and the upstream that asked; None: no known one.

    Args:
        request: the canonical request.
        reader: of the client's protocol.
        key: the name of the client's key.
        conversations: where questions are kept.
    """
    thread = request.get("thread_id", "")
    if answers := request.get("resume"):
        return _completed(request, answers, key, thread, conversations, fills=not reader.has_resume)
    if reader.answers_by_message:
        return _answered_by_message(request, key, thread, conversations)
    return request, None


def _completed(
    request: Request,
    answers: list[Answer],
    key: str | None,
    thread: str,
    conversations: Conversations,
    *,
    fills: bool,
) -> tuple[Request, str | None]:
    """The answers with what was kept of their questions; `fills`: a text may stand for a form's values."""
    found: list[Answer] = []
    upstream = None
    for answer in answers:
        asked = _asked(conversations, key, thread, answer["interaction_id"])
        upstream = upstream or (asked.upstream if asked else None)
        kept = asked.resume if asked and isinstance(asked.resume, dict) else {}
        sent: Any = answer.get("resume", {})
        held = {**kept, **sent} if isinstance(sent, dict) else sent
        completed = cast("Answer", {**answer, "resume": held}) if asked or held else answer
        found.append(_filled(completed, asked) if asked and fills else completed)
    return _with(request, resume=found), upstream


def _answered_by_message(
    request: Request, key: str | None, thread: str, conversations: Conversations
) -> tuple[Request, str | None]:
    """The result of a tool that was a question, or else the next message of its conversation."""
    messages = request.get("messages", [])
    answers: list[Answer] = []
    asked: OpenQuestion | None = None
    for message in tool_results(messages):
        question = _asked(conversations, key, thread, message.get("tool_call_id", ""))
        if question is not None:
            asked = question
            answers.append(_answer(question, text_of_message(message)))
    if not answers and thread and messages and messages[-1]["role"] == "user":
        asked = conversations.last_asked(key, thread)
        if asked is not None:
            answers.append(_answer(asked, text_of_message(messages[-1])))
            conversations.answered(key, thread, asked.interaction_id)
    return (_with(request, resume=answers), asked.upstream) if asked else (request, None)


def _asked(
    conversations: Conversations, key: str | None, thread: str, interaction_id: str
) -> OpenQuestion | None:
    """The question of the conversation; that of a call also where the client names none."""
    return conversations.asked(key, thread, interaction_id) or conversations.asked(key, "", interaction_id)


def _answer(asked: OpenQuestion, text: str) -> Answer:
    answer: Answer = {"interaction_id": asked.interaction_id, "action": "submit", "resume": asked.resume}
    match asked.kind, decision_in(text):
        case "approval", bool(decided):
            answer["action"] = "approve" if decided else "reject"
            return {**answer, "value": text} if len(text.split()) > 1 else answer
    return _filled({**answer, "value": text}, asked)


def _filled(answer: Answer, asked: OpenQuestion) -> Answer:
    """The answer with the values of the form that was asked, where it is text."""
    text = answer.get("value")
    if asked.kind == "approval":
        return answer
    return {**answer, "value": form_values(text, asked.schema)} if isinstance(text, str) else answer


def _with(request: Request, **fields: Any) -> Request:
    return cast("Request", {**request, **fields})
