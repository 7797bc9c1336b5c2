"""Writes the messages of a request as items of the Responses API.

A reasoning item is sent only with its encrypted content, directly before the item that it led to. Later items
of the same turn keep their ids; other items are sent without an id. An upstream that stores no responses
accepts neither ids without their reasoning nor reasoning without the item after it.

Source: the Responses API (openai-python 3.57, `response_input_item_param.py`); the conversation contract,
sections 1 and 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from streamweir.dialects.openai_responses.request_outputs import call_kind, kinds_of_calls, output_item
from streamweir.optional_json import json_or
from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.call_arguments import arguments_text_of
from streamweir.requests.canonical import Answer, Message, Part, ToolCall
from streamweir.requests.content import parts_of
from streamweir.requests.decisions import confirms
from streamweir.requests.kept_message import kept_list
from streamweir.requests.media import data_url
from streamweir.requests.messages import files_of
from streamweir.requests.opaque_values import native_text
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.turn_content import placed_items
from streamweir.requests.written import without_absent

__all__ = ["written_items"]

Item = dict[str, Any]

_INPUT: Final = "input_text"
_APPROVAL_REQUEST: Final = "mcp_approval_request"


def written_items(outgoing: Outgoing) -> list[Item]:
    """Return the items of all messages, and of the answers to requests for approval."""
    approvals = [answer for answer in outgoing.answers if _approval_id(answer)]
    messages = [message for message in _messages(outgoing, approvals) if message["role"] != "system"]
    kinds = kinds_of_calls(messages, outgoing)
    written: list[Item] = []
    for role, neighbours in groupby(messages, itemgetter("role")):
        match role:
            case "tool":
                found = ((message, message.get("tool_call_id", "")) for message in neighbours)
                written += [_result(message, kinds.get(call_id), outgoing) for message, call_id in found]
            case "assistant":
                written += _turn(neighbours, outgoing)
            case _:
                written += _asked(neighbours, outgoing)
    return [*written, *map(_approval, approvals)]


def _asked(messages: Iterable[Message], outgoing: Outgoing) -> Iterator[Item]:
    for message in messages:
        if content := [*_parts(message, outgoing)]:
            yield {"type": "message", "role": message["role"], "content": content}


def _result(message: Message, kind: str | None, outgoing: Outgoing) -> Item:
    """Return the output of a call; only that of a function or a custom tool may hold files."""
    item = output_item(message, kind)
    if files_of(message):
        if kind in (None, "custom_tool_call"):
            return {**item, "output": [*_parts(message, outgoing)]}
        outgoing.lose("files")
    return item


# Approvals


def _messages(outgoing: Outgoing, approvals: Sequence[Answer]) -> Sequence[Message]:
    """Return the messages, followed by results of calls made from the request's `answers`."""
    answered = answered_calls(outgoing)
    if not approvals:
        return answered
    ids = {answer["interaction_id"] for answer in approvals}
    results = answered[len(outgoing.messages) :]
    others = [message for message in results if message.get("tool_call_id") not in ids]
    return [_without_approved(message, ids, outgoing) for message in (*outgoing.messages, *others)]


def _without_approved(message: Message, approved: set[str], outgoing: Outgoing) -> Message:
    """Return the message without approved calls, except those that are written as requests for approval."""
    calls = message.get("tool_calls", [])
    kept = [call for call in calls if call["id"] not in approved or _is_request(call, outgoing)]
    return message if len(kept) == len(calls) else {**message, "tool_calls": kept}


def _is_request(call: ToolCall, outgoing: Outgoing) -> bool:
    return call_kind(outgoing.opaque_of(call) or {}) == _APPROVAL_REQUEST


def _approval_id(answer: Answer) -> str:
    held = answer.get("resume")
    found = held.get("approval_request_id") if isinstance(held, dict) else None
    return found if isinstance(found, str) else ""


def _approval(answer: Answer) -> Item:
    reason = answer.get("value")
    return without_absent(
        type="mcp_approval_response",
        approval_request_id=_approval_id(answer),
        approve=confirms(answer),
        reason=reason if isinstance(reason, str) and reason else None,
    )


# Turns


