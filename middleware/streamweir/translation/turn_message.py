"""The assistant's message of a turn, in the form that a request uses.

Source: the request contract, section 2; the conversation contract, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from streamweir.translation.tool_call import ToolCall

__all__ = ["turn_message"]


def turn_message(
    order: Sequence[Mapping[str, Any]] | None, calls: Sequence[ToolCall], *, text: str, thinking: str
) -> dict[str, Any]:
    """Return the canonical message of an assistant, with opaque values.

    Args:
        order: the entries of `AnswerOrder`; None if they are not known: all thinking then precedes all text,
            and only calls have opaque values.
        calls: the tool calls, in order of their start.
        text: the whole answer, without other channels.
        thinking: the whole reasoning.
    """
    parts = [*_plain_parts(text, thinking)] if order is None else _without_last_calls(_parts(order, calls))
    is_text = all(part.keys() == {"type", "text"} and part["type"] == "text" for part in parts)
    message: dict[str, Any] = {"role": "assistant", "content": text if is_text else parts}
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    return message


def _parts(order: Iterable[Mapping[str, Any]], calls: Sequence[ToolCall]) -> Iterator[dict[str, Any]]:
    placed: set[str] = set()
    for entry in order:
        opaque = {"opaque": entry["opaque"]} if "opaque" in entry else {}
        match entry["kind"]:
            case "thinking":
                yield {"type": "reasoning", "text": entry["text"], **opaque}
            case "text" if entry["message"][0] is None:
                yield {"type": "text", "text": entry["text"], **opaque}
            case "started" if (tool_id := calls[entry["number"]].tool_id) not in placed:
                placed.add(tool_id)
                yield {"type": "tool_call", "id": tool_id}


def _plain_parts(text: str, thinking: str) -> Iterator[dict[str, Any]]:
    if thinking:
        yield {"type": "reasoning", "text": thinking}
    if text:
        yield {"type": "text", "text": text}


def _without_last_calls(parts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the parts without calls that follow all other parts: calls are listed last anyway."""
    found = [*parts]
    while found and found[-1]["type"] == "tool_call":
        found.pop()
    return found


def _call(call: ToolCall) -> dict[str, Any]:
    opaque = {} if call.opaque is None else {"opaque": call.opaque}
    return {"id": call.tool_id, "name": call.tool_name, "arguments": call.arguments, **opaque}
