"""Writes the end of a stream, with its reason and its usage."""

from __future__ import annotations

from typing import Any, Final

from streamweir.codec.finish import finish_with_calls
from streamweir.events import SessionEnd

__all__ = ["finish"]

_TOKENS: Final = {
    "inputTokens": "prompt_tokens",
    "outputTokens": "completion_tokens",
    "totalTokens": "total_tokens",
}
_REASONS: Final = {"content_filter": "content-filter", "tool_calls": "tool-calls"}


def finish(event: SessionEnd, *, with_reason: bool) -> dict[str, Any]:
    """Return the last chunk.

    Args:
        event: the end of the session.
        with_reason: whether clients accept a separate field for the reason; if the message has metadata,
            these hold the reason, too.
    """
    summary = event.summary or {}
    given = summary.get("finish_reason")
    word = finish_with_calls(given) if event.status == "suspended" else given or "stop"
    reason = "error" if event.status == "error" else _REASONS.get(word, word)
    usage = {name: summary[own] for name, own in _TOKENS.items() if own in summary}
    metadata: dict[str, Any] = {"usage": usage} if usage else {}
    if given:
        metadata["finishReason"] = reason
    chunk: dict[str, Any] = {"type": "finish"}
    if with_reason:
        chunk["finishReason"] = reason
    return {**chunk, "messageMetadata": metadata} if metadata else chunk
