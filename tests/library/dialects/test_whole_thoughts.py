"""Thoughts that come as whole paragraphs are messages of their own: a reader sets them apart."""

import json
from typing import Any

import pytest

from streamweir import convert

WHOLE: dict[str, list[dict[str, Any]]] = {
    "agno": [
        {"event": "ReasoningStep", "run_id": "r", "content": {"reasoning": "First."}},
        {"event": "ReasoningStep", "run_id": "r", "content": {"reasoning": "Then."}},
    ],
    "data-formulator": [
        {"type": "thinking_text", "content": "First."},
        {"type": "thinking_text", "content": "Then."},
    ],
    "dify": [
        {"event": "agent_thought", "id": "t1", "message_id": "m", "thought": "Fir"},
        {"event": "agent_thought", "id": "t1", "message_id": "m", "thought": "First."},
        {"event": "agent_thought", "id": "t2", "message_id": "m", "thought": "Then."},
    ],
    "easyflow": [
        {"domain": "llm", "type": "thinking", "payload": {"delta": "Fir"}},
        {"domain": "llm", "type": "thinking", "payload": {"delta": "st."}},
        {"domain": "llm", "type": "thinking", "payload": {"content": "First."}},
        {"domain": "llm", "type": "thinking", "payload": {"delta": "Th"}},
        {"domain": "llm", "type": "thinking", "payload": {"delta": "en."}},
    ],
    "flowise": [
        {"event": "agentReasoning", "data": [{"agentName": "a", "messages": ["First."]}]},
        {"event": "agentReasoning", "data": [{"agentName": "a", "messages": ["First.", "Then."]}]},
    ],
    "stream-envelope": [
        {"type": "intermediate", "data": "First."},
        {"type": "intermediate", "data": "Then."},
    ],
}


@pytest.mark.parametrize("dialect", WHOLE)
def test_whole_thoughts_are_separate_messages(dialect: str) -> None:
    body = "".join(f"data: {json.dumps(message)}\n\n" for message in WHOLE[dialect]).encode()
    folded = json.loads(convert(body, speaks=dialect, framing="json"))
    assert folded["message"]["thinking"] == "First.\n\nThen."
