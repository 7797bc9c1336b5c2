"""Writes requests to an ADK server: one that makes the session, then one with a message in it.

Source: google-adk 2.13 (`cli/adk_web_server.py`, `RunAgentRequest`); the request contract, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir.requests.canonical import Answer, Part
from streamweir.requests.decisions import CONFIRMATION, confirms, refuses
from streamweir.requests.media import media_type_of
from streamweir.requests.messages import files_of, text_of_message, tool_results
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, path_segment, without_absent

__all__ = ["WRITER"]

_NAMES: Final = frozenset({"appName", "userId"})
"""The inputs that have a place."""

_EXISTS: Final = {400: "exist", 409: "exist"}


def _write(outgoing: Outgoing) -> list[Written]:
    app = _name(outgoing, "appName") or ""
    user = _name(outgoing, "userId") or outgoing.user or "user"
    if outgoing.answers and outgoing.thread_id is None:
        raise outgoing.cannot_answer()
    if not _NAMES.issuperset(outgoing.inputs):
        outgoing.lose("inputs")
    session = outgoing.thread_id or outgoing.new_id()
    place = (path_segment(app, "appName"), path_segment(user, "user"), path_segment(session, "thread_id"))
    base = outgoing.path.removesuffix("/").rpartition("/")[0]
    path = "{}/apps/{}/users/{}/sessions/{}".format(base, *place)
    body = {
        "appName": app,
        "userId": user,
        "sessionId": session,
        "streaming": True,
        "newMessage": {"role": "user", "parts": _parts(outgoing)},
        **without_absent(stateDelta=outgoing.request.get("state")),
    }
    first = [] if outgoing.answers else [Written({}, path=path, goes_on=_EXISTS)]
    return [*first, Written(body, is_overlaid=True)]


def _name(outgoing: Outgoing, name: str) -> str | None:
    """Return the name in the configuration, or in the inputs."""
    found = outgoing.overlay.get(name) or outgoing.inputs.get(name)
    return found if isinstance(found, str) else None


def _parts(outgoing: Outgoing) -> list[dict[str, Any]]:
    if outgoing.answers:
        return [_answer(answer, outgoing) for answer in outgoing.answers]
    if outgoing.thread_id is not None and (results := tool_results(outgoing.messages)):
        names = {
            call["id"]: call["name"]
            for message in outgoing.messages
            for call in message.get("tool_calls", [])
        }
        responses = [
            _response(tool_id := result.get("tool_call_id", ""), names.get(tool_id, "tool"), result)
            for result in results
        ]
        return [*responses, *_beside_results(outgoing)]
    return [{"text": outgoing.text}, *map(_inline, outgoing.files("bytes"))]


def _beside_results(outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the user's texts and all files after the assistant's last message, beside results of tools."""
    if any(message["role"] == "system" for message in outgoing.messages):
        outgoing.lose("system")
    for message in outgoing.new_messages:
        if message["role"] == "user" and (text := text_of_message(message)):
            yield {"text": text}
        for file in files_of(message):
            if "base64" in file:
                yield _inline(file)
            else:
                outgoing.lose("files")


def _inline(file: Part) -> dict[str, Any]:
    return {"inlineData": {"mimeType": media_type_of(file), "data": file["base64"]}}


def _response(tool_id: str, name: str, result: Any) -> dict[str, Any]:
    key = "error" if result.get("is_error") else "result"
    response = {key: text_of_message(result)}
    return {"functionResponse": {"id": tool_id, "name": name, "response": response}}


def _answer(answer: Answer, outgoing: Outgoing) -> dict[str, Any]:
    held, value = outgoing.held(answer), answer.get("value")
    is_asked = held.get("name") == CONFIRMATION
    response: dict[str, Any] = {"confirmed": confirms(answer) if is_asked else not refuses(answer)}
    if isinstance(value, dict):
        response |= value
    elif value is not None:
        response["result"] = value
    name = held.get("name")
    return {
        "functionResponse": {
            "id": held.get("id") or answer["interaction_id"],
            "name": name if isinstance(name, str) else "tool",
            "response": response,
        }
    }


WRITER: Final = RequestWriter(
    _write, threads="client", takes=frozenset({"files", "inputs", "state"}), needs=("appName",)
)
