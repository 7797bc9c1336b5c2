"""Reads requests of the Responses API: fields, tools and response formats."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streamweir.dialects.openai_responses.request_input import read_input
from streamweir.requests.canonical import Message, Request
from streamweir.requests.canonical_reader import (
    made_request,
    read_added_answers,
    read_parameters,
    read_tool_choice,
)
from streamweir.requests.fields import Fields
from streamweir.requests.messages import made_message
from streamweir.requests.written import without_absent

__all__ = ["read_responses"]


def read_responses(fields: Fields) -> Request:
    """Return the request in a client's body."""
    read = read_input(fields)
    parameters = read_parameters(fields)
    most = fields.number("max_output_tokens")
    if most is not None:
        parameters["max_tokens"] = most
    return made_request(
        messages=[*_instructions(fields), *read.messages],
        thread_id=_conversation(fields),
        user=fields.text("user"),
        model=fields.text("model"),
        tools=[*_functions(fields)],
        tool_choice=_tool_choice_of(fields),
        parameters=parameters,
        response_format=_response_format(fields),
        metadata=fields.mapping("metadata"),
        resume=[*read.answers, *read_added_answers(fields)],
        stream=fields.boolean("stream"),
    )


def _instructions(fields: Fields) -> list[Message]:
    text = fields.text("instructions")
    return [made_message("system", text)] if text else []


def _conversation(fields: Fields) -> str | None:
    value = fields.get("conversation")
    if value is None or isinstance(value, str):
        return value
    return fields.within("conversation").text("id")


def _functions(fields: Fields) -> Iterator[dict[str, Any]]:
    """Yield the tools that the client runs; tools of the server are left out."""
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
    """Return the response format in the form of chat completions, which has the schema one level deeper."""
    found = fields.within("text").mapping("format")
    if not found or found.get("type") == "text":
        return None
    if found.get("type") != "json_schema":
        return found
    schema = {name: value for name, value in found.items() if name != "type"}
    return {"type": "json_schema", "json_schema": schema}
