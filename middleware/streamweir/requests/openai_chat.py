"""OpenAI's chat completions body, read and written; many servers accept it under their own names.

Source: OpenAI's chat completions (2025); the request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from streamweir.requests.answered_calls import answered_calls
from streamweir.requests.call_arguments import arguments_text_of
from streamweir.requests.canonical import FILE_TYPES, PARAMETERS, Message, Part, Request, Tool, ToolCall
from streamweir.requests.canonical_reader import (
    made_request,
    read_added_answers,
    read_parameters,
    read_tool_choice,
    read_tools,
)
from streamweir.requests.chat_reasoning import (
    merged_turns,
    read_chat_message,
    written_extra_content,
    written_reasoning,
)
from streamweir.requests.content import content_of
from streamweir.requests.fields import Fields
from streamweir.requests.kept_message import kept_fields
from streamweir.requests.media import data_url, media_type_of
from streamweir.requests.messages import files_of, read_messages
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.written import without_absent

__all__ = ["asks_for_usage", "chat_body", "chat_messages", "chat_tools", "read_chat"]

_FORMATS: Final = {"audio/mpeg": "mp3", "audio/mp3": "mp3", "audio/x-wav": "wav", "audio/wave": "wav"}
_DEFAULT_MODEL: Final = "default"


def read_chat(fields: Fields) -> Request:
    """Return the canonical request of a chat completions body."""
    parameters = read_parameters(fields)
    most = fields.number("max_completion_tokens")
    if most is not None:
        parameters["max_tokens"] = most
    return made_request(
        messages=read_messages(fields, read_chat_message),
        user=fields.text("user"),
        model=fields.text("model"),
        tools=read_tools(fields),
        tool_choice=read_tool_choice(fields),
        parameters=parameters,
        response_format=fields.mapping("response_format"),
        metadata=fields.mapping("metadata"),
        resume=read_added_answers(fields),
        stream=fields.boolean("stream"),
    )


def asks_for_usage(body: Any) -> bool:
    """Return whether the body of a request asks for the usage of its stream (`stream_options`)."""
    match body:
        case {"stream_options": {"include_usage": True}}:
            return True
    return False


def chat_body(outgoing: Outgoing) -> dict[str, Any]:
    """Return the chat completions body of a request, with the answers of the client's tools."""
    request = outgoing.request
    body = without_absent(
        model=request.get("model") or _DEFAULT_MODEL,
        messages=chat_messages(answered_calls(outgoing), outgoing),
        stream=True,
        stream_options={"include_usage": True},
        tools=chat_tools(request.get("tools", [])),
        tool_choice=_tool_choice(request.get("tool_choice")),
        **outgoing.parameters(*PARAMETERS),
        user=outgoing.user,
        metadata=request.get("metadata"),
        response_format=request.get("response_format"),
    )
    return {**outgoing.extra, **body}


def chat_messages(messages: Sequence[Message], outgoing: Outgoing) -> list[dict[str, Any]]:
    """Return messages in the form of chat completions; files that have no form there are lost.

    A result of a tool may only hold texts: its files follow the results in a message of the user.
    """
    written: list[dict[str, Any]] = []
    files: list[Part] = []
    for message in merged_turns(messages):
        is_result = message["role"] == "tool"
        if files and not is_result:
            written += _with_files(files, outgoing)
            files = []
        if is_result:
            files += files_of(message)
        written.append(_message(message, outgoing))
    return [*written, *_with_files(files, outgoing)] if files else written


def chat_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """Return tools in the form of OpenAI's functions."""
    return [{"type": "function", "function": dict(tool)} for tool in tools]


def _with_files(files: Sequence[Part], outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the message of the user with these files; none if the files have no form there."""
    if parts := _parts(files, outgoing):
        yield {"role": "user", "content": parts}


def _message(message: Message, outgoing: Outgoing) -> dict[str, Any]:
    """Return a message of any role; a message of the assistant is written in the form of its upstream."""
    if (kept := kept_fields(message)) is not None:
        return kept
    calls = [_call(call, outgoing) for call in message.get("tool_calls", [])]
    found = without_absent(
        role=message["role"],
        name=message.get("name"),
        tool_calls=calls,
        tool_call_id=message.get("tool_call_id"),
    )
    content = _content(message, outgoing)
    shown = {**found, "content": content or (None if calls else "")}
    return {**shown, **written_reasoning(message, outgoing)}


def _call(call: ToolCall, outgoing: Outgoing) -> dict[str, Any]:
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": arguments_text_of(call)},
        **written_extra_content(call, outgoing),
    }


def _content(message: Message, outgoing: Outgoing) -> str | list[dict[str, Any]] | None:
    content = message.get("content")
    if isinstance(content, list):
        content = content_of(_shown_parts(message, content, outgoing))
    return _parts(content, outgoing) if isinstance(content, list) else content


def _parts(content: Iterable[Part], outgoing: Outgoing) -> list[dict[str, Any]]:
    parts = [_part(part) for part in content]
    if None in parts:
        outgoing.lose("files")
    return [part for part in parts if part is not None]


def _shown_parts(message: Message, parts: Iterable[Part], outgoing: Outgoing) -> Iterator[Part]:
    """Yield the texts, and the files if the message may hold them.

    An empty text, which only carries an opaque value, is left out. Only the user's messages may hold files;
    those of a result are written behind it, and all others are lost.
    """
    role = message["role"]
    for part in parts:
        if part["type"] in FILE_TYPES:
            if role == "user":
                yield part
            elif role != "tool":
                outgoing.lose("files")
        elif part["type"] == "text" and part["text"]:
            yield {"type": "text", "text": part["text"]}


def _part(part: Part) -> dict[str, Any] | None:
    match part:
        case {"type": "text", "text": text}:
            return {"type": "text", "text": text}
        case {"type": "image", "url": url}:
            return {"type": "image_url", "image_url": {"url": url}}
        case {"type": "image", "base64": _}:
            return {"type": "image_url", "image_url": {"url": data_url(part)}}
        case {"type": "audio", "base64": data}:
            media_type = media_type_of(part)
            kind = _FORMATS.get(media_type, media_type.partition("/")[2])
            return {"type": "input_audio", "input_audio": {"data": data, "format": kind}}
        case {"base64": _}:
            return {
                "type": "file",
                "file": without_absent(filename=part.get("name"), file_data=data_url(part)),
            }
        case {"file_id": file_id}:
            return {"type": "file", "file": without_absent(filename=part.get("name"), file_id=file_id)}
    return None


def _tool_choice(choice: Any) -> Any:
    return {"type": "function", "function": choice} if isinstance(choice, dict) else choice
