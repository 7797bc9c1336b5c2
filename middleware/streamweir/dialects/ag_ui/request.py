"""Reads and writes requests of AG-UI: `RunAgentInput`, 1.0 and older.

Source: ag-ui-protocol 1.0.0 (`RunAgentInput`, messages, parts), bodies of @ag-ui/client 1.0.0 and 0.0.40; the
request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from streamweir.opaque.seal import is_seal
from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.call_arguments import arguments_text_of, made_call
from streamweir.requests.canonical import Answer, Message, Opaque, Part, Request, ToolCall
from streamweir.requests.canonical_reader import made_request, read_canonical_answers, read_tools
from streamweir.requests.content import content_of, parts_of
from streamweir.requests.fields import Fields, one_of
from streamweir.requests.media import file_part, media_type_of, present_file
from streamweir.requests.messages import files_of, made_message, read_content, text_of_message
from streamweir.requests.opaque_values import native_text, sealed
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.turn_content import placed_items, reasoning_part, with_opaque_text
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]

_ROLES: Final = {"developer": "system", "system": "system", "user": "user", "assistant": "assistant"}
_LEFT_OUT: Final = frozenset({"activity"})
_ALL_ROLES: Final = (*_ROLES, "tool", *sorted(_LEFT_OUT), "reasoning")
_DIALECT: Final = "ag-ui"
_ENCRYPTED: Final = "encryptedValue"
_FILES: Final = ("image", "audio", "video", "document")
_SOURCES: Final = ("data", "url", "file")
_STATUSES: Final = ("resolved", "cancelled")
_APPROVED: Final = "approved"


# Reading


def _read(fields: Fields) -> Request:
    fields.leave("protocolVersion")
    return made_request(
        messages=_read_messages(fields),
        thread_id=fields.text("threadId"),
        run_id=fields.text("runId"),
        tools=read_tools(fields),
        state=fields.get("state"),
        context=[
            {"description": item.text("description") or "", "value": item.text("value") or ""}
            for item in fields.objects("context")
        ],
        metadata=fields.mapping("forwardedProps"),
        resume=read_canonical_answers(fields) or [_read_answer(item) for item in fields.objects("resume")],
    )


def _read_messages(fields: Fields) -> list[Message]:
    """Return the messages. Reasoning becomes a part of the assistant's next message."""
    found: list[Message] = []
    reasoning: list[Part] = []
    for item in fields.objects("messages"):
        role = item.get("role")
        if not isinstance(role, str) or role not in _ALL_ROLES:
            raise item.error("role", one_of(_ALL_ROLES))
        if role == "reasoning":
            reasoning += filter(None, [reasoning_part(_reasoning_text(item), _opaque_of(item))])
        elif role == "assistant":
            found.append(_read_turn(item, reasoning))
            reasoning = []
        elif role not in _LEFT_OUT:
            _add_before_calls(found, reasoning)
            found.append(_read_result(item) if role == "tool" else _read_message(item, _ROLES[role]))
            reasoning = []
    _add_before_calls(found, reasoning)
    return found


def _add_before_calls(found: Sequence[Message], reasoning: Sequence[Part]) -> None:
    """Add reasoning to the last message after its text, if the assistant wrote it and calls followed."""
    if reasoning and found and found[-1]["role"] == "assistant":
        found[-1]["content"] = [*parts_of(found[-1].get("content")), *reasoning]


def _read_message(item: Fields, role: str) -> Message:
    content = read_content(item, _read_part)
    return made_message(role, content, id=item.text("id"), name=item.text("name"))


def _read_result(item: Fields) -> Message:
    error = item.text("error")
    return made_message(
        "tool",
        read_content(item, _read_part) or error or "",
        id=item.text("id"),
        tool_call_id=item.required_text("toolCallId"),
        is_error=bool(error),
    )


