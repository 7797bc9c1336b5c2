"""Thinking of a Responses upstream, whatever the type of its parts."""

import json
from typing import Any

import pytest

from streams import events_of, translate


@pytest.mark.parametrize(("given", "thinking"), [("Hm.", "Hm."), (5, "5"), ({}, ""), ([5, None], "")])
def test_reasoning_that_is_no_list_of_parts_is_read(given: object, thinking: str) -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "content": given}
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]}
    messages: list[dict[str, Any]] = [
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [answer]}},
    ]
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in messages).encode()
    events = events_of(translate([body], speaks="openai-responses"))
    found = [event["data"]["content"] for event in events if event["type"] == "thinking"]
    assert "".join(found) == thinking
    assert not [event for event in events if event["type"] == "warning"]
