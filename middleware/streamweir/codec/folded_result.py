"""Reads the standard's JSON objects that replace a stream: the folded result, and the refusal of a request.

Source: the standard protocol 1.1, section 4 (`Accept: application/json`) and section 5 (a request that never
reaches an upstream).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from streamweir.codec.coerce import leftover, milliseconds, objects_in, upstream_error
from streamweir.events import Event

__all__ = ["events_in", "is_whole_answer", "refusal_in"]

_LISTS: Final = {"data": "data", "references": "reference", "interactions": "interaction"}
_CALL: Final[tuple[str, ...]] = ("tool_id", "tool_name", "description", "arguments")
_CALL_END: Final[tuple[str, ...]] = ("tool_id", "status", "result", "error")
_KNOWN: Final = ("request_id", "status", "reason", "message", "warnings", "error", "summary")


def is_whole_answer(message: Mapping[str, Any]) -> bool:
    """Return whether an object is a folded result."""
    answer = message.get("message")
    return (
        "type" not in message
        and isinstance(message.get("status"), str)
        and isinstance(answer, dict)
        and isinstance(answer.get("content"), str)
        and isinstance(answer.get("tool_calls"), list)
    )


def refusal_in(message: Mapping[str, Any]) -> Event | None:
    """Return the error in the answer to a refused request; None if the object is no refusal."""
    error = message.get("error")
    if "type" in message or not isinstance(error, dict) or "message" in message:
        return None
    retry = error.get("retry")
    refusal = upstream_error(
        error.get("message"),
        code=error.get("code"),
        recoverable=retry if isinstance(retry, bool) else None,
        for_users=message.get("status") == "error",
        details=leftover(error, ("code", "message", "retry", "retry_after_ms")),
    )
    return msgspec.structs.replace(refusal, retry_after_ms=milliseconds(error.get("retry_after_ms")))


def events_in(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield standard messages that fold to the result `message`, in a possible order."""
    answer: Mapping[str, Any] = message["message"]
    for warning in objects_in(message.get("warnings")):
        yield _message("warning", warning)
    if thinking := answer.get("thinking"):
        yield _message("thinking", {"content": thinking})
    for call in objects_in(answer["tool_calls"]):
        yield from _call(call)
    if content := answer["content"]:
        yield _message("content", {"content": content, "is_complete": True})
    channels = answer.get("channels")
    for name, text in channels.items() if isinstance(channels, dict) else ():
        yield _message("content", {"content": text, "is_complete": True, "channel": name})
    for name, kind in _LISTS.items():
        for data in objects_in(answer.get(name)):
            yield _message(kind, data)
    if isinstance(message.get("error"), dict):
        yield _message("error", {**message["error"], "terminal": True})
    rest = leftover(message, _KNOWN) or {}
    yield _message("session_end", {name: message.get(name) for name in ("status", "reason", "summary")}, rest)


def _call(call: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a call. A call that is still running has no end."""
    yield _message("tool_call_start", {name: call[name] for name in _CALL if name in call})
    if call.get("status") in ("success", "failed"):
        end = {name: call[name] for name in _CALL_END if name in call}
        yield _message("tool_call_end", end, {"duration_ms": call.get("duration_ms")})


def _message(kind: str, data: dict[str, Any], metadata: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"type": kind, "data": data, "metadata": metadata or {}}
