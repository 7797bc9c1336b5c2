"""Each part of a request is sent to the upstream, or its name is among those that the client is told."""

import base64
import json
from typing import Any

import pytest

from streamweir.translation.requests import planned_request

THREAD = "11111111-1111-1111-1111-111111111111"
PATHS = {
    "a2a": ("/",),
    "ag-ui": ("/run",),
    "agno": ("/agents/a/runs",),
    "anthropic": ("/v1/messages",),
    "coze": ("/v3/chat",),
    "data-formulator": ("/agent/data-agent-streaming", "/agent/data-loading-chat"),
    "dify": ("/v1/chat-messages", "/v1/workflows/run"),
    "easyflow": ("/chat",),
    "fastgpt": ("/v1/chat/completions",),
    "flowise": ("/prediction/1",),
    "gemini": ("/models/m:streamGenerateContent",),
    "google-adk": ("/run_sse",),
    "langgraph-server": ("/runs/stream",),
    "langserve": ("/stream",),
    "legacy": ("/chat",),
    "llama-workflows": ("/workflows/w/run-nowait",),
    "ollama": ("/api/chat", "/api/generate"),
    "openai-chat": ("/v1/chat/completions",),
    "openai-responses": ("/v1/responses",),
    "ragflow": ("/api/v1/agents/7/completions", "/api/v1/chats/9/completions", "/api/v1/completion"),
    "standard": ("/chat",),
    "stream-envelope": ("/stream",),
    "vercel-data": ("/chat",),
    "vercel-ui": ("/chat",),
}

NAMES = {"SYSTEM": "system", "PICTURE": "files", "BYTES": "files", "EARLIER": "history", "ANSWER": "history"}
"""The texts of the requests that may be lost, with the names under which they are."""

SYSTEM = {"role": "system", "content": "SYSTEM"}
EARLIER = {"role": "user", "content": "EARLIER"}
ANSWER = {"role": "assistant", "content": "ANSWER"}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "f", "arguments": {}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "RESULT"}
ASKED = {"role": "user", "content": "QUESTION"}
PICTURE = {"type": "image", "url": "https://a.example/PICTURE.png"}
BYTES = {"type": "image", "base64": base64.b64encode(b"BYTES").decode(), "media_type": "image/png"}


def with_file(message: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
    return {**message, "content": [{"type": "text", "text": message["content"]}, part]}


NEW: dict[str, list[dict[str, Any]]] = {
    "system first": [SYSTEM, ASKED],
    "system last": [ASKED, SYSTEM],
    "system with a file": [with_file(SYSTEM, PICTURE), ASKED],
    "history": [SYSTEM, EARLIER, ANSWER, ASKED],
    "file in the history": [with_file(EARLIER, PICTURE), ANSWER, ASKED],
    "file of the assistant": [EARLIER, with_file(ANSWER, PICTURE), ASKED],
    "result": [EARLIER, CALL, RESULT],
    "result with a file": [EARLIER, CALL, with_file(RESULT, BYTES)],
    "result with a picture": [EARLIER, CALL, with_file(RESULT, PICTURE)],
    "question behind a result": [EARLIER, CALL, RESULT, ASKED],
    "file behind a result": [EARLIER, CALL, RESULT, with_file(ASKED, BYTES)],
    "two questions": [with_file(EARLIER, PICTURE), with_file(ASKED, BYTES)],
    **{
        f"{kind} by {place}": [with_file(ASKED, {"type": kind, place: value})]
        for kind in ("image", "audio", "video", "file")
        for place, value in (("url", "PICTURE"), ("base64", BYTES["base64"]), ("file_id", "PICTURE"))
    },
}
KNOWN = [name for name in NEW if "history" not in name and "assistant" not in name]
"""The conversations that end with nothing that an upstream knows which has seen the assistant's messages."""


def unsaid(dialect: str, path: str, messages: list[dict[str, Any]], thread_id: str | None) -> list[str]:
    """The texts that are neither sent nor named as lost."""
    body = {"messages": messages, "inputs": {"appName": "app"}, "thread_id": thread_id}
    found = planned_request(body, protocol="standard", dialect=dialect, path=path)
    sent, given = (
        json.dumps(value).replace(str(BYTES["base64"]), "BYTES") for value in (found["requests"], messages)
    )
    texts = (
        ["QUESTION", "RESULT", *NAMES] if thread_id is None else ["QUESTION", "RESULT", "PICTURE", "BYTES"]
    )
    return [
        text for text in texts if text in given and text not in sent and NAMES.get(text) not in found["lost"]
    ]


@pytest.mark.parametrize("name", [*NEW])
@pytest.mark.parametrize("dialect", [*PATHS])
def test_part_of_a_new_conversation_is_sent_or_lost(dialect: str, name: str) -> None:
    for path in PATHS[dialect]:
        assert unsaid(dialect, path, NEW[name], None) == []


@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.parametrize("dialect", [*PATHS])
def test_new_part_of_a_known_conversation_is_sent_or_lost(dialect: str, name: str) -> None:
    for path in PATHS[dialect]:
        assert unsaid(dialect, path, NEW[name], THREAD) == []


@pytest.mark.parametrize(("more", "lost"), [({}, []), ({"topic": "snow"}, ["inputs"])])
def test_inputs_with_a_place_are_not_lost(more: dict[str, str], lost: list[str]) -> None:
    body = {"message": "Hi", "inputs": {"appName": "shop", "userId": "u", **more}}
    found = planned_request(body, protocol="standard", dialect="google-adk", path="/run_sse")
    assert (found["requests"][-1]["body"]["appName"], found["lost"]) == ("shop", lost)