def _read_turn(item: Fields, reasoning: Sequence[Part]) -> Message:
    """Return a message of the assistant; its encrypted value belongs to its text."""
    message = _read_message(item, "assistant")
    calls = [_read_call(call) for call in item.objects("toolCalls")]
    opaque = _opaque_of(item)
    if reasoning or opaque:
        texts = with_opaque_text(message.get("content"), opaque)
        message["content"] = content_of([*reasoning, *texts]) or ""
    return cast("Message", {**message, "tool_calls": calls}) if calls else message


def _read_call(fields: Fields) -> ToolCall:
    called = fields.within("function")
    return made_call(
        fields.text("id") or "",
        called.required_text("name"),
        called.get("arguments"),
        opaque=_opaque_of(fields),
    )


def _reasoning_text(item: Fields) -> str:
    """Return the text of a reasoning message; empty if its content has another type."""
    content = item.get("content")
    return content if isinstance(content, str) else ""


def _opaque_of(item: Fields) -> Opaque | None:
    """Return the opaque value of a message or a call: a seal, or a value of an AG-UI upstream."""
    value = item.get(_ENCRYPTED)
    if is_seal(value):
        return sealed(value)
    return {_DIALECT: {_ENCRYPTED: value}} if isinstance(value, str) and value else None


def _read_part(fields: Fields) -> Part:
    """Return a part: text, a file by its source, or the `binary` of older clients."""
    kind = fields.get("type")
    match kind:
        case "text":
            return {"type": "text", "text": fields.required_text("text")}
        case "binary":
            return present_file(
                fields,
                file_part(
                    None,
                    url=fields.text("url"),
                    data=fields.text("data"),
                    file_id=fields.text("id"),
                    media_type=fields.text("mimeType"),
                    name=fields.text("filename"),
                ),
            )
        case "image" | "audio" | "video" | "document":
            return present_file(fields, _read_source(fields.within("source"), kind))
    raise fields.error("type", one_of(("text", *_FILES, "binary")))


def _read_source(fields: Fields, kind: str) -> Part:
    word, value = fields.word("type", _SOURCES), fields.required_text("value")
    places: dict[str | None, str] = {"data": "data", "url": "url", "file": "file_id"}
    held: Any = {places[word or "url"]: value}
    of_kind: Any = "file" if kind == "document" else kind
    return file_part(of_kind, media_type=fields.text("mimeType"), **held)


def _read_answer(fields: Fields) -> Answer:
    """Read an answer to an interrupt. A payload that only accepts or refuses is read as an approval."""
    interrupt_id, payload = fields.required_text("interruptId"), fields.get("payload")
    if fields.word("status", _STATUSES) == "cancelled":
        return {"interaction_id": interrupt_id, "action": "cancel"}
    decided = payload.get(_APPROVED) if isinstance(payload, dict) else payload
    if isinstance(decided, bool):
        answer: Answer = {"interaction_id": interrupt_id, "action": "approve" if decided else "reject"}
        if isinstance(payload, dict) and len(payload) > 1:
            answer["value"] = payload
        return answer
    submitted: Answer = {"interaction_id": interrupt_id, "action": "submit"}
    return submitted if payload is None else {**submitted, "value": payload}


# Writing


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    interrupts = _interrupts_of(outgoing)
    messages = outgoing.messages if interrupts else answered_calls(outgoing)
    body: dict[str, Any] = {
        "threadId": outgoing.thread_id or outgoing.new_id(),
        "runId": request.get("run_id") or outgoing.new_id(),
        "state": request.get("state", {}),
        "messages": [made for message in messages for made in _messages(message, outgoing)],
        "tools": [_tool(tool) for tool in request.get("tools", [])],
        "context": request.get("context", []),
        "forwardedProps": request.get("metadata", {}),
    }
    if interrupts:
        body["resume"] = [_answer(answer, interrupt_id) for answer, interrupt_id in interrupts]
    return Written({**outgoing.extra, **body})


