"""Makes the items of a response's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.codec.opaque_values import seal_of
from streamweir.codec.whole_turn import Part, argument_text, citations, parts_of_turn
from streamweir.dialects.openai_responses.encode_approvals import approval_item, has_item
from streamweir.dialects.openai_responses.shared_ids import ItemIds, made_id
from streamweir.dialects.openai_responses.shared_words import NAME
from streamweir.events import Opaque, ToolCallEnd, ToolCallStart
from streamweir.jsontext import write_json_text
from streamweir.opaque.seal import SealedKind

__all__ = [
    "begun_call",
    "citation_of",
    "function_call",
    "items_of",
    "mcp_call",
    "message_item",
    "reasoning_item",
    "reasoning_with_value",
    "sealed_item",
    "steps_of_call",
]

_SERVER: Final = "agent"
"""The server name in the item of a call that has been run, because an upstream does not name its server."""


def message_item(item_id: str, text: str | None, annotations: Sequence[Any] = ()) -> dict[str, Any]:
    """Return a message; a message without a text (None) is about to begin."""
    part = {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": "in_progress" if text is None else "completed",
        "content": [] if text is None else [part],
    }


def reasoning_item(item_id: str, text: str | None) -> dict[str, Any]:
    """Return reasoning; reasoning without a text (None) is about to begin."""
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"id": item_id, "type": "reasoning", "summary": summary}


def sealed_item(
    item_id: str, text: str | None, opaque: Opaque, of: SealedKind, upstream: str
) -> dict[str, Any]:
    """Return reasoning that holds the seal of its own value, or of a text or call.

    Args:
        item_id: the id of the item.
        text: the text of the reasoning; None for the seal of a text or call, or reasoning without a summary.
        opaque: the value.
        of: the part that the value belongs to.
        upstream: the name or URL of the upstream.
    """
    return {**reasoning_item(item_id, text), "encrypted_content": seal_of(opaque, of, upstream)}


def reasoning_with_value(
    item_id: str, text: str | None, opaque: Opaque, upstream: str, ids: ItemIds
) -> dict[str, Any]:
    """Return reasoning with its own value: unchanged if the item has the upstream's id, else sealed.

    Args:
        item_id: the id of the item.
        text: the text of the reasoning; None for reasoning without a summary.
        opaque: the value.
        upstream: the name or URL of the upstream.
        ids: the ids of the items of the response.
    """
    native = ids.native_value(opaque, item_id)
    if native is None:
        return sealed_item(item_id, text, opaque, "thinking", upstream)
    return {**reasoning_item(item_id, text), "encrypted_content": native}


def function_call(item_id: str, tool_id: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a call that the client is to run."""
    return {
        "id": item_id,
        "type": "function_call",
        "call_id": tool_id,
        "name": name,
        "arguments": arguments,
        "status": "completed",
    }


def mcp_call(item_id: str, call: ToolCallStart, end: ToolCallEnd) -> dict[str, Any]:
    """Return a call that has been run."""
    error = None if end.error is None else end.error["message"]
    return _ran(item_id, call.tool_name, call.arguments, end.result, error, failed=end.status == "failed")


def begun_call(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item of a call that has been run, in the form at the beginning of the call."""
    return {**item, "arguments": "", "output": None, "error": None, "status": "in_progress"}


def steps_of_call(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the types, without `response.`, and the fields of the events of a call that has been run."""
    yield "mcp_call.in_progress", {}
    yield "mcp_call_arguments.delta", {"delta": item["arguments"]}
    yield "mcp_call_arguments.done", {"arguments": item["arguments"]}
    yield f"mcp_call.{item['status']}", {}


def _ran(
    item_id: str, name: str, arguments: Mapping[str, Any], result: Any, error: str | None, *, failed: bool
) -> dict[str, Any]:
    return {
        "id": item_id,
        "type": "mcp_call",
        "name": name,
        "server_label": _SERVER,
        "arguments": write_json_text(arguments),
        "output": None if failed else text_of(result),
        "error": _tool_error(error or "") if failed else None,
        "status": "failed" if failed else "completed",
    }


def _tool_error(text: str) -> dict[str, Any]:
    return {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": text}]}


def citation_of(given: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the annotation for a citation; None if the citation has no address."""
    if not isinstance(url := given.get("url"), str):
        return None
    title = str(given.get("title") or "")
    return {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 0}


def items_of(
    folded: Mapping[str, Any], id_base: str, upstream: str, ids: ItemIds
) -> Iterator[dict[str, Any]]:
    """Yield the items for a folded result; made ids hold the places of the items in the output.

    Args:
        folded: the result.
        id_base: the part that the ids have in common.
        upstream: the name or URL of the upstream, for seals.
        ids: the ids of the items of the response.
    """
    parts = parts_of_turn(folded, has_form=has_item)
    last_text = max((place for place, part in enumerate(parts) if part.kind == "text"), default=None)
    for place, part in enumerate(parts):
        opaque = part.call.get("opaque") or part.opaque or {}
        known, made = opaque.get(NAME, {}).get("id"), made_id(_PREFIXES[part.kind], id_base, place)
        seal_id = f"{made_id('rs', id_base, place)}_seal"
        if part.kind == "thinking":
            yield from _reasoning(part, ids.of_reasoning(known, made), upstream, ids)
            continue
        item_id = ids.of_item(known, made) if part.kind in _SENT_BACK else made
        is_sealed = bool(opaque) and item_id != known
        if part.kind == "client" and is_sealed:
            yield sealed_item(seal_id, None, opaque, "call", upstream)
        if part.text or part.kind != "text":
            yield _item(part, item_id, _annotations(folded) if place == last_text else ())
        if part.kind == "text" and is_sealed:
            yield sealed_item(seal_id, None, opaque, "text", upstream)


def _reasoning(part: Part, item_id: str, upstream: str, ids: ItemIds) -> Iterator[dict[str, Any]]:
    if part.opaque:
        yield reasoning_with_value(item_id, part.text or None, part.opaque, upstream, ids)
    elif part.text:
        yield reasoning_item(item_id, part.text)


def _item(part: Part, item_id: str, annotations: Sequence[Any]) -> dict[str, Any]:
    match part.kind:
        case "text":
            return message_item(item_id, part.text, annotations)
        case "ran":
            return _ran_item(item_id, part.call)
        case "asked":
            return approval_item(part.call, part.server)
    call = part.call
    return function_call(item_id, call["tool_id"], call["tool_name"], argument_text(call))


_PREFIXES: Final = {"thinking": "rs", "text": "msg", "ran": "mcp", "client": "fc", "asked": "mcpr"}
_SENT_BACK: Final = ("text", "client")
"""The kinds of parts whose items have ids that the upstream expects back."""


def _ran_item(item_id: str, call: Mapping[str, Any]) -> dict[str, Any]:
    error, failed = (call.get("error") or {}).get("message"), call["status"] == "failed"
    return _ran(item_id, call["tool_name"], call["arguments"], call.get("result"), error, failed=failed)


def _annotations(folded: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [found for citation in citations(folded) if (found := citation_of(citation))]
