"""Requests of the Responses API: a list of items in the place of messages.

Source: the Responses API (2026); the request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.canonical import Message, Part, Request, ToolCall
from streamweir.requests.canonical_reader import (
    made_request,
    read_added_answers,
    read_parameters,
    read_tool_choice,
)
from streamweir.requests.fields import Fields
from streamweir.requests.kept_message import kept_list
from streamweir.requests.media import data_url, file_part
from streamweir.requests.messages import (
    arguments_of,
    content_of,
    made_message,
    read_part,
    text_of_message,
)
from streamweir.requests.openai_chat import arguments_text
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]

_ROLES: Final[Mapping[str, str]] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_DEFAULT_MODEL: Final = "default"


# Reading


def _read(fields: Fields) -> Request:
    messages = [*_instructions(fields), *_input(fields)]
    parameters = read_parameters(fields)
    most = fields.number("max_output_tokens")
    if most is not None:
        parameters["max_tokens"] = most
    return made_request(
        messages=messages,
        thread_id=_conversation(fields),
        user=fields.text("user"),
        model=fields.text("model"),
        tools=[*_functions(fields)],
        tool_choice=_tool_choice_of(fields),
        parameters=parameters,
        response_format=_response_format(fields),
        metadata=fields.mapping("metadata"),
        resume=read_added_answers(fields),
        stream=fields.boolean("stream"),
    )


def _instructions(fields: Fields) -> list[Message]:
    text = fields.text("instructions")
    return [made_message("system", text)] if text else []


def _input(fields: Fields) -> Iterator[Message]:
    """The items of the input; a text is a message of the user's. Calls side by side are one message."""
    if isinstance(text := fields.get("input"), str):
        yield made_message("user", text)
        return
    calls: list[ToolCall] = []
    for item in fields.objects("input"):
        if item.value.get("type") == "function_call":
            calls.append(_call(item))
            continue
        if calls:
            yield made_message("assistant", tool_calls=calls)
            calls = []
        yield from _item(item)
    if calls:
        yield made_message("assistant", tool_calls=calls)


def _item(item: Fields) -> Iterator[Message]:
    """A message, or the result of a call; reasoning and calls of the server's own are left out."""
    kind = item.get("type")
    if kind == "function_call_output":
        yield made_message("tool", _output(item), tool_call_id=item.text("call_id"))
    elif kind in (None, "message"):
        role = _ROLES.get(item.word("role", [*_ROLES]) or "user", "user")
        yield made_message(role, _content(item, "content"), id=item.text("id"))


def _call(item: Fields) -> ToolCall:
    return {
        "id": item.text("call_id") or "",
        "name": item.required_text("name"),
        "arguments": arguments_of(item.get("arguments")),
    }


def _output(item: Fields) -> str:
    content = _content(item, "output")
    return content if isinstance(content, str) else text_of_message(made_message("tool", content))


def _content(item: Fields, name: str) -> str | list[Part] | None:
    value = item.get(name)
    if value is None or isinstance(value, str):
        return value
    return content_of(map(_part, item.objects(name)))


def _part(part: Fields) -> Part | None:
    match part.get("type"):
        case "input_image":
            return file_part("image", url=part.text("image_url"), file_id=part.text("file_id"))
        case "input_file":
            return file_part(
                None,
                url=part.text("file_url"),
                data=part.text("file_data"),
                file_id=part.text("file_id"),
                name=part.text("filename"),
            )
    return read_part(part)


def _conversation(fields: Fields) -> str | None:
    value = fields.get("conversation")
    if value is None or isinstance(value, str):
        return value
    return fields.within("conversation").text("id")


def _functions(fields: Fields) -> Iterator[dict[str, Any]]:
    """The tools that the client runs; those of the server's own are left out."""
    for tool in fields.objects("tools"):
        if tool.get("type") == "function":
            yield without_absent(
                name=tool.required_text("name"),
                description=tool.text("description"),
                parameters=tool.mapping("parameters"),
            )


def _tool_choice_of(fields: Fields) -> str | dict[str, str] | None:
    value = fields.get("tool_choice")
    if isinstance(value, dict) and value.get("type") != "function":
        return None  # which of the server's own tools
    return read_tool_choice(fields)


def _response_format(fields: Fields) -> dict[str, Any] | None:
    """Return the form of chat completions, which has the schema one level deeper."""
    found = fields.within("text").mapping("format")
    if not found or found.get("type") == "text":
        return None
    if found.get("type") != "json_schema":
        return found
    schema = {name: value for name, value in found.items() if name != "type"}
    return {"type": "json_schema", "json_schema": schema}


# Writing


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    parameters = outgoing.parameters("temperature", "top_p", "max_tokens")
    choice = request.get("tool_choice")
    body = without_absent(
        model=request.get("model") or _DEFAULT_MODEL,
        instructions=outgoing.system,
        input=[
            item
            for message in answered_calls(outgoing)
            if message["role"] != "system"
            for item in _items(message, outgoing)
        ],
        stream=True,
        tools=[{"type": "function", **tool} for tool in request.get("tools", [])],
        tool_choice={"type": "function", **choice} if isinstance(choice, dict) else choice,
        temperature=parameters.get("temperature"),
        top_p=parameters.get("top_p"),
        max_output_tokens=parameters.get("max_tokens"),
        user=outgoing.user,
        metadata=request.get("metadata"),
        text=_text_format(request.get("response_format")),
    )
    if not body.get("instructions"):
        body.pop("instructions", None)
    return Written({**outgoing.extra, **body})


def _items(message: Message, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        yield {
            "type": "function_call_output",
            "call_id": message.get("tool_call_id", ""),
            "output": text_of_message(message),
        }
        return
    if "turn" in message:
        yield from kept_list(message["turn"])
        return
    if content := [*_parts(message, outgoing)]:
        yield {"type": "message", "role": message["role"], "content": content}
    for call in message.get("tool_calls", []):
        yield {
            "type": "function_call",
            "call_id": call["id"],
            "name": call["name"],
            "arguments": arguments_text(call["arguments"]),
        }


def _parts(message: Message, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    content = message.get("content") or ""
    kind = "output_text" if message["role"] == "assistant" else "input_text"
    if isinstance(content, str):
        if content:
            yield {"type": kind, "text": content}
        return
    for part in content:
        if part["type"] == "text":
            yield {"type": kind, "text": part["text"]}
        elif part["type"] in ("reasoning", "tool_call"):
            continue
        elif found := _file(part):
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


def _text_format(given: Mapping[str, Any] | None) -> dict[str, Any] | None:
    match given:
        case {"type": "json_schema", "json_schema": dict(schema)}:
            return {"format": {"type": "json_schema", **schema}}
        case {"type": str()}:
            return {"format": given}
    return None


READER: Final = RequestReader(
    _read,
    has_own_threads=True,
    sends_new_turns=True,
    answers_by_message=True,
    field_names={"message": "input", "messages": "input", "thread_id": "conversation"},
)
WRITER: Final = RequestWriter(
    _write,
    history="all",
    takes=frozenset({"system", "history", "files", "tools", "response_format"}),
    native_opaque="openai-responses",
)
