"""Makes a whole message, for a client that wants no stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streamweir.codec.opaque_values import seal_of
from streamweir.codec.whole_turn import HasForm, Part, citations, finish_reason, parts_of_turn, suspension_of
from streamweir.dialects.anthropic.encode_blocks import (
    citation_of,
    is_pause,
    result_block,
    thinking_value,
    use_block,
)
from streamweir.dialects.anthropic.shared_words import PAUSED, STOP_REASONS
from streamweir.events import Opaque, Stamp
from streamweir.opaque.seal import SealedKind

__all__ = ["message_of"]


def message_of(
    folded: Mapping[str, Any], stamp: Stamp, *, model: str, with_tools: bool, with_pause: bool, upstream: str
) -> dict[str, Any]:
    """Return the message for a folded result.

    Args:
        folded: the result.
        stamp: the stamp of the last event.
        model: the client's name of the model.
        with_tools: whether to include calls that have been run.
        with_pause: whether a pause becomes a stop reason, because the upstream uses the same dialect.
        upstream: the name or URL of the upstream, for seals.
    """
    has_form = is_pause if with_pause else None
    summary = folded["summary"] or {}
    return {
        "id": f"msg_{stamp.request_id}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [*_blocks(folded, upstream, with_tools=with_tools, has_form=has_form)],
        "stop_reason": PAUSED if with_pause and _is_paused(folded) else STOP_REASONS[finish_reason(folded)],
        "stop_sequence": None,
        "usage": {
            "input_tokens": summary.get("prompt_tokens") or 0,
            "output_tokens": summary.get("completion_tokens") or 0,
        },
        **suspension_of(folded, has_form=has_form),
    }


def _blocks(
    folded: Mapping[str, Any], upstream: str, *, with_tools: bool, has_form: HasForm | None
) -> Iterator[dict[str, Any]]:
    parts = parts_of_turn(folded, with_tools=with_tools, has_form=has_form)
    last_text = max((place for place, part in enumerate(parts) if part.kind == "text"), default=None)
    for place, part in enumerate(parts):
        match part.kind:
            case "thinking":
                yield _thinking(part, upstream)
            case "text":
                cited = _citations(folded) if place == last_text else []
                if part.text:
                    yield {"type": "text", "text": part.text, "citations": cited or None}
                yield from _seal(part.opaque, "text", upstream)
            case "ran":
                yield from _ran_blocks(part.call)
            case "client":
                call = part.call
                yield from _seal(call.get("opaque"), "call", upstream)
                asked = call["arguments"]
                yield {"type": "tool_use", "id": call["tool_id"], "name": call["tool_name"], "input": asked}


def _is_paused(folded: Mapping[str, Any]) -> bool:
    return folded["status"] == "suspended" and any(map(is_pause, folded["message"]["interactions"]))


def _thinking(part: Part, upstream: str) -> dict[str, Any]:
    kind, value = thinking_value(part.opaque, upstream) if part.opaque else ("signature", "")
    if kind == "redacted":
        return {"type": "redacted_thinking", "data": value}
    return {"type": "thinking", "thinking": part.text, "signature": value}


def _seal(opaque: Opaque | None, of: SealedKind, upstream: str) -> Iterator[dict[str, Any]]:
    """Yield a block of thinking with the seal of the preceding text or of the next call."""
    if opaque:
        yield {"type": "thinking", "thinking": "", "signature": seal_of(opaque, of, upstream)}


def _citations(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [found for citation in citations(folded) if (found := citation_of(citation))]


def _ran_blocks(call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    error = call.get("error")
    result = error["message"] if error else call.get("result")
    yield use_block(call["tool_id"], call["tool_name"], call["arguments"])
    yield result_block(call["tool_id"], result, failed=call["status"] == "failed")
