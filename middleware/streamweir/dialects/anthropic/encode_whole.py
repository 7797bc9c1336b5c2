"""A whole message for a client that wants no stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamweir.codec.whole_turn import citations, finish_reason, parts_of_turn, suspension_of
from streamweir.dialects.anthropic.encode_blocks import citation_of, result_block, use_block
from streamweir.dialects.anthropic.shared_words import STOP_REASONS
from streamweir.events import Stamp

__all__ = ["message_of"]


def message_of(folded: Mapping[str, Any], stamp: Stamp, *, model: str, with_tools: bool) -> dict[str, Any]:
    """Return the message for a folded result.

    Args:
        folded: the result.
        stamp: of the last event.
        model: the client's name of it.
        with_tools: also calls that have been run.
    """
    summary = folded["summary"] or {}
    return {
        "id": f"msg_{stamp.request_id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [*_blocks(folded, with_tools=with_tools)],
        "stop_reason": STOP_REASONS[finish_reason(folded)],
        "stop_sequence": None,
        "usage": {
            "input_tokens": summary.get("prompt_tokens") or 0,
            "output_tokens": summary.get("completion_tokens") or 0,
        },
        **suspension_of(folded),
    }


def _blocks(folded: Mapping[str, Any], *, with_tools: bool) -> Iterator[dict[str, Any]]:
    parts = parts_of_turn(folded, with_tools=with_tools)
    last_text = max((place for place, part in enumerate(parts) if part.kind == "text"), default=None)
    for place, (kind, text, call) in enumerate(parts):
        match kind:
            case "thinking":
                yield {"type": "thinking", "thinking": text, "signature": ""}
            case "text":
                cited = _citations(folded) if place == last_text else []
                yield {"type": "text", "text": text, "citations": cited or None}
            case "ran":
                yield from _ran_blocks(call)
            case "client":
                asked = call["arguments"]
                yield {"type": "tool_use", "id": call["tool_id"], "name": call["tool_name"], "input": asked}


def _citations(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [found for citation in citations(folded) if (found := citation_of(citation))]


def _ran_blocks(call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    error = call.get("error")
    result = error["message"] if error else call.get("result")
    yield use_block(call["tool_id"], call["tool_name"], call["arguments"])
    yield result_block(call["tool_id"], result, failed=call["status"] == "failed")
