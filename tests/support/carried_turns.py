"""One turn of a model as a client of each protocol sends it back, with seals for other dialects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streamweir.opaque.seal import SealedKind, make_seal

__all__ = ["CLIENTS", "Turn", "conversation"]

CLIENTS = ("standard", "anthropic", "ag-ui", "vercel-ui", "openai-chat", "openai-responses")
ASKED = "How warm is it in Ulm?"


@dataclass(frozen=True)
class Turn:
    """A turn: thinking, a text and calls, each with the opaque value that the upstream gave it."""

    dialect: str
    upstream: str = ""
    thinking: str | None = None
    thought: dict[str, Any] | None = None
    text: str = ""
    text_value: dict[str, Any] | None = None
    calls: Sequence[tuple[str, str, dict[str, Any], dict[str, Any] | None]] = ()

    def seal(self, value: dict[str, Any], of: SealedKind) -> str:
        """The value as a client of another protocol has it."""
        return make_seal(value, dialect=self.dialect, upstream=self.upstream, of=of)


def conversation(protocol: str, turns: Sequence[Turn]) -> dict[str, Any]:
    """The body of a client that shows these turns again, each call with its result, and asks once more."""
    messages = [_user(protocol, ASKED)]
    for number, turn in enumerate(turns):
        messages += _TURNS[protocol](turn, number)
    messages.append(_user(protocol, "And now?"))
    if protocol == "ag-ui":
        return {"threadId": "t", "runId": "r", "messages": messages, "tools": [], "context": [], "state": {}}
    if protocol == "openai-responses":
        return {"model": "m", "input": messages}
    return {"model": "m", "max_tokens": 100, "messages": messages}


def _user(protocol: str, text: str) -> dict[str, Any]:
    if protocol == "vercel-ui":
        return {"id": "u", "role": "user", "parts": [{"type": "text", "text": text}]}
    return (
        {"id": "u", "role": "user", "content": text}
        if protocol == "ag-ui"
        else {"role": "user", "content": text}
    )


def _standard(turn: Turn, _: int) -> list[dict[str, Any]]:
    def opaque(value: dict[str, Any] | None) -> dict[str, Any]:
        return {"opaque": {turn.dialect: value}} if value else {}

    parts: list[dict[str, Any]] = []
    if turn.thinking is not None:
        parts.append({"type": "reasoning", "text": turn.thinking, **opaque(turn.thought)})
    if turn.text or turn.text_value:
        parts.append({"type": "text", "text": turn.text, **opaque(turn.text_value)})
    calls = [
        {"id": call_id, "name": name, "arguments": arguments, **opaque(value)}
        for call_id, name, arguments, value in turn.calls
    ]
    made: dict[str, Any] = {"role": "assistant", "content": parts}
    results = [{"role": "tool", "tool_call_id": call[0], "content": "21"} for call in turn.calls]
    return [{**made, "tool_calls": calls} if calls else made, *results]


def _anthropic(turn: Turn, _: int) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    is_native = turn.dialect == "anthropic"
    if turn.thinking is not None and turn.thought is not None:
        signature = turn.thought.get("signature") if is_native else turn.seal(turn.thought, "thinking")
        if is_native and "redacted" in turn.thought:
            blocks.append({"type": "redacted_thinking", "data": turn.thought["redacted"]})
        else:
            blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": signature})
    elif turn.thinking:
        blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": ""})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    if turn.text_value:
        signature = turn.seal(turn.text_value, "text")
        blocks.append({"type": "thinking", "thinking": "", "signature": signature})
    for call_id, name, arguments, value in turn.calls:
        if value:
            blocks.append({"type": "thinking", "thinking": "", "signature": turn.seal(value, "call")})
        blocks.append({"type": "tool_use", "id": call_id, "name": name, "input": arguments})
    results = [{"type": "tool_result", "tool_use_id": call[0], "content": "21"} for call in turn.calls]
    made = [{"role": "assistant", "content": blocks}]
    return [*made, {"role": "user", "content": results}] if results else made


def _ag_ui(turn: Turn, number: int) -> list[dict[str, Any]]:
    def encrypted(value: dict[str, Any] | None, of: SealedKind) -> dict[str, Any]:
        return {"encryptedValue": turn.seal(value, of)} if value else {}

    found: list[dict[str, Any]] = []
    if turn.thinking is not None:
        made = {"id": f"r{number}", "role": "reasoning", "content": turn.thinking}
        found.append({**made, **encrypted(turn.thought, "thinking")})
    if turn.text or turn.text_value:
        text = {"id": f"a{number}", "role": "assistant", "content": turn.text}
        found.append({**text, **encrypted(turn.text_value, "text")})
    calls = [
        {
            "id": call_id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
            **encrypted(value, "call"),
        }
        for call_id, name, arguments, value in turn.calls
    ]
    if calls:
        found.append({"id": f"c{number}", "role": "assistant", "toolCalls": calls})
    results = [
        {"id": f"t{call[0]}", "role": "tool", "toolCallId": call[0], "content": "21"} for call in turn.calls
    ]
    return [*found, *results]


def _vercel_ui(turn: Turn, number: int) -> list[dict[str, Any]]:
    def metadata(
        value: dict[str, Any] | None, of: SealedKind, name: str = "providerMetadata"
    ) -> dict[str, Any]:
        return {name: {"streamweir": {"opaque": turn.seal(value, of)}}} if value else {}

    parts: list[dict[str, Any]] = [{"type": "step-start"}]
    if turn.thinking is not None:
        made = {"type": "reasoning", "text": turn.thinking, "state": "done"}
        parts.append({**made, **metadata(turn.thought, "thinking")})
    if turn.text or turn.text_value:
        parts.append({"type": "text", "text": turn.text, **metadata(turn.text_value, "text")})
    parts += [
        {
            "type": f"tool-{name}",
            "toolCallId": call_id,
            "state": "output-available",
            "input": arguments,
            "output": "21",
            **metadata(value, "call", "callProviderMetadata"),
        }
        for call_id, name, arguments, value in turn.calls
    ]
    return [{"id": f"a{number}", "role": "assistant", "parts": parts}]


def _openai_chat(turn: Turn, _: int) -> list[dict[str, Any]]:
    is_native = turn.dialect == "openai-chat"
    made: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
    details: list[dict[str, Any]] = []
    if turn.thinking is not None:
        field = (turn.thought or {}).get("field") if is_native else None
        made[field or "reasoning_content"] = turn.thinking
    for value, of in ((turn.thought, "thinking"), (turn.text_value, "text")):
        if is_native and value:
            details += value.get("details", [])
        elif value:
            data = turn.seal(value, "thinking" if of == "thinking" else "text")
            entry = {"type": "reasoning.encrypted", "data": data, "format": "streamweir-1"}
            details.append({**entry, "index": len(details)})
    if details:
        made["reasoning_details"] = details
    if turn.calls:
        made["tool_calls"] = [_chat_call(turn, call, is_native=is_native) for call in turn.calls]
    results = [{"role": "tool", "tool_call_id": call[0], "content": "21"} for call in turn.calls]
    return [made, *results]


def _chat_call(turn: Turn, call: Any, *, is_native: bool) -> dict[str, Any]:
    call_id, name, arguments, value = call
    function = {"name": name, "arguments": json.dumps(arguments, separators=(",", ":"))}
    made = {"id": call_id, "type": "function", "function": function}
    if not value:
        return made
    if is_native:
        return {**made, **value}
    return {**made, "extra_content": {"streamweir": {"opaque": turn.seal(value, "call")}}}


def _openai_responses(turn: Turn, number: int) -> list[dict[str, Any]]:
    is_native = turn.dialect == "openai-responses"
    made: list[dict[str, Any]] = []

    def reasoning(value: dict[str, Any] | None, of: SealedKind, text: str = "") -> dict[str, Any]:
        summary = [{"type": "summary_text", "text": text}] if text else []
        item = {"type": "reasoning", "id": f"rs_{number}_{len(made)}", "summary": summary}
        own = value if is_native and value else {}
        sealed = {"encrypted_content": turn.seal(value, of)} if value and not is_native else {}
        return {**item, **sealed, **own}

    def item_id(value: dict[str, Any] | None) -> str:
        return value["id"] if is_native and value else f"item_{number}_{len(made)}"

    if turn.thinking is not None:
        made.append(reasoning(turn.thought, "thinking", turn.thinking))
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        own_id = item_id(turn.text_value)
        made.append({"type": "message", "id": own_id, "role": "assistant", "content": content})
    if turn.text_value and not is_native:
        made.append(reasoning(turn.text_value, "text"))
    for call_id, name, arguments, value in turn.calls:
        if value and not is_native:
            made.append(reasoning(value, "call"))
        called = {"call_id": call_id, "name": name, "arguments": json.dumps(arguments)}
        made.append({"type": "function_call", "id": item_id(value), "status": "completed", **called})
    outputs = [{"type": "function_call_output", "call_id": call[0], "output": "21"} for call in turn.calls]
    return [*made, *outputs]


_TURNS = {
    "standard": _standard,
    "anthropic": _anthropic,
    "ag-ui": _ag_ui,
    "vercel-ui": _vercel_ui,
    "openai-chat": _openai_chat,
    "openai-responses": _openai_responses,
}
