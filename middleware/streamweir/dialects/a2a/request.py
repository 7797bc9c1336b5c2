"""Writes requests to an A2A agent: one message, as a JSON-RPC method or in the HTTP+JSON form.

Source: the A2A specification 1.0 and 0.3; a2a-sdk 1.3.0 (`compat/v0_3/a2a_v0_3.proto` for the HTTP+JSON form
of 0.3, whose messages have `content`); the request contract, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from streamweir.codec.option_values import option_text
from streamweir.requests.canonical import Answer
from streamweir.requests.decisions import CONFIRMATION, confirms
from streamweir.requests.media import media_type_of
from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import NOTHING, Written, without_absent

__all__ = ["WRITER"]

_REST: Final = re.compile(r"/message:(?:send|stream)/?\Z")
_METHODS: Final = {
    ("1.0", "stream"): "SendStreamingMessage",
    ("1.0", "send"): "SendMessage",
    ("0.3", "stream"): "message/stream",
    ("0.3", "send"): "message/send",
}
_REFUSED: Final = ("cancel", "reject")
_MOST_DECISIONS: Final = 100
_OPTIONS: Final = {
    "version": ("1.0", "0.3"),
    "form": ("auto", "jsonrpc", "rest"),
    "method": ("stream", "send"),
}

_Shape = Callable[[str, Any, Mapping[str, str]], dict[str, Any]]
"""Makes a part from its kind (`text`, `data`, `url`, `base64`), its value, and known facts about a file."""


def _write(outgoing: Outgoing) -> Written:
    version, form, method = (_option(outgoing, name) for name in _OPTIONS)
    is_rest = form == "rest" or (form == "auto" and bool(_REST.search(outgoing.path)))
    headers = {"A2A-Version": "1.0"} if version == "1.0" else NOTHING
    params: dict[str, Any] = {"message": _message(outgoing, version, is_rest=is_rest)}
    if is_rest:
        waits = {} if version == "1.0" else {"configuration": {"blocking": True}}
        return Written({**params, **waits}, headers=headers)
    body = {
        "jsonrpc": "2.0",
        "id": outgoing.request.get("run_id") or outgoing.new_id(),
        "method": _METHODS[version, method],
        "params": params,
    }
    return Written(body, headers=headers)


def _option(outgoing: Outgoing, name: str) -> str:
    values = _OPTIONS[name]
    chosen = option_text(outgoing.options.get(name))
    return chosen if chosen in values else values[0]


def _message(outgoing: Outgoing, version: str, *, is_rest: bool) -> dict[str, Any]:
    held = _held(outgoing)
    fields = {"messageId": outgoing.new_id(), **held}
    if version == "1.0":
        return {**fields, "role": "ROLE_USER", "parts": _parts(outgoing, _flat)}
    if is_rest:
        return {**fields, "role": "ROLE_USER", "content": _parts(outgoing, _nested)}
    return {**fields, "kind": "message", "role": "user", "parts": _parts(outgoing, _of_a_kind)}


def _held(outgoing: Outgoing) -> dict[str, str]:
    """Return the ids of the conversation and of the task that an answer continues."""
    if not outgoing.answers:
        return without_absent(contextId=outgoing.thread_id)
    held = outgoing.held(outgoing.answers[0])
    task, context = held.get("task_id"), held.get("context_id", outgoing.thread_id)
    if not isinstance(task, str) or not isinstance(context, str | None):
        raise outgoing.cannot_answer()
    return without_absent(taskId=task, contextId=context)


# Parts


def _parts(outgoing: Outgoing, shape: _Shape) -> list[dict[str, Any]]:
    if outgoing.answers:
        return [_answer(answer, shape) for answer in outgoing.answers]
    texts = [shape("text", outgoing.text, NOTHING)] if outgoing.text else []
    data = [shape("data", dict(outgoing.inputs), NOTHING)] if outgoing.inputs else []
    return [*texts, *(_file(part, shape) for part in outgoing.files()), *data]


def _answer(answer: Answer, shape: _Shape) -> dict[str, Any]:
    """Return the part for an answer: text or data. A refusal is written in the agent's word."""
    value, refuses = answer.get("value"), answer["action"] in _REFUSED
    held = answer.get("resume")
    match held:
        case {"function_call": dict(call)}:
            is_asked = call.get("name") == CONFIRMATION
            return _result(call, value, shape, is_confirmed=confirms(answer) if is_asked else not refuses)
        case {"interrupt_id": _, "task_id": _}:
            return shape("data", {"resume": _resumed(held or NOTHING, answer)}, NOTHING)
    if refuses:
        return shape("text", "cancel", NOTHING)
    if isinstance(value, dict):
        return shape("data", value, NOTHING)
    return shape("text", answer_text(value) or "yes", NOTHING)


def _resumed(held: Mapping[str, Any], answer: Answer) -> Any:
    """Return the value of a graph's interrupt, or one decision for each waiting call."""
    count, value = held.get("decisions"), answer.get("value")
    if isinstance(count, int) and 0 < count <= _MOST_DECISIONS and not isinstance(value, dict):
        approved = confirms(answer)
        decision = {"type": "approve"} if approved else {"type": "reject", "message": answer_text(value)}
        return {"decisions": [decision] * count}
    if answer["action"] in _REFUSED:
        return False
    return True if value is None else value


def _result(call: Mapping[str, Any], value: Any, shape: _Shape, *, is_confirmed: bool) -> dict[str, Any]:
    """Return the result of a call that the client or a person answered, with the marks of Google's ADK."""
    response: dict[str, Any] = {"confirmed": is_confirmed}
    if isinstance(value, dict):
        response |= value
    elif value is not None:
        response["result"] = value
    data = {"id": call.get("id"), "name": call.get("name"), "response": response}
    return {**shape("data", data, NOTHING), "metadata": {"adk_type": "function_response"}}


def _file(part: Any, shape: _Shape) -> dict[str, Any]:
    kind = "url" if "url" in part else "base64"
    known = without_absent(media_type=media_type_of(part), name=part.get("name"))
    return shape(kind, part[kind], known)


def _flat(kind: str, value: Any, known: Mapping[str, str]) -> dict[str, Any]:
    """Return a part in the form of 1.0, whose only field names its kind."""
    name = "raw" if kind == "base64" else kind
    return {name: value, **without_absent(mediaType=known.get("media_type"), filename=known.get("name"))}


def _of_a_kind(kind: str, value: Any, known: Mapping[str, str]) -> dict[str, Any]:
    """Return a part in the form of 0.3, which has a field `kind`."""
    if kind in ("text", "data"):
        return {"kind": kind, kind: value}
    name = "uri" if kind == "url" else "bytes"
    return {"kind": "file", "file": {name: value, **_named(known)}}


def _nested(kind: str, value: Any, known: Mapping[str, str]) -> dict[str, Any]:
    """Return a part in the HTTP+JSON form of 0.3, in which each kind is an object."""
    if kind == "text":
        return {"text": value}
    if kind == "data":
        return {"data": {"data": value}}
    name = "fileWithUri" if kind == "url" else "fileWithBytes"
    return {"file": {name: value, **_named(known)}}


def _named(known: Mapping[str, str]) -> dict[str, str]:
    return without_absent(mimeType=known.get("media_type"), name=known.get("name"))


WRITER: Final = RequestWriter(
    _write, threads="server", takes=frozenset({"files", "inputs"}), option_values=_OPTIONS
)
