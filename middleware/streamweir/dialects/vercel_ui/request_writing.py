"""Writes a chat of UI messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.canonical import Answer, Message, Part
from streamweir.requests.decisions import confirms
from streamweir.requests.media import media_type_of, url_of
from streamweir.requests.messages import files_of, text_of_message
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.written import Written, without_absent

__all__ = ["write_chat"]

Turn = dict[str, Any]


def write_chat(outgoing: Outgoing) -> Written:
    """Return the body that a page would send."""
    approvals = {answer["interaction_id"]: answer for answer in outgoing.answers if _approval_of(answer)}
    messages = outgoing.messages if approvals else answered_calls(outgoing)
    body = {
        "id": outgoing.thread_id or outgoing.new_id(),
        "trigger": "submit-message",
        "messages": _turns(messages, approvals, outgoing),
    }
    return Written({**outgoing.extra, **body})


def _approval_of(answer: Answer) -> str | None:
    held = answer.get("resume")
    found = held.get("approvalId") if isinstance(held, dict) else None
    return found if isinstance(found, str) else None


def _turns(messages: Iterable[Message], approvals: Mapping[str, Answer], outgoing: Outgoing) -> list[Turn]:
    """Return a page's messages: the assistant's texts and calls up to a question are one message."""
    turns: list[Turn] = []
    calls: dict[str, Turn] = {}
    for message in messages:
        if message["role"] == "tool":
            part = calls.get(message.get("tool_call_id", ""))
            if part is not None:
                part |= _result(message, outgoing)
            continue
        parts = _parts(message, outgoing)
        for call in message.get("tool_calls", []):
            calls[call["id"]] = _call(call)
            parts.append(calls[call["id"]])
        if message["role"] == "assistant" and turns and turns[-1]["role"] == "assistant":
            turns[-1]["parts"] += [{"type": "step-start"}, *parts]
        else:
            turns.append(
                {"id": message.get("id") or outgoing.new_id(), "role": message["role"], "parts": parts}
            )
    _approve(turns, calls, approvals, outgoing)
    return turns


def _approve(
    turns: list[Turn], calls: Mapping[str, Turn], approvals: Mapping[str, Answer], outgoing: Outgoing
) -> None:
    """Mark the calls that were approved or refused; a call that no message holds is added."""
    for call_id, answer in approvals.items():
        part = calls.get(call_id)
        if part is None:
            part = _call({"id": call_id, "name": "tool", "arguments": {}})
            turns.append({"id": outgoing.new_id(), "role": "assistant", "parts": [part]})
        decided = {"id": _approval_of(answer), "approved": confirms(answer)}
        reason = answer.get("value")
        decided |= {"reason": reason} if isinstance(reason, str) else {}
        part |= {"state": "approval-responded", "approval": decided}


def _parts(message: Message, outgoing: Outgoing) -> list[Turn]:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    written = [_part(part) for part in content]
    if None in written:
        outgoing.lose("files")
    return [part for part in written if part is not None]


def _part(part: Part) -> Turn | None:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    url = url_of(part)
    if url is None:
        return None
    file = {"type": "file", "mediaType": media_type_of(part), "url": url}
    return file | without_absent(filename=part.get("name"))


def _call(call: Any) -> Turn:
    return {
        "type": f"tool-{call['name']}",
        "toolCallId": call["id"],
        "state": "input-available",
        "input": call["arguments"],
    }


def _result(message: Message, outgoing: Outgoing) -> Turn:
    """Return the fields of a result: its text, since pages have no place for the files of a tool."""
    text = text_of_message(message)
    if files_of(message):
        outgoing.lose("files")
    if message.get("is_error"):
        return {"state": "output-error", "errorText": text}
    return {"state": "output-available", "output": text}
