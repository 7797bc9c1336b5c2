"""Writes requests to a LangGraph API server: a run of an assistant, in a thread if one is named.

Source: langgraph-sdk 0.4.14 (`_async/runs.py`); the request contract, sections 4 and 5.
"""

from __future__ import annotations

import re
from typing import Any, Final

from streamweir.requests.canonical import Answer, Message, Part
from streamweir.requests.decisions import confirms
from streamweir.requests.media import data_url, media_type_of
from streamweir.requests.outgoing import Outgoing, answer_text
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, path_segment, without_absent

__all__ = ["WRITER"]

_MODES: Final = ("messages-tuple", "updates", "custom")
_RUNS: Final = re.compile(r"(?:/threads/[^/]+)?/runs/(stream|wait)\Z")


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    thread_id = outgoing.thread_id
    body: dict[str, Any] = {"assistant_id": "agent", "stream_mode": [*_MODES], "on_disconnect": "cancel"}
    configurable = request.get("metadata", {}).get("configurable")
    if isinstance(configurable, dict) and configurable:
        body["config"] = {"configurable": configurable}
    if outgoing.answers:
        held = outgoing.held(outgoing.answers[0])
        known = held.get("thread_id")
        thread_id = known if isinstance(known, str) and known else thread_id
        if thread_id is None:
            raise outgoing.cannot_answer()
        body["command"] = {"resume": _resume(outgoing)}
    else:
        messages = [_message(message) for message in outgoing.new_messages]
        body["input"] = {"messages": messages, **outgoing.inputs}
    if thread_id is not None:
        body["if_not_exists"] = "create"
    return Written(body, path=_path(outgoing.path, thread_id))


def _path(path: str, thread_id: str | None) -> str | None:
    """Return the upstream's path with the id of the thread in it."""
    if thread_id is None or not (found := _RUNS.search(path)):
        return None
    return f"{path[: found.start()]}/threads/{path_segment(thread_id, 'thread_id')}/runs/{found[1]}"


# Messages


def _message(message: Message) -> dict[str, Any]:
    given = message.get("content", "")
    content = given if isinstance(given, str) else [_part(part) for part in given]
    calls = [
        {"id": call["id"], "name": call["name"], "args": call["arguments"], "type": "tool_call"}
        for call in message.get("tool_calls", [])
    ]
    return {"role": message["role"], "content": content} | without_absent(
        id=message.get("id"),
        name=message.get("name"),
        tool_calls=calls,
        tool_call_id=message.get("tool_call_id"),
        status="error" if message.get("is_error") else None,
    )


def _part(part: Part) -> dict[str, Any]:
    """Return a part of a message; images have the form that all integrations of models read."""
    kind = part["type"]
    if kind == "text":
        return {"type": "text", "text": part["text"]}
    if kind == "image" and ("url" in part or "base64" in part):
        return {"type": "image_url", "image_url": {"url": part.get("url") or data_url(part)}}
    made: dict[str, Any] = {"type": kind}
    if "base64" in part:
        return {**made, "source_type": "base64", "data": part["base64"], "mime_type": media_type_of(part)}
    if "url" in part:
        return {**made, "source_type": "url", "url": part["url"]}
    return {**made, "source_type": "id", "id": part.get("file_id", "")}


# Answers


def _resume(outgoing: Outgoing) -> Any:
    """Return the value that the interrupt returns; if several are answered, the values by their ids."""
    answers = outgoing.answers
    if len(answers) == 1:
        return _value(answers[0], outgoing)
    return {text: _value(answer, outgoing) for answer in answers if (text := _interrupt_id(answer, outgoing))}


def _interrupt_id(answer: Answer, outgoing: Outgoing) -> str:
    found = outgoing.held(answer).get("interrupt_id")
    return found if isinstance(found, str) else answer["interaction_id"]


def _value(answer: Answer, outgoing: Outgoing) -> Any:
    held, value, action = outgoing.held(answer), answer.get("value"), answer["action"]
    refuses = action in ("cancel", "reject")
    if (count := _count(held.get("decisions"))) and not (action == "submit" and isinstance(value, dict)):
        approved = confirms(answer)
        decision = {"type": "approve"} if approved else {"type": "reject", "message": answer_text(value)}
        return {"decisions": [decision] * count}
    if (count := _count(held.get("responses"))) and not (action == "submit" and isinstance(value, list)):
        return [{"type": "ignore" if refuses else "accept", "args": None}] * count
    if refuses:
        return False
    return True if value is None else value


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= 100 else 0


WRITER: Final = RequestWriter(
    _write, history="new", threads="uuid", takes=frozenset({"system", "history", "files", "inputs"})
)
