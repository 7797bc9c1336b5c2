"""RAGFlow's chunks beside those of others, in which the same words mean nothing."""

import json
from typing import Any

import pytest

from streams import events_of, sse_messages, translate

RAGFLOW = {"role": "assistant", "content": None, "function_call": None, "tool_calls": None}


def stream(*deltas: dict[str, Any], **fields: Any) -> bytes:
    chunks = [
        {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}], **fields}
        for delta in deltas
    ]
    return b"".join(b"data: %b\n\n" % json.dumps(chunk).encode() for chunk in chunks) + b"data: [DONE]\n\n"


def read(body: bytes) -> list[dict[str, Any]]:
    return [{"type": event["type"], **event["data"]} for event in events_of(translate([body]))]


@pytest.mark.parametrize(
    "text", ["**ERROR**: is what it said", "<think>so</think>", "*'Search'* is running..."]
)
def test_text_of_another_server_is_the_answer_in_any_form(text: str) -> None:
    events = read(stream({"content": "a"}, {"content": text}))
    assert "".join(event["content"] for event in events if event["type"] == "content") == f"a{text}"
    assert events[-1]["status"] == "completed"


def test_texts_are_looked_into_from_the_first_chunk_of_ragflow_on() -> None:
    pieces = [*["word "] * 40, "<th", "ink>so", "</think>", "end\n**ERR", "OR**: no"]
    events = read(stream(*({**RAGFLOW, "content": piece} for piece in pieces), system_fingerprint=""))
    assert "".join(e["content"] for e in events if e["type"] == "content").startswith("word " * 40 + "end")
    assert "".join(e["content"] for e in events if e["type"] == "thinking") == "so"
    assert [e["code"] for e in events if e["type"] == "error"] == ["UPSTREAM_ERROR"]


@pytest.mark.parametrize(
    "field", [{"reference": "see 3"}, {"final_content": 7}, {"waiting_for_user": True}, {"error": {"a": 1}}]
)
def test_field_of_another_server_with_the_same_name_is_kept(field: dict[str, Any]) -> None:
    (found,) = [event["data"] for event in read(stream({"content": "a", **field})) if event["type"] == "data"]
    assert found == {"name": "delta", "value": field}


def test_citations_are_written_under_ragflows_name_where_its_clients_want_them() -> None:
    chunk = {"id": "c1", "content": "five days", "document_name": "Handbook.pdf"}
    body = stream({**RAGFLOW, "reference": [chunk], "final_content": "Five."}, system_fingerprint="")
    options = {"openai-chat": {"references": "reference"}}
    written = translate(
        [body], speaks="openai-chat", answers="openai-chat", framing="sse", protocol_options=options
    )
    deltas = [chunk["choices"][0]["delta"] for chunk in sse_messages(written)]
    assert [delta["reference"] for delta in deltas if "reference" in delta] == [[chunk]]
    assert "".join(delta.get("content", "") for delta in deltas) == "Five."
