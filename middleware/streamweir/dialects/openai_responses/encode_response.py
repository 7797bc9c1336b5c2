"""The response object in the events of the beginning and of the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.events import Error

__all__ = ["response_error", "response_of"]

_INCOMPLETE: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}


def response_of(
    reason: str,
    summary: Mapping[str, Any] | None,
    output: list[Any],
    *,
    id: str,  # noqa: A002 - the name on the wire
    model: str,
    created_at: int,
) -> dict[str, Any]:
    """Return a response, complete or cut short.

    Args:
        reason: why it is over, as the standard's `finish_reason`.
        summary: of the session.
        output: its items.
        id: of the response.
        model: the client's name of it.
        created_at: Unix seconds.
    """
    cut_short = _INCOMPLETE.get(reason)
    return {
        "id": id,
        "object": "response",
        "created_at": created_at,
        "status": "completed" if cut_short is None else "incomplete",
        "error": None,
        "incomplete_details": None if cut_short is None else {"reason": cut_short},
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": _usage(summary or {}),
    }


def response_error(error: Error) -> dict[str, str]:
    """Return the `error` of a failed response: few codes are allowed there."""
    code = "rate_limit_exceeded" if error.code == "RATE_LIMITED" else "server_error"
    return {"code": code, "message": error.message}


def _usage(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    prompt, completion = summary.get("prompt_tokens"), summary.get("completion_tokens")
    if prompt is None or completion is None:
        return None
    return {
        "input_tokens": prompt or 0,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": completion or 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": summary.get("total_tokens") or (prompt or 0) + (completion or 0),
    }
