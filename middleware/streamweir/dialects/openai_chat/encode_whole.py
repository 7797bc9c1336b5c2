"""Makes a whole `chat.completion`, for a client that wants no stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamweir.codec.families.openai_usage import usage_of
from streamweir.codec.whole_turn import (
    argument_text,
    citations,
    client_calls,
    finish_reason,
    parts_of_turn,
    suspension_of,
    text_of_turn,
)
from streamweir.dialects.openai_chat.encode_opaque import DETAILS, SealedDetails, extra_content_of
from streamweir.dialects.openai_chat.encode_references import written_citation
from streamweir.events import Stamp

__all__ = ["completion"]


def completion(
    folded: Mapping[str, Any], stamp: Stamp, *, model: str, reasoning: str, references: str, upstream: str
) -> dict[str, Any]:
    """Return the completion for a folded result.

    Args:
        folded: the result.
        stamp: the stamp of the last event.
        model: the client's name of the model.
        reasoning: the field for reasoning, or `drop`.
        references: the field for citations.
        upstream: the name or URL of the upstream, for seals.
    """
    calls = client_calls(folded)
    message: dict[str, Any] = {"role": "assistant", "content": text_of_turn(folded) or None, "refusal": None}
    if calls:
        message["tool_calls"] = [_call(call, upstream) for call in calls]
    elif message["content"] is None:
        message["content"] = ""
    message.update(_reasoning(folded, reasoning, upstream))
    if cited := [found for each in citations(folded) if (found := written_citation(each, references))]:
        message[references] = cited
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_reason(folded)}
    answer: dict[str, Any] = {
        "id": f"chatcmpl-{stamp.request_id}",
        "object": "chat.completion",
        "created": stamp.timestamp // 1000,
        "model": model,
        "choices": [choice],
    }
    if usage := usage_of(folded["summary"]):
        answer["usage"] = usage
    return {**answer, **suspension_of(folded)}


def _reasoning(folded: Mapping[str, Any], field: str, upstream: str) -> dict[str, Any]:
    """Return the reasoning, in the fields that the upstream has used."""
    found: dict[str, Any] = {}
    texts: list[str] = []
    entries: list[Any] = []
    details = SealedDetails()
    for part in parts_of_turn(folded):
        if part.kind == "thinking" and field != "drop":
            texts.append(part.text)
            details.note(part.text)
            own = details.of_thinking(part.opaque, field, upstream) if part.opaque else {}
        else:
            own = details.of_text(part.opaque, upstream) if part.opaque and part.kind == "text" else {}
        entries += own.pop(DETAILS, ())
        found |= own
    if entries:
        found[DETAILS] = entries
    return {**found, field: text} if (text := "".join(texts)) else found


def _call(call: Mapping[str, Any], upstream: str) -> dict[str, Any]:
    function = {"name": call["tool_name"], "arguments": argument_text(call)}
    extra = extra_content_of(call["opaque"], upstream) if call.get("opaque") else {}
    return {"id": call["tool_id"], "type": "function", "function": function, **extra}