def _turn(messages: Iterable[Message], outgoing: Outgoing) -> list[Item]:
    """Return the items of consecutive messages of the assistant; a kept turn is returned unchanged."""
    written: list[Item] = []
    turn = _Turn(outgoing)
    for message in messages:
        kept = kept_list(message)
        if kept is None:
            written += turn.items(message)
        else:
            written, turn = [*_without_last_reasoning(written), *kept], _Turn(outgoing)
    return _without_last_reasoning(written)


def _without_last_reasoning(items: list[Item]) -> list[Item]:
    """Return the items without reasoning at their end, which the API refuses."""
    end = len(items)
    while end and items[end - 1].get("type") == "reasoning":
        end -= 1
    return items[:end]


class _Turn:
    """Writes one turn, which may be several messages of a client.

    State: a reasoning item sets `_has_reasoning`; later items keep their ids.
    """

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self._has_reasoning = False

    def items(self, message: Message) -> Iterator[dict[str, Any]]:
        """Yield the items in the order of the parts; consecutive texts are one message."""
        texts: list[Part] = []
        for part, call in placed_items(message):
            if call is None and part["type"] != "reasoning":
                if texts and self._id_of(part) != self._id_of(texts[-1]):
                    yield from self._message(texts)
                    texts = []
                texts.append(part)
                continue
            yield from self._message(texts)
            texts = []
            yield from self._reasoning(part) if call is None else [self._call(call)]
        yield from self._message(texts)

    def _reasoning(self, part: Part) -> Iterator[dict[str, Any]]:
        own = self._outgoing.opaque_of(part) or {}
        encrypted = native_text(own, "encrypted_content")
        if encrypted is None:
            return
        self._has_reasoning = True
        text = part.get("text")
        summary = [{"type": "summary_text", "text": text}] if text else []
        known = without_absent(type="reasoning", id=native_text(own, "id"))
        yield {**known, "summary": summary, "encrypted_content": encrypted}

    def _message(self, texts: Sequence[Part]) -> Iterator[dict[str, Any]]:
        content = [item for part in texts for item in _part(part, "output_text", self._outgoing)]
        item_id = self._id_of(texts[-1]) if texts else None
        if content:
            status = "completed" if item_id else None
            yield without_absent(type="message", id=item_id, role="assistant", status=status, content=content)

    def _call(self, call: ToolCall) -> dict[str, Any]:
        own = self._outgoing.opaque_of(call) or {}
        kind = call_kind(own)
        if kind == _APPROVAL_REQUEST:
            label = native_text(own, "server_label") or ""
            given = arguments_text_of(call)
            return {
                "type": kind,
                "id": call["id"],
                "server_label": label,
                "name": call["name"],
                "arguments": given,
            }
        return without_absent(type=kind, id=self._id_of(call), call_id=call["id"], **_arguments(kind, call))

    def _id_of(self, item: Part | ToolCall) -> str | None:
        return native_text(self._outgoing.opaque_of(item) or {}, "id") if self._has_reasoning else None


def _arguments(kind: str, call: ToolCall) -> Mapping[str, Any]:
    """Return the name of the tool and the arguments of a call, in the fields of its kind."""
    text = arguments_text_of(call)
    match kind:
        case "function_call":
            return {"name": call["name"], "arguments": text}
        case "custom_tool_call":
            return {"name": call["name"], "input": call["arguments"].get("input", "")}
        case "tool_search_call":
            return {"execution": "client", "status": "completed", "arguments": json_or(text, {})}
    return {"status": "completed", **call["arguments"]}


# Parts


def _parts(message: Message, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    for part in parts_of(message.get("content")):
        yield from _part(part, _INPUT, outgoing)


def _part(part: Part, kind: str, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the item of a part; a message of the assistant, whose texts are output, takes no files."""
    if part["type"] == "text":
        if part["text"]:
            yield {"type": kind, "text": part["text"]}
    elif kind == _INPUT and (found := _file(part)):
        yield found
    else:
        outgoing.lose("files")


def _file(part: Part) -> dict[str, Any] | None:
    url = part.get("url")
    if part["type"] == "image" and (url or "base64" in part):
        return {"type": "input_image", "detail": "auto", "image_url": url or data_url(part)}
    if part["type"] in ("audio", "video"):
        return None
    data = data_url(part) if "base64" in part else None
    return without_absent(
        type="input_image" if part["type"] == "image" else "input_file",
        file_url=url,
        file_data=data,
        file_id=part.get("file_id"),
        filename=part.get("name") or ("file" if data else None),
    )
