"""The end of a stream, with its reason and its usage."""

from __future__ import annotations

from typing import Any, Final

from streamweir.events import SessionEnd

__all__ = ["finish"]

_TOKENS: Final = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
}
_REASONS: Final = {"content_filter": "content-filter", "tool_calls": "tool-calls"}
_BY_STATUS: Final = {"error": "error", "suspended": "tool-calls"}


def finish(event: SessionEnd, *, with_reason: bool) -> dict[str, Any]:
    """Return the last chunk.

    Args:
        event: the end.
        with_reason: its clients take the reason in a field of its own; it is in the message's metadata too,
            if there are any.
    """
    summary = event.summary or {}
    given = summary.get("finish_reason")
    reason = _BY_STATUS.get(event.status) or _REASONS.get(str(given), given or "stop")
    usage = {name: summary[own] for name, own in _TOKENS.items() if own in summary}
    metadata: dict[str, Any] = {"usage": usage} if usage else {}
    if given:
        metadata["finishReason"] = reason
    chunk: dict[str, Any] = {"type": "finish"}
    if with_reason:
        chunk["finishReason"] = reason
    return {**chunk, "messageMetadata": metadata} if metadata else chunk
