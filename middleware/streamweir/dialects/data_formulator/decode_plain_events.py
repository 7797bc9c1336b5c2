"""Reads messages that become one standard event each, independent of earlier messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from streamweir.codec.coerce import leftover, message_params, meta_of, named_data, text_of
from streamweir.events import Event, Meta, Status, Thinking, Warning

__all__ = ["PLAIN_EVENTS", "extra_of"]


_PRIVATE: Final = ("dialog", "trajectory")
"""The fields that hold the application's own prompt."""


def extra_of(message: Mapping[str, Any], known: Iterable[str]) -> Meta | None:
    """Return the unknown fields of `message` as metadata; the application's prompt is marked as private."""
    rest = leftover(message, {"type", *known}) or {}
    private = {name: rest.pop(name) for name in _PRIVATE if name in rest}
    return meta_of(extra=rest, private=private)


def _thinking(message: Mapping[str, Any]) -> Event:
    return Thinking(text_of(message.get("content")), meta=extra_of(message, ("content",)))


def _context(message: Mapping[str, Any]) -> Event:
    """Return a status with the rules and the knowledge that were added to the prompt."""
    return Status("phase", "finished", "context", leftover(message, ("type",)))


def _skill(message: Mapping[str, Any]) -> Event:
    return Status(
        "skill", "finished", text_of(message.get("skill")) or None, leftover(message, ("type", "skill"))
    )


def _progress(message: Mapping[str, Any]) -> Event:
    return Status(
        "phase", "running", text_of(message.get("phase")) or None, leftover(message, ("type", "phase"))
    )


def _question(message: Mapping[str, Any]) -> Event:
    """Return a question that the user may want to ask next."""
    asked = named_data("question", leftover(message, ("type",)) or {})
    asked.is_answer = True
    return asked


def _warning(message: Mapping[str, Any]) -> Event:
    """Return a warning. Its message is written for users, but its detail may be the text of an exception."""
    nested = message.get("warning")
    fields = nested if isinstance(nested, dict) else {**message, "message": message.get("message", nested)}
    code = fields.get("message_code")
    return Warning(
        message=text_of(fields.get("message")),
        message_code=code if isinstance(code, str) else None,
        message_params=message_params(fields.get("message_params")),
        detail=fields.get("detail"),
        for_users=True,
    )


PLAIN_EVENTS: Final[dict[str, Callable[[Mapping[str, Any]], Event]]] = {
    "thinking_text": _thinking,
    "context_info": _context,
    "skill_loaded": _skill,
    "progress": _progress,
    "question": _question,
    "warning": _warning,
}
