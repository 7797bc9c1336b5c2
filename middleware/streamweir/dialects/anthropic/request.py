"""Reads and writes requests of the Messages API: the system prompt is separate, roles alternate, and user
messages hold the results of tools.

Source: the Messages API (2023-06-01); the request contract, sections 3 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.dialects.anthropic.request_mending import mend
from streamweir.dialects.anthropic.request_sources import written_source
from streamweir.opaque.seal import is_seal
from streamweir.requests.answered_calls import answered_calls, without_continuation
from streamweir.requests.call_arguments import arguments_object, made_call
from streamweir.requests.canonical import FILE_TYPES, Message, Part, Request, ToolCall
from streamweir.requests.canonical_reader import made_request, read_added_answers, read_parameters
from streamweir.requests.content import parts_of
from streamweir.requests.errors import RequestError
from streamweir.requests.fields import Fields
from streamweir.requests.kept_message import kept_items
from streamweir.requests.media import file_part, present_file
from streamweir.requests.messages import files_of, made_message, result_content, text_of_message
from streamweir.requests.opaque_values import holds_seal, native_text, sealed
from streamweir.requests.outgoing import Outgoing
from streamweir.requests.sides import RequestReader, RequestWriter
from streamweir.requests.turn_content import TurnContent, placed_items, reasoning_part
from streamweir.requests.written import Written, without_absent

__all__ = ["READER", "WRITER"]

_ROLES: Final = ("user", "assistant", "system")
_CHOICES: Final[Mapping[str, str]] = {"auto": "auto", "none": "none", "any": "required"}
_DIALECT: Final = "anthropic"
_THINKING: Final = ("thinking", "redacted_thinking")
_MAX_TOKENS: Final = 4096
_DEFAULT_MODEL: Final = "default"
_HEADERS: Final = {"anthropic-version": "2023-06-01"}


# Reading


def _read(fields: Fields) -> Request:
    _check_thread(fields)
    messages = [message for item in fields.objects("messages") for message in _messages(item)]
    parameters = read_parameters(fields)
    if stop := fields.texts("stop_sequences"):
        parameters["stop"] = stop
    return made_request(
        messages=[*_system(fields), *messages],
        user=fields.within("metadata").text("user_id"),
        model=fields.text("model"),
        tools=[*_tools(fields)],
        tool_choice=_tool_choice(fields),
        parameters=parameters,
        resume=read_added_answers(fields),
        stream=fields.boolean("stream"),
    )


def _check_thread(fields: Fields) -> None:
    """Refuse a request whose history only the server has: the earlier messages would be lost.

    The official libraries read `details`, and then send the whole conversation in each request. Source: the
    error `thread_unsupported_request` of the Messages API (beta, 2026).

    Raises:
        RequestError: the body has a `thread`.
    """
    if fields.get("thread") is not None:
        details = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
        problem = "is not supported: send the whole conversation without it"
        raise RequestError(problem, field="thread", error={"details": details})


def _system(fields: Fields) -> list[Message]:
    """Return the system prompt as a message; its blocks are joined by line breaks."""
    value = fields.get("system")
    if value is None or isinstance(value, str):
        text = value or ""
    else:
        text = "\n".join(block.text("text") or "" for block in fields.objects("system"))
    return [made_message("system", text)] if text else []


def _messages(item: Fields) -> Iterator[Message]:
    """Yield the messages for one Anthropic message: one for each tool result, one for other blocks."""
    role = item.word("role", _ROLES)
    if role is None:
        raise item.error("role", "user, assistant or system")
    value = item.get("content")
    if value is None or isinstance(value, str):
        yield made_message(role, value or "")
        return
    turn = TurnContent()
    for block in item.objects("content"):
        match block.get("type"):
            case "tool_result":
                yield _result(block)
            case "tool_use":
                turn.add_call(_call(block))
            case "thinking" | "redacted_thinking" if role == "assistant":
                _add_thinking(turn, block)
            case "compaction" if role == "assistant":
                turn.add_part(_compaction(block))
            case _:
                turn.add_part(_part(block))
    content = turn.content()
    if content is not None or turn.calls:
        yield made_message(role, content, tool_calls=turn.calls)


def _add_thinking(turn: TurnContent, block: Fields) -> None:
    """Add a block of thinking; a block without a text may hold the seal of a text or a call."""
    name = "signature" if block.get("type") == "thinking" else "data"
    text = block.text("thinking") or ""
    value = block.get(name)
    if is_seal(value) and not text:
        turn.add_seal(value)
    elif is_seal(value):
        turn.add_part(reasoning_part(text, sealed(value)))
    else:
        field = "signature" if name == "signature" else "redacted"
        own = {field: value} if isinstance(value, str) and value else None
        turn.add_part(reasoning_part(text, {_DIALECT: own} if own else None))


def _compaction(block: Fields) -> Part | None:
    """Return the part for a compaction, whose fields are all kept as an opaque value."""
    fields = {name: value for name, value in block.value.items() if name not in ("type", "cache_control")}
    return None if holds_seal(fields) else reasoning_part("", {_DIALECT: {"compaction": fields}})


def _result(block: Fields) -> Message:
    return made_message(
        "tool",
        _result_content(block),
        tool_call_id=block.required_text("tool_use_id"),
        is_error=block.boolean("is_error"),
    )


def _result_content(block: Fields) -> str | list[Part]:
    """Return the content of a result: its texts, or all its parts if there are files among them."""
    value = block.get("content")
    if value is None or isinstance(value, str):
        return value or ""
    return result_content(map(_part, block.objects("content")))


def _texts_of(block: Fields) -> str:
    value = block.get("content")
    if value is None or isinstance(value, str):
        return value or ""
    return "\n".join(filter(None, (part.text("text") for part in block.objects("content"))))


def _call(block: Fields) -> ToolCall:
    return made_call(block.required_text("id"), block.required_text("name"), block.get("input"))


def _part(block: Fields) -> Part | None:
    """Return the part for text, a file or a result of a search; blocks of server tools are left out."""
    match block.get("type"):
        case "text":
            return {"type": "text", "text": block.required_text("text")}
        case "search_result":
            return {"type": "text", "text": _found(block)}
        case "image":
            return _source(block, "image")
        case "document":
            return _source(block, None)
    return None


def _found(block: Fields) -> str:
    """Return a result of the client's own search as text: its title, its source, and its content."""
    return "\n".join(filter(None, (block.text("title"), block.text("source"), _texts_of(block))))


