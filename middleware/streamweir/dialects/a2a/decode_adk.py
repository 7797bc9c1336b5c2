"""Reads failures and tool calls, which Google's ADK marks in metadata because A2A has no field for them.

Source: google-adk 2.13 (`a2a/converters`: `event_converter.py`, `part_converter.py`,
`long_running_functions.py`); its own recorded streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, arguments, leftover, text_in, text_of, tool_error
from streamweir.events import Event, Interaction, Meta, ToolCallEnd, ToolCallStart

__all__ = ["asked_events", "call_event", "error_code", "is_asked", "is_output", "is_pending", "pending_calls"]

_CALL: Final = "function_call"
_RESULT: Final = "function_response"
_NO_CALLS: Final[frozenset[str]] = frozenset()
_CONFIRMATION: Final = "adk_request_confirmation"
_ASKING: Final = ("adk_request_input", "adk_request_credential")


def call_event(metadata: Any, data: Any, meta: Meta | None) -> Event | None:
    """Return the start or the end of the call in a data part; None for other data.

    Args:
        metadata: the metadata of the part.
        data: the data of the part.
        meta: the metadata of the event.
    """
    kind = _mark(metadata, "type")
    if not isinstance(data, dict) or kind not in (_CALL, _RESULT):
        return None
    tool_id, name = text_of(data.get("id")), text_of(data.get("name"))
    if kind == _CALL:
        meta = and_extra(meta, leftover(data, ("id", "name", "args")))
        given = arguments(data.get("args"))
        return ToolCallStart(tool_id, name or "unknown", arguments=given, meta=meta)
    result = data.get("response")
    meta = and_extra(meta, leftover(data, ("id", "name", "response")))
    match result:
        case {"error": str(error), **others} if not others:
            return ToolCallEnd(tool_id, "failed", error=tool_error(error), tool_name=name or None, meta=meta)
    return ToolCallEnd(tool_id, result=result, tool_name=name or None, meta=meta)


def is_asked(metadata: Any, data: Any) -> bool:
    """Return whether a data part is a call that the client or a person has to answer."""
    return (
        isinstance(data, dict)
        and _mark(metadata, "type") == _CALL
        and _mark(metadata, "is_long_running") is True
    )


def asked_events(data: Mapping[str, Any], resume: Mapping[str, Any], meta: Meta | None) -> Iterator[Event]:
    """Yield the question of a call that `is_asked`: to confirm a call, fill in a form, or give a result.

    Args:
        data: the data of the part.
        resume: the values that an answer needs in addition to the call.
        meta: the metadata of the event.
    """
    tool_id, name = text_of(data.get("id")), text_of(data.get("name")) or "unknown"
    given = arguments(data.get("args"))
    fields: dict[str, Any] = {
        "resume": {**resume, "function_call": {"id": tool_id, "name": name}},
        "meta": meta,
    }
    if name == _CONFIRMATION:
        call, asked = given.get("originalFunctionCall"), given.get("toolConfirmation")
        title = text_of(call.get("name")) if isinstance(call, dict) else ""
        hint = text_of(asked.get("hint")) if isinstance(asked, dict) else ""
        yield Interaction(
            tool_id, "approval", title=title or None, description=hint or None, ui=given, **fields
        )
    elif name in _ASKING:
        schema = given.get("responseSchema", given.get("response_schema"))
        text = text_in(given, "message", "prompt", "hint") or None
        yield Interaction(
            *(tool_id, "form"),
            description=text,
            schema=schema if isinstance(schema, dict) else {},
            ui=given,
            **fields,
        )
    else:
        yield ToolCallStart(tool_id, name, arguments=given, meta=meta)
        yield Interaction(tool_id, "form", title=name, schema={}, **fields)


def is_output(metadata: Any) -> bool:
    """Return whether a state belongs to an event of the agent, whose message is part of the answer."""
    return isinstance(_mark(metadata, "event_id"), str)


def error_code(*metadata: Any) -> str:
    """Return the name of the exception in a report of a failure; an empty text if there is no name."""
    for found in metadata:
        if isinstance(code := _mark(found, "error_code"), str):
            return code
    return ""


def pending_calls(*metadata: Any) -> frozenset[str]:
    """Return the ids of the calls that wait for a person's confirmation. Their results are placeholders."""
    actions = [_mark(found, "actions") for found in metadata if found]
    if not actions:
        return _NO_CALLS
    asked = [found.get("requestedToolConfirmations") for found in actions if isinstance(found, dict)]
    return frozenset(tool_id for found in asked if isinstance(found, dict) for tool_id in found)


def is_pending(metadata: Any, data: Any, pending: frozenset[str]) -> bool:
    """Return whether this data part is the result of a pending call."""
    is_result = isinstance(data, dict) and _mark(metadata, "type") == _RESULT
    return is_result and text_of(data.get("id")) in pending


def _mark(metadata: Any, name: str) -> Any:
    return metadata.get(f"adk_{name}") if isinstance(metadata, dict) else None
