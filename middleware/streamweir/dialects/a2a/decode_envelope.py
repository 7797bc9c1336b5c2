"""Reads the envelope of a task's events, the names of states and roles, and failures.

An event is `{"statusUpdate": {...}}` in 1.0 and in the HTTP+JSON form, and `{"kind": "status-update", ...}`
in 0.3. Each of them may also be the `result` of a JSON-RPC response. Servers mix these shapes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from streamweir.codec.coerce import leftover, text_of, upstream_error
from streamweir.events import Event

__all__ = [
    "MESSAGE",
    "Envelope",
    "envelope_of",
    "failure_of",
    "is_agents",
    "listed",
    "objects_in",
    "state_of",
]

MESSAGE: Final = frozenset({"kind", "messageId", "contextId", "taskId", "role", "parts", "content"})
"""The fields of a message that a rule reads."""

_ENVELOPE: Final = frozenset({"jsonrpc", "id", "result"})
_WRAPPERS: Final = {
    "task": "task",
    "message": "message",
    "msg": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}
_STATUSES: Final = {
    -32700: 400,
    -32600: 400,
    -32601: 404,
    -32602: 400,
    -32001: 404,
    -32002: 400,
    -32003: 400,
    -32004: 400,
    -32005: 400,
    -32007: 400,
    -32008: 400,
    -32009: 400,
}
"""The HTTP status of a failure in the HTTP+JSON form, by the JSON-RPC code of the same failure."""


class Envelope(NamedTuple):
    """One event of a task, without its envelope."""

    kind: str
    """The kind of event: `task`, `message`, `status-update` or `artifact-update`."""
    value: Mapping[str, Any]
    beside: Mapping[str, Any]
    """The fields of the envelope that no rule reads."""


def envelope_of(message: Mapping[str, Any]) -> Envelope | None:
    """Return the event in a response or a frame; None if it holds something else."""
    result = message.get("result")
    if isinstance(result, dict):
        found = _news_in(result)
        beside = leftover(message, _ENVELOPE)
        return found._replace(beside={**found.beside, **beside}) if found and beside else found
    return None if "jsonrpc" in message else _news_in(message)


def _news_in(value: Mapping[str, Any]) -> Envelope | None:
    for name, kind in _WRAPPERS.items() if "kind" not in value else ():
        inner = value.get(name)
        if isinstance(inner, dict) and _is_a(kind, inner):
            return Envelope(kind, inner, leftover(value, (name,)) or {})
    kind = value.get("kind", "task" if "contextId" in value else None)
    return Envelope(kind, value, {}) if _is_a(kind, value) else None


def _is_a(kind: Any, value: Mapping[str, Any]) -> bool:
    match kind:
        case "task":
            return isinstance(value.get("status"), dict) and "id" in value
        case "message":
            return isinstance(value.get("role"), str) and "messageId" in value
        case "status-update":
            return isinstance(value.get("status"), dict) and "taskId" in value
        case "artifact-update":
            return isinstance(value.get("artifact"), dict) and "taskId" in value
    return False


def failure_of(message: Mapping[str, Any]) -> Event | None:
    """Return the error in a response (JSON-RPC, HTTP+JSON or a bare text); None if it holds no error."""
    match message:
        case {"error": dict()}:
            return _failure(message["error"])
        case {"error": error} if error:
            return upstream_error(error)
        case {"message": str(text), **rest} if not rest:
            return upstream_error(text)
    return None


def _failure(fields: Mapping[str, Any]) -> Event:
    code = fields.get("code")
    status = _STATUSES.get(code, code if code > 0 else None) if isinstance(code, int) else None
    return upstream_error(fields.get("message"), status=status, details=leftover(fields, ("message",)))


def state_of(status: Mapping[str, Any]) -> str:
    """Return the state in the spelling of 0.3: `input-required` for `TASK_STATE_INPUT_REQUIRED`."""
    state = text_of(status.get("state")).lower().removeprefix("task_state_").replace("_", "-")
    return "canceled" if state == "cancelled" else state


def is_agents(message: Mapping[str, Any]) -> bool:
    """Return whether the agent wrote the message; the history of a task repeats the user's messages, too."""
    return text_of(message.get("role")).lower() not in ("user", "role_user")


def listed(value: Any) -> list[Any]:
    """Return `value` if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; an empty list if `value` is no list."""
    return [item for item in listed(value) if isinstance(item, dict)]