def _source(block: Fields, kind: Any) -> Part:
    source = block.within("source")
    match source.get("type"):
        case "text":
            return {"type": "text", "text": source.required_text("data")}
        case "content":
            return {"type": "text", "text": _texts_of(source)}
    part = file_part(
        kind,
        url=source.text("url"),
        data=source.text("data"),
        file_id=source.text("file_id"),
        media_type=source.text("media_type"),
        name=block.text("title"),
    )
    return present_file(source, part, "a source with `data`, `url` or `file_id`")


def _tools(fields: Fields) -> Iterator[dict[str, Any]]:
    """Yield the tools that the client runs, without server tools."""
    for tool in fields.objects("tools"):
        if tool.get("type") in (None, "custom"):
            yield without_absent(
                name=tool.required_text("name"),
                description=tool.text("description"),
                parameters=tool.mapping("input_schema"),
            )


def _tool_choice(fields: Fields) -> str | dict[str, str] | None:
    if "tool_choice" not in fields:
        return None
    choice = fields.within("tool_choice")
    kind = choice.word("type", (*_CHOICES, "tool"))
    return {"name": choice.required_text("name")} if kind == "tool" else _CHOICES[kind or "auto"]


# Writing


def _write(outgoing: Outgoing) -> Written:
    request = outgoing.request
    parameters = outgoing.parameters("max_tokens", "temperature", "top_p", "stop")
    body = without_absent(
        model=request.get("model") or _DEFAULT_MODEL,
        max_tokens=parameters.get("max_tokens") or _MAX_TOKENS,
        system=outgoing.system or None,
        messages=_turns(outgoing),
        stream=True,
        tools=[_tool(tool) for tool in request.get("tools", [])],
        tool_choice=_written_choice(request.get("tool_choice")) if request.get("tools") else None,
        temperature=parameters.get("temperature"),
        top_p=parameters.get("top_p"),
        stop_sequences=parameters.get("stop"),
        metadata=without_absent(user_id=outgoing.user),
    )
    return Written({**outgoing.extra, **body}, headers=_HEADERS)


