"""Failures within streams of chat completions, in the shapes of many servers, before the usual `[DONE]`.

A failure is never the proper end of an answer, even where `[DONE]` follows it. Its text stays here.
"""

import json
from typing import Any

from cases import for_each
from streams import events_of, translate
from streamweir import Translator

SECRET = "sk-bad"

DONE = b"data: [DONE]\n\n"


def named(message: dict[str, Any]) -> bytes:
    return b"event: error\n" + unnamed(message)


def unnamed(message: object) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def base_resp(code: int, **fields: Any) -> bytes:
    of_chunk = {"id": "c", "object": "chat.completion.chunk", "choices": None, **fields}
    return unnamed({**of_chunk, "base_resp": {"status_code": code, "status_msg": SECRET}})


def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return unnamed({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice]})


CHUNK = chunk({"content": "Hi"})
STOP = chunk({}, "stop")
FAILURES: dict[str, tuple[bytes, str]] = {
    "llama.cpp": (
        b'error: {"code":400,"message":"exceeds the context size sk-bad","type":"invalid_request_error"}\n\n',
        "CONTEXT_LENGTH_EXCEEDED",
    ),
    "gpustack": (b'error: {"detail":"sk-bad","error":{"message":"sk-bad"}}\n\n', "UPSTREAM_ERROR"),
    "a name alone": (b"event: error\ndata: it broke: sk-bad\n\n", "UPSTREAM_ERROR"),
    "a name": (named({"message": SECRET, "code": 429}), "RATE_LIMITED"),
    "groq": (
        named({"error": {"message": SECRET, "code": "tool_use_failed", "status_code": 400}}),
        "UPSTREAM_REJECTED",
    ),
    "dashscope": (unnamed({"code": "Arrearage", "message": SECRET, "request_id": "r"}), "QUOTA_EXCEEDED"),
    "fastapi": (unnamed({"detail": SECRET}), "UPSTREAM_ERROR"),
    "cloudflare": (
        unnamed({"errors": [{"message": SECRET, "code": 8001}], "success": False}),
        "UPSTREAM_ERROR",
    ),
    "spark": (unnamed({"code": 11200, "message": SECRET, "sid": "s"}), "UPSTREAM_ERROR"),
    "google": (unnamed([{"error": {"code": 429, "message": SECRET}}]), "RATE_LIMITED"),
    "minimax": (base_resp(1002), "RATE_LIMITED"),
    "minimax with usage": (base_resp(1008, usage={"total_tokens": 3}), "QUOTA_EXCEEDED"),
    "minimax's filter": (base_resp(1027), "CONTENT_FILTERED"),
    "minimax's own": (base_resp(1013), "UPSTREAM_ERROR"),
}


def read(body: bytes) -> tuple[str, list[str]]:
    output = translate([body], speaks="openai-chat")
    assert SECRET.encode() not in output
    events = events_of(output)
    return events[-1]["data"]["status"], [e["data"]["code"] for e in events if e["type"] == "error"]


@for_each("name", FAILURES)
def test_failure_within_a_chat_stream_ends_it(name: str) -> None:
    failure, code = FAILURES[name]
    assert read(CHUNK + failure + DONE) == ("error", [code])
    assert read(CHUNK + failure) == ("error", [code])
    assert read(failure + DONE)[0] == "error"
    assert read(failure) == ("error", [code])


@for_each("name", FAILURES)
def test_failure_copied_to_a_chat_client_holds_no_text_of_the_upstream(name: str) -> None:
    copying = Translator(speaks="openai-chat", answers="openai-chat", framing="sse")
    written = copying.feed(CHUNK + FAILURES[name][0] + DONE) + copying.close()
    assert written.startswith(CHUNK)
    assert SECRET.encode() not in written


@for_each("message", [{"detail": "a step failed"}, {"code": 11200, "message": "a step failed"}])
def test_unknown_message_of_a_failure_before_a_finish_reason_does_not_end_a_chat_stream(
    message: dict[str, Any],
) -> None:
    assert read(CHUNK + unnamed(message) + STOP + DONE) == ("completed", [])


def test_base_resp_of_success_adds_no_event() -> None:
    chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    plain = translate([unnamed(chunk) + DONE], speaks="openai-chat")
    answered = {**chunk, "base_resp": {"status_code": 0, "status_msg": ""}}
    assert translate([unnamed(answered) + DONE], speaks="openai-chat") == plain
