"""Messages in canonical form and in the form of OpenAI's chat: functions that read and inspect them.

Source: the request contract, sections 2 and 3; OpenAI's chat completions (parts, calls).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final, cast

from streamweir.requests.call_arguments import made_call
from streamweir.requests.canonical import FILE_TYPES, ROLES, Message, Part, ToolCall
from streamweir.requests.content import content_of
from streamweir.requests.errors import RequestError
from streamweir.requests.fields import MAX_ITEMS, FieldReaders, Fields, one_of
from streamweir.requests.media import file_part, present_file
from streamweir.requests.opaque_values import read_opaque
from streamweir.requests.turn_content import reasoning_part

__all__ = [
    "check_count",
    "files_of",
    "last_user_index",
    "made_message",
    "read_content",
    "read_message",
    "read_messages",
    "read_part",
    "result_content",
    "role_and_text",
    "role_of",
    "text_of_message",
    "tool_results",
    "turn_start",
]

_LEFT_OUT: Final = frozenset({"reasoning", "tool_call", "thinking", "redacted_thinking"})
"""The types of parts skipped without an error; in messages of the assistant some of them are read."""

_KNOWN_PARTS: Final = ("text", *FILE_TYPES, "image_url", "input_audio")
_ROLE_AND_CONTENT: Final = 2
_ALIASES: Final[Mapping[str, str]] = {"developer": "system"}


def read_message(fields: Fields) -> Message:
    """Return one message, which may be canonical or OpenAI's."""
    role = fields.get("role")
    if not isinstance(role, str) or _ALIASES.get(role, role) not in ROLES:
        raise fields.error("role", one_of(ROLES))
    others = fields.present(_FIELDS)
    content = read_content(fields, _read_turn_part if role == "assistant" else read_part)
    known = _with_known_places(content, others.get("tool_calls", ()))
    return made_message(_ALIASES.get(role, role), known, **others)


def read_messages(fields: Fields, read: Callable[[Fields], Message] = read_message) -> list[Message]:
    """Return the messages in the field `messages`; each may be canonical or OpenAI's.

    Args:
        fields: the body.
        read: returns a message; not called for a message that has only a role and a text.
    """
    if "messages" not in fields.value:
        return []
    items = fields.sequence("messages")
    found: list[Message] = []
    for index, item in enumerate(items):
        if type(item) is dict and len(item) == _ROLE_AND_CONTENT:  # nearly all
            role, content = item.get("role"), item.get("content")
            if type(content) is str and role in ROLES:
                found.append({"role": role, "content": content})
                continue
        found.append(read(fields.item("messages", index, item)))
    return found


def read_content(fields: Fields, read: Callable[[Fields], Part | None]) -> str | list[Part] | None:
    """Return the content of a message: a text, or the parts that `read` returns for a list."""
    value = fields.get("content")
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise fields.error("content", "a text or a list of parts")
    return content_of(map(read, fields.objects("content")))


def made_message(role: str, content: str | list[Part] | None = None, **others: Any) -> Message:
    """Return a message with these fields; None and empty values are left out, except a text."""
    message: dict[str, Any] = {"role": role}
    if content is not None:
        message["content"] = content
    if others:
        message.update({key: value for key, value in others.items() if value})
    return cast("Message", message)


def read_part(fields: Fields) -> Part | None:
    """Return one part, canonical or OpenAI's; None if it has to be skipped."""
    kind = fields.get("type")
    match kind:
        case "text" | "input_text" | "output_text":
            return {"type": "text", "text": fields.required_text("text")}
        case "refusal":
            return {"type": "text", "text": fields.required_text("refusal")}
        case "image_url":
            return present_file(fields, file_part("image", url=_image_url(fields)), "an image with a URL")
        case "input_audio":
            return _audio(fields.within("input_audio"))
        case "file" if isinstance(fields.value.get("file"), dict):
            file = fields.within("file")
            return present_file(
                file,
                file_part(
                    None,
                    data=file.text("file_data"),
                    file_id=file.text("file_id"),
                    name=file.text("filename"),
                ),
            )
        case "image" | "audio" | "video" | "file":
            return present_file(
                fields,
                file_part(
                    kind,
                    url=fields.text("url"),
                    data=fields.text("base64"),
                    file_id=fields.text("file_id"),
                    media_type=fields.text("media_type"),
                    name=fields.text("name"),
                ),
            )
    if isinstance(kind, str) and kind in _LEFT_OUT:
        return None
    raise fields.error("type", one_of(_KNOWN_PARTS))


def result_content(parts: Iterable[Part | None]) -> str | list[Part]:
    """Return the content of a tool's result: the texts as one text, or the parts if there are files."""
    message = made_message("tool", content_of(parts))
    return message.get("content", "") if files_of(message) else text_of_message(message)


