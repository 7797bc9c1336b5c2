"""A call is the client's to run if nothing in the answer says that it was run, or never became whole."""

import json
from typing import Any

import pytest

from streams import events_of, translate

CALL = {
    "type": "function_call",
    "id": "fc",
    "call_id": "c1",
    "name": "weather",
    "arguments": '{"city": "Ulm"}',
}
PIECE = {"index": 0, "id": "c1", "function": {"name": "weather", "arguments": '{"city": "Ulm"}'}}
BLOCK = {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "m", "object": "chat.completion.chunk", "choices": [choice]}


def response(status: str) -> list[dict[str, Any]]:
    output = [{**CALL, "status": status}]
    return [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": output}},
    ]


def message(*blocks: dict[str, Any]) -> list[dict[str, Any]]:
    found = [
        event
        for index, block in enumerate(blocks)
        for event in (
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        )
    ]
    start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant"}}
    return [start, *found, {"type": "message_stop"}]


CALLED = chunk("tool_calls", tool_calls=[PIECE])
CASES: list[tuple[str, list[dict[str, Any]], str]] = [
    ("openai-chat", [CALLED], "suspended"),
    ("openai-chat", [CALLED, chunk(content="")], "suspended"),
    ("openai-chat", [CALLED, chunk(content="It is 21 °C."), chunk("stop")], "completed"),
    ("openai-chat", [CALLED, chunk(reasoning_content="So"), chunk("stop", content="21")], "completed"),
    ("openai-chat", [CALLED, chunk("tool_call_results"), chunk("stop")], "completed"),
    (
        "openai-chat",
        [CALLED, chunk(content="And"), chunk("tool_calls", tool_calls=[{**PIECE, "id": "c2"}])],
        "suspended",
    ),
    ("openai-responses", response("completed"), "suspended"),
    ("openai-responses", response("incomplete"), "completed"),
    ("anthropic", message(BLOCK), "suspended"),
    (
        "anthropic",
        message(BLOCK, {"type": "mcp_tool_result", "tool_use_id": "c1", "content": "21"}),
        "completed",
    ),
]


@pytest.mark.parametrize(("speaks", "messages", "status"), CASES)
def test_run_waits_for_a_call_of_the_client(speaks: str, messages: list[dict[str, Any]], status: str) -> None:
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in messages).encode()
    *_, end = events_of(translate([body], speaks=speaks))
    assert end["data"]["status"] == status
