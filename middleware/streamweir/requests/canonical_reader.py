"""Reads the canonical fields of a request: the flat body of the standard protocol's clients.

Source: the request contract, sections 2 and 3 (`standard`, `legacy`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, cast

from streamweir.requests.canonical import PARAMETERS, Answer, Message, Part, Request, Tool
from streamweir.requests.content import parts_of
from streamweir.requests.fields import FieldReaders, Fields
from streamweir.requests.media import file_part, present_file
from streamweir.requests.messages import last_user_index, made_message, read_messages, text_of_message
from streamweir.requests.old_names import INPUTS, MESSAGES, THREADS

__all__ = [
    "add_files",
    "add_message",
    "made_request",
    "read_added_answers",
    "read_answers",
    "read_canonical_answers",
    "read_fields",
    "read_files",
    "read_parameters",
    "read_tool_choice",
    "read_tools",
]

_ACTIONS: Final = ("submit", "cancel", "approve", "reject")
_CHOICES: Final = ("auto", "none", "required")
_FILES: Final = ("files", "attachments")
_INPUTS: Final = ("inputs",)
_ALL_INPUTS: Final = (*_INPUTS, *INPUTS)


def read_fields(fields: Fields, *, takes_old_names: bool = False) -> Request:
    """Return the request that is made from canonical fields.

    Args:
        fields: the body.
        takes_old_names: the old names of `message`, `thread_id` and `inputs` are read too.
    """
    given = fields.value
    messages = read_messages(fields)
    text = fields.text("message") if "message" in given else None
    thread_id = fields.text("thread_id") if "thread_id" in given else None
    if takes_old_names and not _OLD_NAMES.isdisjoint(given):
        text = text or _first_text(fields, MESSAGES)
        thread_id = thread_id or next(filter(None, map(fields.text, THREADS)), None)
    if text:
        add_message(messages, text)
    request: dict[str, Any] = {"messages": messages}
    if thread_id:
        request["thread_id"] = thread_id
    others = _OTHERS.intersection(given)
    if not others:
        return cast("Request", request)
    if not _FILES_AND_INPUTS.isdisjoint(others):
        for name in filter(given.__contains__, _FILES):
            add_files(messages, [*read_files(fields, name)])
        if inputs := _merged(fields, _ALL_INPUTS if takes_old_names else _INPUTS):
            request["inputs"] = inputs
    for name, read in _READERS.of(others):
        if _is_given(value := read(fields, name)):
            request[name] = value
    return cast("Request", request)


def made_request(**fields: Any) -> Request:
    """Return a request with these fields; fields that are None or empty are left out."""
    return cast("Request", {name: value for name, value in fields.items() if _is_given(value)})


def _is_given(value: Any) -> bool:
    """Return whether a request holds a field with this value, which is not None and not empty then."""
    return bool(value) or value == 0


def add_message(messages: list[Message], text: str | None) -> None:
    """Add the user's text, unless it already is the user's last message."""
    if not text or (messages and _asked_last(messages) == text):
        return
    messages.append({"role": "user", "content": text})


def add_files(messages: list[Message], parts: Sequence[Part]) -> None:
    """Add files to the user's last message, or in a separate message."""
    if not parts:
        return
    at = last_user_index(messages)
    if at is None:
        messages.append(made_message("user", [*parts]))
        return
    before = parts_of(messages[at].get("content"))
    messages[at] = cast("Message", {**messages[at], "content": [*before, *parts]})


def read_files(fields: Fields, name: str) -> Iterator[Part]:
    """Yield the files in a list of URLs, or of objects with `url`, `base64` or `file_id`."""
    for index, item in enumerate(fields.sequence(name)):
        place = f"{name}[{index}]"
        if isinstance(item, str) and item:
            yield file_part(None, url=item)
            continue
        if not isinstance(item, dict):
            raise fields.error(place, "a URL or an object")
        file = Fields(item, fields.path(place))
        part = file_part(
            None,
            url=file.text("url"),
            data=file.text("base64"),
            file_id=file.text("file_id"),
            media_type=file.text("media_type"),
            name=file.text("name"),
        )
        yield present_file(file, part)


