"""Makes blocks that are written in one piece: calls that have been run, and citations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.codec.opaque_values import seal_of
from streamweir.dialects.anthropic.shared_words import NAME
from streamweir.events import Opaque, ToolCallEnd, ToolCallStart

__all__ = ["citation_of", "is_pause", "ran_blocks", "result_block", "thinking_value", "use_block"]

_SERVER: Final = "agent"
"""The server name in the block of a call that has been run, because an upstream does not name its server."""


def thinking_value(opaque: Opaque, upstream: str) -> tuple[str, str]:
    """Return the kind of an opaque value of thinking, `signature` or `redacted`, and the text of the value.

    A value of another dialect becomes a seal. So does a compaction, because clients without the beta refuse
    its block.
    """
    for kind in ("signature", "redacted"):
        if isinstance(value := opaque.get(NAME, {}).get(kind), str):
            return kind, value
    return "signature", seal_of(opaque, "thinking", upstream)


def is_pause(asked: Mapping[str, Any]) -> bool:
    """Return whether a question means only that the turn is paused, for which there is a stop reason.

    Args:
        asked: the `data` of the question's event.
    """
    return asked.keys() <= {"interaction_id", "kind", "state"} and asked.get("kind") == "continue"


def ran_blocks(call: ToolCallStart, end: ToolCallEnd) -> Iterable[dict[str, Any]]:
    """Return the blocks of a call that has been run, and of its result."""
    result = end.error["message"] if end.error is not None else end.result
    return (
        use_block(call.tool_id, call.tool_name, call.arguments),
        result_block(call.tool_id, result, failed=end.status == "failed"),
    )


def use_block(tool_id: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the block of a call that the client must not run."""
    return {
        "type": "mcp_tool_use",
        "id": tool_id,
        "name": name,
        "server_name": _SERVER,
        "input": arguments,
    }


def result_block(tool_id: str, result: Any, *, failed: bool) -> dict[str, Any]:
    """Return the block of a result: text, or JSON as text."""
    content = [{"type": "text", "text": text_of(result), "citations": None}]
    return {"type": "mcp_tool_result", "tool_use_id": tool_id, "is_error": failed, "content": content}


def citation_of(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a citation with an address; None if `given` has no address."""
    if not isinstance(url := given.get("url"), str):
        return None
    return {
        "type": "web_search_result_location",
        "url": url,
        "title": given.get("title"),
        "cited_text": str(given.get("snippet") or ""),
        "encrypted_index": "",
    }