def check_count(messages: Sequence[Message], names: Mapping[str, str]) -> None:
    """Raise `RequestError`, which names the field, if there are too many messages or parts.

    Args:
        messages: the messages of a request.
        names: the protocol's names of the canonical fields.
    """
    parts = 0
    for message in messages:
        content = message.get("content")
        if type(content) is not str and isinstance(content, list):  # most contents are texts
            parts += len(content)
    if len(messages) > MAX_ITEMS or parts > MAX_ITEMS:
        name = names.get("messages", "messages")
        raise RequestError(f"must be at most {MAX_ITEMS} messages and parts", field=name)


# What writers ask

role_of: Final = itemgetter("role")
"""Returns the role of a message."""


def text_of_message(message: Message) -> str:
    """Return the text of a message; the texts of several parts are separated by line ends."""
    content = message.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def role_and_text(message: Message) -> dict[str, str]:
    """Return the role and the text of a message for servers without tools: results are the user's."""
    text = text_of_message(message)
    if message["role"] == "tool":
        return {"role": "user", "content": f"tool: {text}"}
    return {"role": message["role"], "content": text}


def files_of(message: Message) -> list[Part]:
    """Return the parts of a message that hold files."""
    content = message.get("content")
    return [part for part in content if part["type"] in FILE_TYPES] if isinstance(content, list) else []


def last_user_index(messages: Sequence[Message]) -> int | None:
    """Return the index of the user's last message; None if there is none."""
    if messages and messages[-1]["role"] == "user":  # nearly always
        return len(messages) - 1
    return _last(messages, "user")


def turn_start(messages: Sequence[Message]) -> int:
    """Return the index after the last message of the assistant; 0 if there is no such message."""
    found = _last(messages, "assistant")
    return 0 if found is None else found + 1


def tool_results(messages: Sequence[Message]) -> list[Message]:
    """Return the results of the client's tools that follow the last message of the assistant."""
    found: list[Message] = []
    if "tool" not in map(role_of, messages):  # nearly always
        return found
    for message in reversed(messages):
        role = message["role"]
        if role == "tool":
            found.append(message)
        elif role == "assistant":
            break
    found.reverse()
    return found


def _last(messages: Sequence[Message], role: str) -> int | None:
    """Return the index of the last message of a role; None if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == role:
            return index
    return None


def _calls(fields: Fields, name: str) -> list[ToolCall]:
    return [_call(call) for call in fields.objects(name)]


def _call(fields: Fields) -> ToolCall:
    """Return a call as `{id, name, arguments}`, or in OpenAI's form: of a function, or of a custom tool."""
    call_id = fields.text("id") or ""
    if fields.get("type") == "custom" and "custom" in fields:
        custom = fields.within("custom")
        return made_call(call_id, custom.required_text("name"), {"input": custom.text("input") or ""})
    called = fields.within("function") if "function" in fields else fields
    return made_call(
        call_id,
        called.required_text("name"),
        called.get("arguments"),
        text=called.get("arguments_text"),
        opaque=read_opaque(fields.get("opaque")),
    )


def _with_known_places(
    content: str | list[Part] | None, calls: Sequence[ToolCall]
) -> str | list[Part] | None:
    """Return the content without the places of calls that the message does not contain."""
    if not isinstance(content, list):
        return content
    ids = {call["id"] for call in calls}
    return content_of(part for part in content if part["type"] != "tool_call" or part["id"] in ids)


def _read_turn_part(fields: Fields) -> Part | None:
    """Return a part of an assistant's message: a text, reasoning, or the place of a call."""
    match fields.get("type"):
        case "reasoning":
            return reasoning_part(fields.text("text") or "", read_opaque(fields.get("opaque")))
        case "tool_call":
            return {"type": "tool_call", "id": fields.required_text("id")}
    part, opaque = read_part(fields), read_opaque(fields.get("opaque"))
    return cast("Part", {**part, "opaque": opaque}) if part and opaque and part["type"] == "text" else part


def _image_url(fields: Fields) -> str:
    if isinstance(value := fields.get("image_url"), str):
        return value
    if not isinstance(value, dict):
        raise fields.error("image_url", "an object with `url`")
    return fields.within("image_url").required_text("url")


def _audio(fields: Fields) -> Part:
    kind = fields.text("format") or "wav"
    media_type = "audio/mpeg" if kind == "mp3" else f"audio/{kind}"
    part = file_part("audio", data=fields.required_text("data"), media_type=media_type)
    return present_file(fields, part, "audio with `data`")


_FIELDS: Final = FieldReaders(
    {
        "id": Fields.text,
        "name": Fields.text,
        "tool_calls": _calls,
        "tool_call_id": Fields.text,
        "is_error": Fields.boolean,
    }
)
"""The readers of a message's fields other than role and content, in the order in which they are written."""
