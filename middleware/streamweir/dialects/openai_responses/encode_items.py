"""The items of a response's output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from streamweir.codec.coerce import text_of
from streamweir.codec.whole_turn import citations, client_calls, text_of_turn
from streamweir.events import ToolCallEnd, ToolCallStart
from streamweir.jsontext import write_json_text

__all__ = ["citation_of", "function_call", "items_of", "mcp_call", "message_item", "reasoning_item"]

_SERVER: Final = "agent"
"""What stands for the server that has run a tool: an upstream does not say which it was."""


def message_item(item_id: str, text: str | None, annotations: Sequence[Any] = ()) -> dict[str, Any]:
    """Return a message; one without a text (None) is about to begin."""
    part = {"type": "output_text", "text": text, "annotations": [*annotations], "logprobs": []}
    return {
        "id": item_id,
        "type": "message",
        "role": "assistant",
        "status": "in_progress" if text is None else "completed",
        "content": [] if text is None else [part],
    }


def reasoning_item(item_id: str, text: str | None) -> dict[str, Any]:
    """Return reasoning; some without a text (None) is about to begin."""
    summary = [] if text is None else [{"type": "summary_text", "text": text}]
    return {"id": item_id, "type": "reasoning", "summary": summary}


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
    """Return the annotation of an address; None where there is none."""
    if not isinstance(url := given.get("url"), str):
        return None
    title = str(given.get("title") or "")
    return {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 0}


def items_of(folded: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the items that a folded result stands for."""
    message, request_id = folded["message"], folded["request_id"]
    if thinking := message["thinking"]:
        yield reasoning_item(f"rs_{request_id}", thinking)
    for number, call in enumerate(message["tool_calls"]):
        if call["status"] != "running":
            error = (call.get("error") or {}).get("message")
            failed = call["status"] == "failed"
            asked, result = call["arguments"], call.get("result")
            yield _ran(f"mcp_{request_id}_{number}", call["tool_name"], asked, result, error, failed=failed)
    if text := text_of_turn(folded):
        annotations = [found for citation in citations(folded) if (found := citation_of(citation))]
        yield message_item(f"msg_{request_id}", text, annotations)
    for number, call in enumerate(client_calls(folded)):
        arguments = write_json_text(call["arguments"])
        yield function_call(f"fc_{request_id}_{number}", call["tool_id"], call["tool_name"], arguments)
