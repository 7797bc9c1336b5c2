"""Reads the end of a stream: finished, or waiting for an approval or for tools that the client is to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.classification.finish_words import standard_finish
from streamweir.codec.coerce import is_count, leftover, meta_of, object_in, text_of
from streamweir.codec.finish import finish_error
from streamweir.dialects.vercel_ui.decode_tools import Calls
from streamweir.events import Event, Interaction, SessionEnd

__all__ = ["read_finish", "usage_in"]

_FINISHED: Final = ("type", "finishReason", "messageMetadata")
_REASONS: Final = {"other": "stop", "unknown": "stop"}
"""The SDK's finish reasons if a provider has given no reason, or an unknown one."""

_TOKENS: Final = {
    "prompt_tokens": ("inputTokens", "promptTokens"),
    "completion_tokens": ("outputTokens", "completionTokens"),
    "total_tokens": ("totalTokens",),
}


def read_finish(message: Mapping[str, Any], calls: Calls) -> Iterator[Event]:
    """Yield the calls that the client is to run, then the end."""
    summary = _summary(message)
    rest = leftover(message, _FINISHED) or {}
    if metadata := leftover(object_in(message, "messageMetadata"), ("usage", "finishReason")):
        rest["messageMetadata"] = metadata
    meta = meta_of(extra=rest)
    if text_of(message.get("finishReason")) == "error":
        yield SessionEnd("error", summary=summary or None, meta=meta)
        return
    if (error := finish_error(message.get("finishReason"), meta)) is not None:
        yield error
        return
    tools = calls.for_client()
    for tool_id, name in tools:
        yield Interaction(tool_id, "tool", title=name)
    waits = bool(tools) or calls.has_asked
    yield SessionEnd("suspended" if waits else "completed", summary=summary or None, meta=meta)


def usage_in(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens in the metadata of the message that a chunk holds."""
    usage = object_in(object_in(message, "messageMetadata"), "usage")
    found = ((own, [usage.get(name) for name in names]) for own, names in _TOKENS.items())
    counts = ((own, next(filter(is_count, values), None)) for own, values in found)
    return {own: count for own, count in counts if count is not None}


def _summary(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of tokens, from the metadata of the message, and the finish reason."""
    metadata = object_in(message, "messageMetadata")
    known = {name for names in _TOKENS.values() for name in names}
    summary: dict[str, Any] = {**(leftover(object_in(metadata, "usage"), known) or {}), **usage_in(message)}
    reason = text_of(message.get("finishReason") or metadata.get("finishReason"))
    if reason:
        summary["finish_reason"] = standard_finish(reason, _REASONS)
    return summary
