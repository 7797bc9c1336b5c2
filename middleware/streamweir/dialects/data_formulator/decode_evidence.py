"""Scores one message: how likely the stream is Data Formulator's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["score"]


def score(message: Mapping[str, Any], event: str | None) -> float:
    """Return a score from 0 to 1 for one message. The type is not enough if others use the word, too."""
    if isinstance(message.get("data"), dict) and isinstance(message.get("metadata"), dict):
        return 0.0
    named = message if "type" in message or event is None else {"type": event, **message}
    return _typed(named) if isinstance(named.get("type"), str) else _untyped(named)


def _typed(message: Mapping[str, Any]) -> float:
    match message:
        case (
            {"type": "context_info", "rules_injected": _}
            | {"type": "interact" | "clarify" | "explain", "questions": list()}
            | {"type": "interact" | "clarify" | "explain", "trajectory": _}
            | {"type": "completion", "content": {"summary": _}}
            | {"type": "delegate", "target": _}
            | {"type": "done", "full_text": _}
            | {"type": "tool_start", "tool": str(), "args": _, "code": _}
            | {"type": "tool_start", "tool": str(), "purpose": _, "table_names": _}
            | {"type": "error", "error": {"code": str(), "message": _, "retry": bool()}}
            | {"type": "error", "message": _, "message_code": _}
            | {"type": "error", "message": _, "iteration": _}
            | {"type": "warning", "warning": {"message": _}}
            | {"type": "result", "content": {"result": _}}
            | {"type": "data_operation_result", "operation": {"status": str()}}
        ):
            return 0.95
        case (
            {"type": "thinking_text", "content": str()}
            | {"type": "question", "text": str(), "goal": _}
            | {"type": "progress", "phase": str()}
            | {"type": "skill_loaded", "skill": _}
            | {"type": "continue_prompt"}
            | {"type": "text_delta", "content": str()}
            | {"type": "actions", "actions": list()}
            | {"type": "error", "error": {"code": str(), "message": _}}
        ):
            return 0.85
        case {"type": "tool_result", "tool": str(), "status": "ok" | "error"}:
            return 0.8
        case {"type": "action", "action": str()}:
            return 0.7
        case {"type": "tool_start" | "tool_result", "tool": str()}:
            return 0.6
    return 0.0


def _untyped(message: Mapping[str, Any]) -> float:
    match message:
        case {"status": "error", "error": {"code": str(), "message": _}}:
            return 0.9
        case {"token": _, "status": "ok" | "error", "result": _}:
            return 0.8
        case {"text": str(), "goal": str()} | {"questions": list(), "goal": _}:
            return 0.7
        case {"status": "success", "data": _}:
            return 0.3
    return 0.0
