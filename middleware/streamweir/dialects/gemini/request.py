"""Requests to Gemini: contents of parts, the system apart, functions as declarations.

Source: the Gemini API (v1beta), `GenerateContentRequest`; the request contract, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.canonical import Message, Part
from streamweir.requests.media import media_type_of
from streamweir.requests.messages import text_of_message
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

_STREAM: Final = {"alt": "sse"}


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    parameters = outgoing.parameters("temperature", "top_p", "max_tokens", "stop")
    body = without_absent(
        contents=_contents(outgoing),
        systemInstruction={"parts": [{"text": outgoing.system}]} if outgoing.system else None,
        tools=[{"functionDeclarations": declared}]
        if (declared := [dict(tool) for tool in request.get("tools", [])])
        else None,
        generationConfig=without_absent(
            temperature=parameters.get("temperature"),
            topP=parameters.get("top_p"),
            maxOutputTokens=parameters.get("max_tokens"),
            stopSequences=parameters.get("stop"),
        ),
    )
    return Written(body, query=_STREAM)


def _contents(outgoing: Outgoing) -> list[dict[str, Any]]:
    """Return the messages except the system's; neighbours of one role are merged, as results have to be."""
    messages = answered_calls(outgoing)
    names = {call["id"]: call["name"] for message in messages for call in message.get("tool_calls", [])}
    contents: list[dict[str, Any]] = []
    for message in messages:
        parts = [*_parts(message, names, outgoing)]
        if message["role"] == "system" or not parts:
            continue
        role = "model" if message["role"] == "assistant" else "user"
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
    return contents


def _parts(message: Message, names: Mapping[str, str], outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        yield _result(message, names)
        return
    content = message.get("content") or ""
    parts: list[Part] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    for part in parts:
        if part["type"] != "text":
            yield from _file(part, outgoing)
        elif part["text"]:
            yield {"text": part["text"]}
    for call in message.get("tool_calls", []):
        yield {"functionCall": {"name": call["name"], "args": call["arguments"]}}


def _result(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    name = names.get(message.get("tool_call_id", "")) or message.get("name") or "tool"
    key = "error" if message.get("is_error") else "result"
    return {"functionResponse": {"name": name, "response": {key: text_of_message(message)}}}


def _file(part: Part, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if "base64" in part:
        yield {"inlineData": {"mimeType": media_type_of(part), "data": part["base64"]}}
    elif "url" in part:
        yield {"fileData": {"mimeType": media_type_of(part), "fileUri": part["url"]}}
    else:
        outgoing.lose("files")


WRITER: Final = RequestWriter(_write, history="all", takes=frozenset({"system", "history", "files", "tools"}))
