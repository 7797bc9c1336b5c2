"""Earlier turns are left out only if the upstream gets the id of the conversation, at every path.

Source: the request contract, section 5.
"""

import json
import uuid
from typing import Any

from cases import case
from streamweir import write_request
from streamweir.codec.registry import process_dialects

THREAD = "thread-of-the-client"
SAME = str(uuid.uuid5(uuid.NAMESPACE_URL, THREAD))
"""The id that upstreams get whose ids are UUIDs."""

EARLIER = "said-in-the-first-turn"
MESSAGES = [
    {"role": "user", "content": EARLIER},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": "And now?"},
]
PATHS: dict[str, tuple[str, ...]] = {
    "data-formulator": tuple(
        f"/api/agent/{route}"
        for route in (
            "analyst-streaming",
            "data-loading-chat",
            "generate-report-chat",
            "get-recommendation-questions",
        )
    ),
    "dify": ("/v1/chat-messages", "/v1/workflows/run", "/v1/workflows/7/run", "/v1/completion-messages"),
    "gemini": ("/v1beta/models/g:streamGenerateContent",),
    "google-adk": ("/run_sse",),
    "langgraph-server": ("/runs/stream", "/threads/7/runs/stream"),
    "llama-workflows": ("/workflows/w/run-nowait",),
    "ollama": ("/api/chat", "/api/generate"),
    "ragflow": (
        *(
            "/api/v1/agents/7/completions",
            "/api/v1/agents/chat/completions",
            "/api/v1/agentbots/7/completions",
        ),
        *(
            "/api/v1/chats/7/completions",
            "/api/v1/chat/completions",
            "/v1/api/completion",
            "/v1/canvas/completion",
        ),
        *("/api/v1/agents_openai/7/chat/completions", "/api/v1/openai/7/chat/completions"),
    ),
}


def written(dialect: str, path: str, **request: Any) -> str:
    mapped = {"appName": "app"} if dialect == "google-adk" else None
    asked = {"messages": MESSAGES, **request}
    return json.dumps(write_request(asked, dialect=dialect, path=path, mapped=mapped))


def test_earlier_turns_are_sent_unless_the_upstream_gets_the_conversation() -> None:
    known = process_dialects()
    names = [name for name in known.readable if known.to_read(name).request_writer is not None]
    assert len(names) >= 20
    for dialect in names:
        for path in PATHS.get(dialect, ("/chat",)):
            with case(dialect, path):
                assert EARLIER in written(dialect, path)
                told = written(dialect, path, thread_id=THREAD)
                assert EARLIER in told or THREAD in told or SAME in told
