"""Reads and writes requests to RAGFlow: agents, chats and their OpenAI-shaped routes.

Source: infiniflow/ragflow, Python server 0.17 to 0.27 (`sdk/session.py`, `canvas_app.py`) and the Go server;
the request contract, sections 3 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from streamweir.requests.canonical import Answer, Message, Request
from streamweir.requests.canonical_reader import add_files, add_message, made_request, read_files
from streamweir.requests.fields import Fields
from streamweir.requests.messages import files_of, last_user_index, role_and_text, text_of_message
from streamweir.requests.openai_chat import chat_body, read_chat
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Taken, Written, without_absent

__all__ = ["READER", "WRITER"]

_AGENT_CHAT: Final = re.compile(r"/agents/chat/completions?/?\Z")
_CHAT: Final = re.compile(r"(?<!/agents)/(?:chats/[^/]+|chat)/completions/?\Z")
_CHAT_WITH_SESSIONS: Final = re.compile(r"(?P<chat>.*/chats/[^/]+)/completions/?\Z")
_CONVERSATION: Final = re.compile(
    r"(?=.*/api(?:/|\Z))(?!.*/(?:agents|agentbots|chats|chatbots|chat|canvas)/).*/completion/?\Z"
)
"""Matches the API's route of conversations; the routes of agents, chats and canvases have other bodies."""
_CANVAS: Final = re.compile(r"/canvas/completion/?\Z")
_OPENAI: Final = "openai"
_NAME_LENGTH: Final = 50
_UNNAMED: Final = "New conversation"


def _read(fields: Fields) -> Request:
    session = fields.text("session_id") or fields.text("conversation_id")
    if "messages" in fields:
        return made_request(**{**read_chat(fields), "thread_id": session})
    messages: list[Message] = []
    add_message(messages, fields.text("question") or fields.text("query"))
    inputs, given = fields.mapping("inputs") or {}, _values(fields.value.get("inputs"))
    if session and inputs and not messages:
        held = {"session_id": session, "inputs": inputs}
        answer = {"interaction_id": "", "action": "submit", "value": given, "resume": held}
        return made_request(thread_id=session, user=fields.text("user_id"), resume=[answer])
    uploads = [item for item in fields.sequence("files") if isinstance(item, dict) and "id" in item]
    if not uploads:
        add_files(messages, [*read_files(fields, "files")])
    return made_request(
        messages=messages,
        thread_id=session,
        inputs=given,
        user=fields.text("user_id"),
        stream=fields.boolean("stream"),
        extra={"files": uploads} if uploads else None,
    )


def _values(inputs: Any) -> dict[str, Any]:
    """Return the values of inputs; each input is a definition with a value, or only the value."""
    if not isinstance(inputs, dict):
        return {}
    return {
        name: field["value"] if isinstance(field, dict) and "value" in field else field
        for name, field in inputs.items()
    }


def _write(outgoing: Outgoing) -> list[Written]:
    path = outgoing.path
    if _OPENAI in path:
        return [Written(chat_body(outgoing))]
    for name in ("tools", "response_format"):
        if outgoing.request.get(name):
            outgoing.lose(name)
    if outgoing.answers:
        return [Written(_answered(outgoing, outgoing.answers[0]))]
    if _CONVERSATION.match(path):
        return [Written(_conversation(outgoing))]
    return _chat(outgoing) if _CHAT.search(path) else [Written(_agent(outgoing))]


def _agent(outgoing: Outgoing) -> dict[str, Any]:
    body = without_absent(
        **{_question_field(outgoing): outgoing.text},
        stream=True,
        session_id=outgoing.thread_id,
        inputs={name: {"value": value} for name, value in outgoing.inputs.items()},
        user_id=outgoing.user,
    )
    outgoing.files("none")
    return {**outgoing.extra, **body}


def _conversation(outgoing: Outgoing) -> dict[str, Any]:
    """Return the body with all messages; the server continues from the last one."""
    if outgoing.inputs:
        outgoing.lose("inputs")
    if any(map(files_of, outgoing.new_messages)):
        outgoing.lose("files")
    messages = [role_and_text(message) for message in outgoing.messages if text_of_message(message)]
    body = without_absent(conversation_id=outgoing.thread_id, messages=messages, stream=True)
    return {**outgoing.extra, **body}


def _chat(outgoing: Outgoing) -> list[Written]:
    """Return the requests of a chat; the first one makes a session if the chat has none."""
    if outgoing.inputs:
        outgoing.lose("inputs")
    outgoing.files("none")
    session: str | None = outgoing.thread_id
    requests = []
    if session is None and (found := _CHAT_WITH_SESSIONS.match(outgoing.path)):
        session = Taken("thread_id")
        requests.append(
            Written(
                {"name": _name(outgoing)}, path=f"{found['chat']}/sessions", takes={"thread_id": "data.id"}
            )
        )
    body = without_absent(question=outgoing.text, stream=True, session_id=session)
    return [*requests, Written({**outgoing.extra, **body})]


def _name(outgoing: Outgoing) -> str:
    at = last_user_index(outgoing.messages)
    text = "" if at is None else text_of_message(outgoing.messages[at])
    return text[:_NAME_LENGTH] or _UNNAMED


def _answered(outgoing: Outgoing, answer: Answer) -> dict[str, Any]:
    """Return the filled-in form."""
    is_agent = not (_CHAT.search(outgoing.path) or _CONVERSATION.match(outgoing.path))
    if answer["action"] in ("cancel", "reject") or not is_agent:
        raise outgoing.cannot_answer()
    held = outgoing.held(answer)
    asked = held.get("inputs")
    asked = asked if isinstance(asked, dict) else {}
    values = _given(answer, asked)
    names = dict.fromkeys((*asked, *values))
    inputs = {name: {**_definition(asked.get(name)), **_value(name, values)} for name in names}
    return without_absent(
        **{_question_field(outgoing): ""},
        stream=True,
        session_id=held.get("session_id") or outgoing.thread_id,
        inputs=inputs,
        user_id=outgoing.user,
    )


def _given(answer: Answer, asked: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values by the names of the inputs. A value that is no object is used for every input."""
    value = answer.get("value")
    if isinstance(value, dict):
        return value
    if value is None:
        return dict.fromkeys(asked, True) if answer["action"] == "approve" else {}
    return dict.fromkeys(asked, value)


def _definition(field: Any) -> dict[str, Any]:
    return field if isinstance(field, dict) else {}


def _value(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": values[name]} if name in values else {}


def _question_field(outgoing: Outgoing) -> str:
    is_query = _AGENT_CHAT.search(outgoing.path) or _CANVAS.search(outgoing.path)
    return "query" if is_query else "question"


READER: Final = RequestReader(
    _read,
    has_resume=True,
    sends_new_turns=True,
    field_names={"message": "question", "thread_id": "session_id", "user": "user_id"},
)
WRITER: Final = RequestWriter(
    _write, threads="server", takes=frozenset({"inputs", "files", "tools", "response_format"})
)