def _interrupts_of(outgoing: Outgoing) -> Sequence[tuple[Answer, str]]:
    """Return the answers to interrupts with the interrupts' ids; results of calls are left out.

    A client of this protocol knows the interrupt's own id, and uses it in its answer.
    """
    calls = {call["id"] for message in outgoing.messages for call in message.get("tool_calls", [])}
    found = []
    for answer in outgoing.answers:
        held, own_id = answer.get("resume"), answer["interaction_id"]
        interrupt_id = held.get("interruptId") if isinstance(held, dict) else None
        if isinstance(interrupt_id, str):
            found.append((answer, interrupt_id))
        elif own_id and own_id not in calls:
            found.append((answer, own_id))
    return found


def _answer(answer: Answer, interrupt_id: str) -> dict[str, Any]:
    action, value = answer["action"], answer.get("value")
    if action == "cancel":
        return {"interruptId": interrupt_id, "status": "cancelled"}
    resolved: dict[str, Any] = {"interruptId": interrupt_id, "status": "resolved"}
    if action == "submit":
        return resolved if value is None else {**resolved, "payload": value}
    more = value if isinstance(value, dict) else {} if value is None else {"reason": value}
    return {**resolved, "payload": {**more, _APPROVED: action == "approve"}}


def _messages(message: Message, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the reasoning messages that the upstream made, then the message itself."""
    for part, _ in placed_items(message):
        if part["type"] == "reasoning":
            made = {"id": outgoing.new_id(), "role": "reasoning", "content": part.get("text", "")}
            yield {**made, **_encrypted(outgoing.opaque_of(part))}
    yield _message(message, outgoing)


def _message(message: Message, outgoing: Outgoing) -> dict[str, Any]:
    role = message["role"]
    made: dict[str, Any] = {"id": message.get("id") or outgoing.new_id(), "role": role}
    if role != "user" and files_of(message):
        outgoing.lose("files")
    if role == "tool":
        text = text_of_message(message)
        made |= {"toolCallId": message.get("tool_call_id", ""), "content": text}
        return {**made, "error": text} if message.get("is_error") else made
    if role == "user":
        content = message.get("content", "")
        made["content"] = content if isinstance(content, str) else [_part(part) for part in content]
    elif text := text_of_message(message):
        made["content"] = text
    calls = [_call(call, outgoing) for call in message.get("tool_calls", [])]
    of_text = [outgoing.opaque_of(part) for part, _ in placed_items(message) if part["type"] == "text"]
    encrypted = _encrypted(next(filter(None, of_text), None))
    return made | without_absent(name=message.get("name"), toolCalls=calls) | encrypted


def _call(call: ToolCall, outgoing: Outgoing) -> dict[str, Any]:
    function = {"name": call["name"], "arguments": arguments_text_of(call)}
    made = {"id": call["id"], "type": "function", "function": function}
    return {**made, **_encrypted(outgoing.opaque_of(call))}


def _encrypted(own: Mapping[str, Any] | None) -> dict[str, str]:
    value = native_text(own or {}, _ENCRYPTED)
    return {_ENCRYPTED: value} if value else {}


def _part(part: Part) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    kind = "document" if part["type"] == "file" else part["type"]
    if "base64" in part:
        source = {"type": "data", "value": part["base64"], "mimeType": media_type_of(part)}
    else:
        place = ("url", part["url"]) if "url" in part else ("file", part["file_id"])
        source = {"type": place[0], "value": place[1], **without_absent(mimeType=part.get("media_type"))}
    return {"type": kind, "source": source}


def _tool(tool: Any) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool.get("parameters", {"type": "object", "properties": {}}),
    }


READER: Final = RequestReader(
    _read, has_own_threads=True, field_names={"message": "messages", "thread_id": "threadId"}
)
WRITER: Final = RequestWriter(
    _write,
    history="all",
    threads="client",
    takes=frozenset({"system", "history", "files", "tools", "state", "context"}),
    native_opaque=_DIALECT,
)