def _turns(outgoing: Outgoing) -> list[dict[str, Any]]:
    """Return the messages without the system prompt. Consecutive messages of one role are joined."""
    turns: list[dict[str, Any]] = []
    continued = without_continuation(outgoing)
    for message in answered_calls(outgoing) if continued is None else continued:
        if message["role"] == "system":
            continue
        is_assistant = message["role"] == "assistant"
        role = "assistant" if is_assistant else "user"
        blocks = [*(_turn_blocks if is_assistant else _blocks)(message, outgoing)]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    ended = [{**turn, "content": _without_last_thinking(turn["content"])} for turn in turns]
    return [{**turn, "content": _plain(turn["content"])} for turn in ended if turn["content"]]


def _without_last_thinking(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks without thinking at their end: the API refuses a message that ends with it."""
    end = len(blocks)
    while end and blocks[end - 1]["type"] in _THINKING:
        end -= 1
    return blocks[:end]


def _plain(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Return a single text as a string, and other content as a list of blocks."""
    match blocks:
        case [{"type": "text", "text": str(text), **others}] if not others:
            return text
    return blocks


def _blocks(message: Message, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        yield without_absent(
            type="tool_result",
            tool_use_id=message.get("tool_call_id", ""),
            content=_written_result(message, outgoing) or None,
            is_error=message.get("is_error"),
        )
        return
    for part, _ in placed_items(message):
        yield from _block(part, outgoing)


def _written_result(message: Message, outgoing: Outgoing) -> str | list[dict[str, Any]]:
    """Return the content of a result: its text, or blocks if it has files. A failed one holds only text."""
    if not files_of(message):
        return text_of_message(message)
    if message.get("is_error"):
        outgoing.lose("files")
        return text_of_message(message)
    return [block for part in parts_of(message.get("content")) for block in _block(part, outgoing)]


def _turn_blocks(message: Message, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the blocks of one message of the assistant: thinking, texts and calls in their order."""
    if (kept := kept_items(message, "content")) is not None:
        yield from kept
        return
    for part, call in placed_items(message):
        if call is not None:
            yield {
                "type": "tool_use",
                "id": call["id"],
                "name": call["name"],
                "input": arguments_object(call),
            }
        elif part["type"] == "reasoning":
            yield from _thinking(part, outgoing)
        elif part["type"] in FILE_TYPES:
            outgoing.lose("files")  # only the user's messages may hold them
        else:
            yield from _block(part, outgoing)


def _thinking(part: Part, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    """Yield the block of thinking with a signature, of redacted thinking, or of a compaction."""
    own = outgoing.opaque_of(part) or {}
    if signature := native_text(own, "signature"):
        yield {"type": "thinking", "thinking": part.get("text", ""), "signature": signature}
    elif data := native_text(own, "redacted"):
        yield {"type": "redacted_thinking", "data": data}
    elif isinstance(compaction := own.get("compaction"), dict):
        yield {**compaction, "type": "compaction"}


def _block(part: Part, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    if part["type"] in FILE_TYPES:
        yield from _file(part, outgoing)
    elif part["type"] == "text" and part["text"]:
        yield {"type": "text", "text": part["text"]}


def _file(part: Part, outgoing: Outgoing) -> Iterator[dict[str, Any]]:
    source = None if part["type"] in ("audio", "video") else written_source(part)
    if source is None:
        outgoing.lose("files")
        return
    kind = "image" if part["type"] == "image" else "document"
    yield without_absent(type=kind, source=source, title=part.get("name") if kind == "document" else None)


def _tool(tool: Any) -> dict[str, Any]:
    schema = tool.get("parameters") or {"type": "object", "properties": {}}
    found = without_absent(name=tool["name"], description=tool.get("description"))
    return {**found, "input_schema": schema}


def _written_choice(choice: str | dict[str, str] | None) -> dict[str, str] | None:
    if isinstance(choice, dict):
        return {"type": "tool", **choice}
    return {"auto": {"type": "auto"}, "none": {"type": "none"}, "required": {"type": "any"}}.get(choice or "")


READER: Final = RequestReader(
    _read, answers_by_message=True, field_names={"message": "messages", "user": "metadata.user_id"}
)
WRITER: Final = RequestWriter(
    _write,
    history="all",
    takes=frozenset({"system", "history", "files", "tools"}),
    mend=mend,
    native_opaque=_DIALECT,
    continues=True,
)
