"""Writes requests to Gemini: contents with parts, a separate system prompt, functions as declarations.

Source: the Gemini API (v1beta), `GenerateContentRequest`; the request contract, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from streamweir.dialects.gemini.request_mending import mend
from streamweir.ids import is_made_call_id
from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.call_arguments import arguments_object
from streamweir.requests.canonical import FILE_TYPES, Message, Part, ToolCall
from streamweir.requests.kept_message import kept_items
from streamweir.requests.media import media_type_of
from streamweir.requests.messages import files_of, text_of_message
from streamweir.requests.opaque_values import native_text
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestWriter
from streamweir.requests.turn_content import placed_items
from streamweir.requests.written import Written, without_absent

__all__ = ["WRITER"]

_STREAM: Final = {"alt": "sse"}
_SIGNATURE: Final = "thoughtSignature"


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
    """Return the messages except the system prompt. Neighbours of one role are joined, as results must be."""
    messages = answered_calls(outgoing)
    calls = _Calls(messages, outgoing)
    contents: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "system":
            continue
        is_model = message["role"] == "assistant"
        role = "model" if is_model else "user"
        parts = [*(_turn_parts if is_model else _parts)(message, calls, outgoing)]
        if contents and contents[-1]["role"] == role:
            contents[-1]["parts"] += parts
        elif parts:
            contents.append({"role": role, "parts": parts})
    return contents


class _Calls:
    """The calls of a conversation.

    Attributes:
        names: the names of their functions, by the ids of the calls.
        own_ids: the ids that the upstream itself has given; no other ids are sent to it.
    """

    def __init__(self, messages: Sequence[Message], outgoing: Outgoing) -> None:
        self.names: dict[str, str] = {}
        self.own_ids: set[str] = set()
        for message in messages:
            calls = message.get("tool_calls", [])
            self.names.update({call["id"]: call["name"] for call in calls})
            if calls and outgoing.is_own(message):
                self.own_ids.update(call["id"] for call in calls if not is_made_call_id(call["id"]))

    def shown_id(self, call_id: str) -> dict[str, str]:
        """Return the field with the id of a call; empty if the upstream has not given the id."""
        return {"id": call_id} if call_id in self.own_ids else {}


def _parts(message: Message, calls: _Calls, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        yield _result(message, calls)
        for file in files_of(message):
            yield from _file(file, outgoing)
        return
    for part, _ in placed_items(message):
        yield from _part(part, outgoing)


def _turn_parts(message: Message, calls: _Calls, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the parts of one message of the assistant; each part has only its own signature."""
    if (kept := kept_items(message, "parts")) is not None:
        yield from kept
        return
    for part, call in placed_items(message):
        if call is not None:
            called = {"name": call["name"], "args": arguments_object(call), **calls.shown_id(call["id"])}
            yield {"functionCall": called, **_signature(call, outgoing)}
        elif part["type"] == "reasoning":
            if signature := _signature(part, outgoing):
                yield {"text": part.get("text", ""), "thought": True, **signature}
        else:
            yield from _part(part, outgoing)


def _part(part: Part, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if part["type"] in FILE_TYPES:
        yield from _file(part, outgoing)
    elif part["type"] == "text":
        signature = _signature(part, outgoing)
        if part["text"] or signature:
            yield {"text": part["text"], **signature}


def _signature(item: Part | ToolCall, outgoing: Outgoing) -> dict[str, str]:
    signature = native_text(outgoing.opaque_of(item) or {}, _SIGNATURE)
    return {_SIGNATURE: signature} if signature else {}


def _result(message: Message, calls: _Calls) -> dict[str, Any]:
    call_id = message.get("tool_call_id", "")
    name = calls.names.get(call_id) or message.get("name") or "tool"
    key = "error" if message.get("is_error") else "result"
    response = {"name": name, "response": {key: text_of_message(message)}, **calls.shown_id(call_id)}
    return {"functionResponse": response}


def _file(part: Part, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if "base64" in part:
        yield {"inlineData": {"mimeType": media_type_of(part), "data": part["base64"]}}
    elif "url" in part:
        yield {"fileData": {"mimeType": media_type_of(part), "fileUri": part["url"]}}
    else:
        outgoing.lose("files")


WRITER: Final = RequestWriter(
    _write,
    history="all",
    takes=frozenset({"system", "history", "files", "tools"}),
    mend=mend,
    native_opaque="gemini",
)
