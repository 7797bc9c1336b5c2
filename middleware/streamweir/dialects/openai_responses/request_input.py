"""Reads the input of a request: items in place of messages.

Consecutive items of a model (reasoning, a message, calls) are one message of the assistant, in their order.
Only after reasoning with encrypted content are the ids of items the upstream's own; streamweir has made other
ids for the client.

    item                                              canonical
    ───────────────────────────────────────────────   ────────────────────────────────────────────────────
    message                                           a message; the assistant's: a part of its turn
    reasoning                                         a part `reasoning`, or the seal of a text or a call
    function_call, custom_tool_call, another call     a call
    of the client
    its output                                        a message `tool`
    mcp_approval_response behind all of these         an answer: approve or reject
    mcp_approval_request with such an answer          a call
    any other                                         left out: the kept turn has it

Source: the Responses API (openai-python 3.57, `response_input_item_param.py`); request contract, section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from streamweir.dialects.openai_responses.shared_ids import is_made_id
from streamweir.dialects.openai_responses.shared_words import CLIENT_CALLS, OUTPUTS
from streamweir.jsontext import write_json_text
from streamweir.opaque.seal import is_seal
from streamweir.requests.call_arguments import made_call
from streamweir.requests.canonical import Answer, Message, Opaque, Part, ToolCall
from streamweir.requests.content import content_of
from streamweir.requests.fields import Fields
from streamweir.requests.media import file_part, present_file
from streamweir.requests.messages import made_message, read_part, result_content
from streamweir.requests.opaque_values import native_text, sealed
from streamweir.requests.turn_content import TurnContent, reasoning_part, with_opaque_text

__all__ = ["DIALECT", "Input", "read_input"]

DIALECT: Final = "openai-responses"
_ROLES: Final = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_ARGUMENTS: Final = ("input", "action", "actions", "operation")
_REQUEST: Final = "mcp_approval_request"
_FAILED: Final = ("failed", "incomplete")


class Input(NamedTuple):
    """The messages and answers of an input.

    Attributes:
        messages: the messages of the conversation.
        answers: the answers to open requests for approval.
    """

    messages: Sequence[Message]
    answers: Sequence[Answer]


def read_input(fields: Fields) -> Input:
    """Return the input of a request; a text is a message of the user."""
    if isinstance(text := fields.get("input"), str):
        return Input([made_message("user", text)], ())
    items = _Items()
    for item in fields.objects("input"):
        items.add(item)
    items.end_turn()
    messages = (_without_requests_that_are_over(message, items.answers) for message in items.messages)
    return Input([message for message in messages if message is not None], [*items.answers.values()])


class _Items:
    """Makes messages from items. Items of a turn of the assistant are collected until one of another role.

    Attributes:
        messages: the completed messages.
        answers: the answers to requests for approval after the assistant's last item, by id of the request.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.answers: dict[str, Answer] = {}
        self._turn: TurnContent | None = None
        self._message_id: str | None = None
        self._texts = 0
        self._has_own_ids = False
        """Whether reasoning with encrypted content has been read, after which ids are the upstream's."""

    def add(self, item: Fields) -> None:
        """Add an item; an item of an unknown type is left out."""
        kind = item.text("type")
        if kind == "reasoning":
            self._add_reasoning(item)
        elif kind in CLIENT_CALLS or (kind == "tool_search_call" and item.get("execution") == "client"):
            self._open_turn().add_call(self._call(item, str(kind)))
        elif kind in OUTPUTS and kind != "program_output":
            self.end_turn()
            self.messages.append(_result(item))
        elif kind == _REQUEST:
            self._open_turn().add_call(_approval_request(item))
        elif kind == "mcp_approval_response":
            answer = _answer(item)
            self.answers[answer["interaction_id"]] = answer
        elif kind in (None, "message"):
            role = _ROLES.get(item.word("role", [*_ROLES]) or "user", "user")
            self._add_message(item, role)

    def end_turn(self) -> None:
        """End the message of the assistant, if one has begun."""
        turn, self._turn = self._turn, None
        if turn is None:
            return
        content = turn.content()
        if content is not None or turn.calls:
            message_id = self._message_id if self._texts == 1 else None
            made = made_message("assistant", content, id=message_id, tool_calls=turn.calls)
            self.messages.append(made)

    def _open_turn(self) -> TurnContent:
        self.answers.clear()
        if self._turn is None:
            self._turn, self._texts, self._message_id, self._has_own_ids = TurnContent(), 0, None, False
        return self._turn

    def _add_message(self, item: Fields, role: str) -> None:
        content = _content(item, "content")
        if role != "assistant":
            self.end_turn()
            self.messages.append(made_message(role, content, id=item.text("id")))
            return
        if self._texts and not self._has_own_ids:
            self.end_turn()  # a turn of its own: nothing of the model joins the two
        turn = self._open_turn()
        self._texts += 1
        self._message_id = item.text("id")
        for part in with_opaque_text(content, self._own_id(item)):
            turn.add_part(part)

    def _add_reasoning(self, item: Fields) -> None:
        """Add reasoning; an item without a text may hold the seal of a text or a call."""
        turn = self._open_turn()
        text = "\n\n".join([*_texts(item, "summary"), *_texts(item, "content")])
        encrypted = item.get("encrypted_content")
        if is_seal(encrypted):
            if text:
                turn.add_part(reasoning_part(text, sealed(encrypted)))
            else:
                turn.add_seal(encrypted)
            return
        own = None if is_made_id(item.text("id") or "") else native_text(item.value, "encrypted_content")
        self._has_own_ids = self._has_own_ids or own is not None
        value = {"id": item.get("id"), "encrypted_content": own} if own else None
        turn.add_part(reasoning_part(text, {DIALECT: value} if value else None))

    def _call(self, item: Fields, kind: str) -> ToolCall:
        given = {name: item.get(name) for name in _ARGUMENTS if item.get(name) is not None}
        name = item.text("name") or kind.removesuffix("_call")
        if kind == "function_call":
            name, given = item.required_text("name"), {}
        opaque = self._own_id(item)
        if kind != "function_call":
            own: dict[str, Any] = {**(opaque or {}).get(DIALECT, {}), "type": kind}
            opaque = {DIALECT: own}
        return made_call(item.text("call_id") or "", name, given or item.get("arguments"), opaque=opaque)

    def _own_id(self, item: Fields) -> Opaque | None:
        item_id = item.text("id")
        is_own = item_id is not None and self._has_own_ids and not is_made_id(item_id)
        return {DIALECT: {"id": item_id}} if item_id and is_own else None


