"""Reads leftovers of 0.5 and 0.6: lines `{token, status, result}`, questions without a type, `error: {...}`.

These servers also mix raw text of a model into the stream; it is no JSON and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.coerce import leftover, text_in

__all__ = ["ERROR_LINE", "modern_form"]

ERROR_LINE = b"error:"


def modern_form(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the event of later releases for a `message` without a type; None if there is no such event."""
    match message:
        case {"status": "error"} | {"error": dict()}:
            return {**message, "type": "error"}
        case {"status": "ok" | "success", "result": {"type": str(kind)} as step}:
            beside = leftover(message, ("status", "result")) or {}
            return {**beside, **_step(kind, step)}
        case {"text": str(), **rest} if "goal" in rest or "tag" in rest:
            return {**message, "type": "question"}
        case {"questions": list()}:
            return {**message, "type": "question"}
    return None


def _step(kind: str, step: Mapping[str, Any]) -> dict[str, Any]:
    content = step.get("content")
    fields = content if isinstance(content, dict) else {"message": content}
    text = text_in(fields, "message", "reason", "summary")
    if step.get("status") == "error":
        return {"type": "error", "message": text_in(step, "error_message"), "step": kind}
    rest_of_step = leftover(step, ("error_message",)) or {}
    match kind:
        case "data_transformation":
            return {**rest_of_step, "type": "result", "status": "success"}
        case "planning":
            about = leftover(step, ("type", "content", "status", "error_message")) or {}
            rest = leftover(fields, ("message",)) if fields is content else None
            return {**about, **(rest or {}), "type": "thinking_text", "content": text}
        case "completion":
            rest = leftover(fields, ("message", "reason", "summary")) or {}
            return {**rest_of_step, "content": {**rest, "summary": text}}
    return rest_of_step
