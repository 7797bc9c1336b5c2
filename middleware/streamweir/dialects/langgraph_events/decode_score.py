"""Scores one message: how likely the body is a stream of LangChain's or LangGraph's own events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.families.langchain_blocks import is_block_event
from streamweir.codec.families.langchain_events import is_chain_event
from streamweir.codec.families.langchain_forms import is_message
from streamweir.codec.families.langchain_outputs import has_messages, is_update
from streamweir.codec.families.langgraph_modes import INTERRUPT, MODES
from streamweir.codec.families.langgraph_protocol import is_protocol_event
from streamweir.optional_json import json_or

__all__ = ["mode_of_shape", "score_of", "unpacked"]

_FOREIGN: Final = frozenset(
    {"metadata", "data", "messages/partial", "messages/complete", "messages/metadata"}
)
"""The names of events of LangServe and of the LangGraph server."""


_OWN_FIELDS: Final = frozenset({"event", "messages", INTERRUPT})
_STRUCTURES: Final = frozenset({dict, list})
"""The types of structured values. An object without these and without `_OWN_FIELDS` shows only its type."""


def unpacked(value: Any) -> Any:
    """Return the value of a message; some servers write its JSON into a JSON string."""
    return json_or(value, value) if isinstance(value, str) and value[:1] in ("{", "[") else value


def score_of(value: Any, event: str | None) -> float | None:
    """Return the score of a message, from 0 to 1; None if it comes from a server with its own protocol.

    Args:
        value: the JSON value of the message.
        event: the SSE event name of the message.
    """
    name = (event or "").partition("|")[0]
    if is_protocol_event(value):
        return 0.95
    if name in _FOREIGN:
        return None
    if is_chain_event(name):
        return 0.9
    if name in MODES:
        return _score_of_mode(name, value)
    value = unpacked(value)
    match value:
        case {"event": chain_event} if is_chain_event(chain_event):
            return 0.95 if "run_id" in value or "data" in value else 0.6
        case {"data": {"event": chain_event, "run_id": str()}} if is_chain_event(chain_event):
            return 0.8
        case dict():
            return _score_of_object(value)
        case [str(mode), _] | [list(), str(mode), _] if mode in MODES:
            return 0.9
        case [str(chain_event), dict()] if is_chain_event(chain_event):
            return 0.9
        case [message, dict()] if is_message(message):
            return 0.9
        case [[*names], part] if all(isinstance(found, str) for found in names):
            return 0.8 if isinstance(part, dict | list) and score_of(part, None) else 0.0
    return 0.0


def mode_of_shape(fields: Mapping[str, Any]) -> str | None:
    """Return the mode whose objects have these fields and no name; None if there is no such mode."""
    match fields:
        case {"step": int(), "type": "task" | "task_result" | "checkpoint", "payload": dict()}:
            return "debug"
        case {"id": str(), "name": str(), "triggers": list(), "input": _}:
            return "tasks"
        case {"id": str(), "name": str(), "result": _, "interrupts": list()}:
            return "tasks"
        case {"config": dict(), "values": _, "metadata": _, "next": list(), "tasks": list()}:
            return "checkpoints"
        case {"event": "tool-started" | "tool-finished" | "tool-error", "tool_call_id": str()}:
            return "tools"
    return None


def _score_of_mode(mode: str, value: Any) -> float:
    match mode, value:
        case "messages", [message, dict()] if is_message(message):
            return 0.9
        case "updates" | "values", dict():
            return 0.7
        case "tasks" | "debug" | "tools" | "checkpoints", dict():
            return 0.6
    return 0.55


def _score_of_object(fields: Mapping[str, Any]) -> float:
    if _is_foreign(fields):
        return 0.0
    match fields:
        case {"type": "event"} if is_protocol_event(fields):
            return 0.95
        case {"event": "message-start" | "content-block-start" | "content-block-delta"}:
            return 0.7 if is_block_event(fields) else 0.0
        case {"type": str(mode), "ns": list(), "data": _} if mode in MODES:
            return 0.95
        case {"lc": int(), "kwargs": dict()}:
            return 0.8
        case {"type": "AIMessageChunk", "content": _}:
            return 0.8
        case {"messages": [*_, {"lc": int()}]}:
            return 0.65
    named = next(
        (found for key in ("event", "type", "mode", "stream_mode") if (found := fields.get(key))), None
    )
    if isinstance(named, str) and named in MODES and _has_shape(named, fields):
        return 0.7
    if INTERRUPT in fields or is_update(fields) or mode_of_shape(fields) is not None:
        return 0.8
    return 0.5 if has_messages(fields) and fields.get("messages") else 0.0


def _is_foreign(fields: Mapping[str, Any]) -> bool:
    """Return whether a message has no field of these systems. This is called for every body of JSON."""
    return (
        fields.keys().isdisjoint(_OWN_FIELDS)
        and _STRUCTURES.isdisjoint(map(type, fields.values()))
        and fields.get("type") != "AIMessageChunk"
    )


def _has_shape(mode: str, fields: Mapping[str, Any]) -> bool:
    """Return whether a message has the fields of the mode."""
    part = next(
        (fields[key] for key in ("data", "chunk", "payload", "value", "content") if key in fields), None
    )
    match mode, part:
        case "messages", [message, *_]:
            return is_message(message)
        case "updates" | "values" | "tasks" | "debug", dict():
            return is_update(part) or has_messages(part) or "payload" in part or "triggers" in part
    return False
