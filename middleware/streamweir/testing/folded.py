"""Checks folded results. Source: the standard protocol 1.1, section 4 (`Accept: application/json`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from streamweir.testing.shapes import DATA, breaches_of, data_breaches
from streamweir.testing.wire import read_json

__all__ = ["folded_breaches"]

_KEYS: Final = ("request_id", "status", "reason", "message", "warnings", "error", "summary")
_MESSAGE: Final = ("content", "thinking", "tool_calls", "data", "references", "interactions")
_LISTS: Final = {"data": "data", "references": "reference", "interactions": "interaction"}
_CALL: Final = {"tool_id", "tool_name", "arguments", "status", "result", "error", "duration_ms", "opaque"}


def folded_breaches(body: bytes) -> tuple[str | None, list[str]]:
    """Return the request id of a folded result, and each breach of the protocol in words."""
    result, breaches = read_json(body.decode("utf-8", "replace"))
    if not isinstance(result, dict):
        return None, [*breaches, "the folded result must be an object"]
    breaches += _breaches(result)
    request_id = result.get("request_id")
    return request_id if isinstance(request_id, str) else None, breaches


def _breaches(result: dict[str, Any]) -> Iterator[str]:
    yield from (f"{name} is missing" for name in _KEYS if name not in result)
    yield from (f"{name[:40]} is not in the folded result" for name in result if name not in _KEYS)
    yield from _end_breaches(result)
    message = result.get("message")
    if isinstance(message, dict):
        yield from _message_breaches(message)
    else:
        yield "message must be an object"
    yield from _list_breaches("warnings", result.get("warnings"), "warning")


def _end_breaches(result: dict[str, Any]) -> Iterator[str]:
    end = {name: result.get(name) for name in ("status", "reason", "summary")}
    if not isinstance(result.get("request_id"), str):
        yield "request_id must be a string"
    yield from breaches_of(end, DATA["session_end"], "the result")
    error = result.get("error")
    if (error is not None) != (end["status"] == "error"):
        yield "error must be an object if the status is error, else null"
    if error is not None:
        yield from breaches_of(error, DATA["error"], "error")


def _message_breaches(message: dict[str, Any]) -> Iterator[str]:
    yield from (f"message.{name} is missing" for name in _MESSAGE if name not in message)
    for name in message:
        if name not in (*_MESSAGE, "channels", "turn"):
            yield f"message.{name[:40]} is not in the folded result"
    for name in ("content", "thinking"):
        if not isinstance(message.get(name), str):
            yield f"message.{name} must be a string"
    turn = message.get("turn", {"role": "assistant"})
    if not isinstance(turn, dict) or turn.get("role") != "assistant":
        yield "message.turn must be a message of the assistant"
    channels = message.get("channels", {})
    if not isinstance(channels, dict) or not all(isinstance(text, str) for text in channels.values()):
        yield "message.channels must be an object of strings"
    for name, kind in _LISTS.items():
        yield from _list_breaches(f"message.{name}", message.get(name), kind)
    yield from _call_breaches(message.get("tool_calls"))


def _list_breaches(place: str, items: Any, kind: str) -> Iterator[str]:
    if not isinstance(items, list):
        yield f"{place} must be a list"
        return
    for index, item in enumerate(items):
        yield from breaches_of(item, DATA[kind], f"{place}[{index}]")
        if kind == "data" and isinstance(item, dict):
            yield from data_breaches(item.get("data_type"), item.get("data"))


def _call_breaches(calls: Any) -> Iterator[str]:
    if not isinstance(calls, list):
        yield "message.tool_calls must be a list"
        return
    for index, call in enumerate(calls):
        place = f"message.tool_calls[{index}]"
        if not isinstance(call, dict):
            yield f"{place} must be an object"
            continue
        yield from (f"{place}.{name[:40]} is not in the folded result" for name in call if name not in _CALL)
        for name in ("tool_id", "tool_name", "arguments", "status"):
            if name not in call:
                yield f"{place}.{name} is missing"
        if call.get("status") not in ("running", "success", "failed"):
            yield f"{place}.status must be running, success or failed"