def read_tools(fields: Fields, name: str = "tools") -> list[Tool]:
    """Return the tools of a list, whose items are canonical tools or OpenAI's functions.

    Tools of other types are left out: the server runs them, or their calls are no functions.
    """
    found: list[Tool] = []
    for item in fields.objects(name):
        if "function" not in item and item.get("type") not in (None, "function"):
            continue
        tool = item.within("function") if "function" in item else item
        made = {
            "name": tool.required_text("name"),
            "description": tool.text("description"),
            "parameters": tool.mapping("parameters"),
        }
        found.append(cast("Tool", {key: value for key, value in made.items() if value is not None}))
    return found


def read_tool_choice(fields: Fields) -> str | dict[str, str] | None:
    """Return the tool to be called, given in the canonical form or in OpenAI's form."""
    value = fields.get("tool_choice")
    if value is None or (isinstance(value, str) and value in _CHOICES):
        return value
    if not isinstance(value, dict):
        raise fields.error("tool_choice", "auto, none, required or an object with `name`")
    choice = fields.within("tool_choice")
    if "function" not in choice and choice.get("type") not in (None, "function"):
        return None  # one of the tools that are left out
    return {"name": (choice.within("function") if "function" in choice else choice).required_text("name")}


def read_canonical_answers(fields: Fields) -> list[Answer]:
    """Return the answers in the body of any protocol, if all of them have the canonical form.

    A program that reads the standard protocol's interactions may answer in this form in every protocol.
    """
    items = fields.value.get("resume")
    if not isinstance(items, list) or not items or not all(map(_is_canonical_answer, items)):
        return []
    return read_answers(fields)


def _is_canonical_answer(item: Any) -> bool:
    return (
        isinstance(item, dict) and isinstance(item.get("interaction_id"), str) and "interruptId" not in item
    )


def read_added_answers(fields: Fields) -> list[Answer]:
    """Return the answers in the body of a protocol that defines no field for answers.

    A field of that name with another form counts as an unknown field.
    """
    return read_answers(fields) if isinstance(fields.value.get("resume"), list) else []


def read_answers(fields: Fields) -> list[Answer]:
    """Return the answers to interactions."""
    found: list[Answer] = []
    for item in fields.objects("resume"):
        answer = {
            "interaction_id": item.text("interaction_id") or "",
            "action": item.word("action", _ACTIONS) or "submit",
            "value": item.get("value"),
            "resume": item.get("resume"),
        }
        found.append(cast("Answer", {key: value for key, value in answer.items() if value is not None}))
    return found


def read_parameters(fields: Fields) -> dict[str, Any]:
    """Return the sampling parameters of an object: numbers, and `stop` as a list."""
    return {name: value for name, value in fields.present(_PARAMETERS).items() if value not in (None, [])}


def _asked_last(messages: Sequence[Message]) -> str | None:
    """Return the user's last text, if it is followed only by tool calls, their results and system texts."""
    for message in reversed(messages):
        if message["role"] == "user":
            return text_of_message(message)
        if message["role"] not in ("tool", "system") and not message.get("tool_calls"):
            return None
    return None


def _first_text(fields: Fields, names: Sequence[str]) -> str | None:
    for name in names:
        if name in fields.value and isinstance(value := fields.value[name], str) and value:
            return fields.text(name)
    return None


def _merged(fields: Fields, names: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in filter(fields.value.__contains__, reversed(names)):
        found |= fields.mapping(name) or {}
    return found


def _context(fields: Fields, name: str) -> list[dict[str, str]]:
    return [
        {"description": item.text("description") or "", "value": item.text("value") or ""}
        for item in fields.objects(name)
    ]


_READERS: Final = FieldReaders(
    {
        "run_id": Fields.text,
        "user": Fields.text,
        "model": Fields.text,
        "tools": read_tools,
        "tool_choice": lambda fields, _: read_tool_choice(fields),
        "resume": lambda fields, _: read_answers(fields),
        "state": Fields.get,
        "context": _context,
        "parameters": lambda fields, name: read_parameters(fields.within(name)),
        "response_format": Fields.mapping,
        "metadata": Fields.mapping,
        "stream": Fields.boolean,
        "extra": Fields.mapping,
    }
)
"""The readers of fields that have one name and one form in all bodies."""

_OLD_NAMES: Final = frozenset((*MESSAGES, *THREADS))
_FILES_AND_INPUTS: Final = frozenset((*_FILES, *_ALL_INPUTS))
_OTHERS: Final = _READERS.names | _FILES_AND_INPUTS
"""The names of all fields but the message and the thread: most bodies have none of them."""

_PARAMETERS: Final = FieldReaders(
    {name: Fields.texts if name == "stop" else Fields.number for name in PARAMETERS}
)