def _texts(item: Fields, name: str) -> list[str]:
    parts = item.get(name)
    found = (part.get("text") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return [text for text in found if isinstance(text, str) and text]


def _approval_request(item: Fields) -> ToolCall:
    request_id = item.text("id") or ""
    own = {"id": request_id, "type": _REQUEST, "server_label": item.text("server_label") or ""}
    name = item.text("name") or "unknown"
    return made_call(request_id, name, item.get("arguments"), opaque={DIALECT: own})


def _without_requests_that_are_over(message: Message, answers: Mapping[str, Answer]) -> Message | None:
    """Return the message without closed requests for approval; None if no part is left."""
    calls = message.get("tool_calls", [])
    kept = [call for call in calls if not _is_over(call, answers)]
    if len(kept) == len(calls):
        return message
    ids = {call["id"] for call in kept}
    content = message.get("content")
    if isinstance(content, list):
        content = content_of(part for part in content if part["type"] != "tool_call" or part["id"] in ids)
    if content is None and not kept:
        return None
    return made_message("assistant", content, id=message.get("id"), tool_calls=kept)


def _is_over(call: ToolCall, answers: Mapping[str, Answer]) -> bool:
    own = call.get("opaque", {}).get(DIALECT, {})
    return own.get("type") == _REQUEST and call["id"] not in answers


def _result(item: Fields) -> Message:
    own = item.text("id") if item.get("type") == "local_shell_call_output" else None
    call_id = item.text("call_id") or own
    is_error = True if item.get("status") in _FAILED else None
    return made_message("tool", _output(item), tool_call_id=call_id, is_error=is_error)


def _output(item: Fields) -> str | list[Part]:
    """Return the output: a text, or parts with files; that of a shell, computer or tool search is JSON."""
    name = "tools" if item.get("type") == "tool_search_output" else "output"
    value = item.get(name)
    is_content = isinstance(value, list) and item.get("type") in (
        "function_call_output",
        "custom_tool_call_output",
    )
    if value is not None and not isinstance(value, str) and not is_content:
        return write_json_text(value)
    return result_content(map(_part, item.objects(name))) if is_content else value or ""


def _answer(item: Fields) -> Answer:
    request_id = item.required_text("approval_request_id")
    answer: Answer = {
        "interaction_id": request_id,
        "action": "approve" if item.boolean("approve") else "reject",
        "resume": {"approval_request_id": request_id},
    }
    reason = item.text("reason")
    return cast("Answer", {**answer, "value": reason}) if reason else answer


def _content(item: Fields, name: str) -> str | list[Part] | None:
    value = item.get(name)
    if value is None or isinstance(value, str):
        return value
    return content_of(map(_part, item.objects(name)))


def _part(part: Fields) -> Part | None:
    match part.get("type"):
        case "input_image":
            image = file_part("image", url=part.text("image_url"), file_id=part.text("file_id"))
            return present_file(part, image, "an image with `image_url` or `file_id`")
        case "input_file":
            file = file_part(
                None,
                url=part.text("file_url"),
                data=part.text("file_data"),
                file_id=part.text("file_id"),
                name=part.text("filename"),
            )
            return present_file(part, file, "a file with `file_url`, `file_data` or `file_id`")
    return read_part(part)
