"""Finish words in every dialect that has a place for them: proper ends, filters, runs that broke off."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from cases import case
from streams import events_of, translate


def sse(*messages: object, names: tuple[str, ...] = ()) -> bytes:
    heads = [f"event: {name}\n" for name in names] or [""] * len(messages)
    return "".join(
        f"{head}data: {json.dumps(message)}\n\n" for head, message in zip(heads, messages, strict=True)
    ).encode()


def openai_chat(word: str) -> bytes:
    delta = {
        "id": "c",
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": "Hi"}}],
    }
    end = {**delta, "choices": [{"index": 0, "delta": {}, "finish_reason": word}]}
    return sse(delta, end) + b"data: [DONE]\n\n"


def openai_chat_within_call(word: str) -> bytes:
    call = {"index": 0, "id": "t", "function": {"name": "f", "arguments": '{"a": 1}'}}
    delta = {"id": "c", "choices": [{"index": 0, "delta": {"tool_calls": [call], "content": "Hi"}}]}
    end = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": word}]}
    return sse(delta, end) + b"data: [DONE]\n\n"


def anthropic(word: str) -> bytes:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    messages: tuple[dict[str, Any], ...] = (
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        *(
            ({"type": "content_block_start", "index": 1, "content_block": call},)
            if word in BROKEN_OFF
            else ()
        ),
        {"type": "message_delta", "delta": {"stop_reason": word}, "usage": {}},
        {"type": "message_stop"},
    )
    return sse(*messages, names=tuple(str(message["type"]) for message in messages))


def gemini(word: str) -> bytes:
    parts = {"content": {"parts": [{"text": "Hi"}]}}
    return sse({"candidates": [parts]}, {"candidates": [{"finishReason": word}]})


def ollama(word: str) -> bytes:
    said = {"model": "m", "message": {"content": "Hi"}, "done": False}
    end = {"model": "m", "message": {"content": ""}, "done": True, "done_reason": word}
    return f"{json.dumps(said)}\n{json.dumps(end)}\n".encode()


def google_adk(word: str) -> bytes:
    event = {"id": "e", "invocationId": "i", "author": "a", "content": {"parts": [{"text": "Hi"}]}}
    return sse({**event, "finishReason": word})


def vercel_ui(word: str) -> bytes:
    texts: tuple[dict[str, str], ...] = ({"type": "text-start", "id": "1"},)
    texts += ({"type": "text-delta", "id": "1", "delta": "Hi"}, {"type": "text-end", "id": "1"})
    return sse({"type": "start"}, *texts, {"type": "finish", "finishReason": word}) + b"data: [DONE]\n\n"


def vercel_data(word: str) -> bytes:
    return f'0:"Hi"\nd:{json.dumps({"finishReason": word})}\n'.encode()


def responses(word: str) -> bytes:
    response = {"id": "r", "object": "response", "status": "in_progress", "output": []}
    end = {**response, "status": "incomplete", "incomplete_details": {"reason": word}}
    return sse(
        {"type": "response.created", "response": response},
        {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "delta": "Hi"},
        {"type": "response.incomplete", "response": end},
    )


def langgraph_server(word: str) -> bytes:
    def piece(text: str, **fields: object) -> list[object]:
        return [{"type": "AIMessageChunk", "id": "m", "content": text, **fields}, {"langgraph_node": "n"}]

    end = piece("", response_metadata={"finish_reason": word})
    return sse({"run_id": "r", "attempt": 1}, piece("Hi"), end, names=("metadata", "messages", "messages"))


def legacy(word: str) -> bytes:
    return sse({"type": "token", "content": "Hi"}, {"type": "done", "finish_reason": word})


def stream_envelope(word: str) -> bytes:
    said = {"type": "content", "run_id": "r", "data": {"delta": "Hi"}}
    return sse(said, {"type": "done", "run_id": "r", "data": {"finish_reason": word}})


def easyflow(word: str) -> bytes:
    said = {"protocol": "easyflow-chat", "domain": "llm", "type": "message", "payload": {"delta": "Hi"}}
    end = {"protocol": "easyflow-chat", "domain": "system", "type": "done", "meta": {"finish_reason": word}}
    return sse(said, end, names=("message", "done"))


def standard(word: str) -> bytes:
    said = {"type": "content", "data": {"content": "Hi"}, "metadata": {}}
    end = {"status": "completed", "summary": {"finish_reason": word}}
    return sse(said, {"type": "session_end", "data": end, "metadata": {}})


STREAMS: dict[str, Callable[[str], bytes]] = {
    "openai-chat": openai_chat,
    "fastgpt": openai_chat,
    "ragflow": openai_chat,
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "google-adk": google_adk,
    "vercel-ui": vercel_ui,
    "vercel-data": vercel_data,
    "openai-responses": responses,
    "langgraph-server": langgraph_server,
    "legacy": legacy,
    "stream-envelope": stream_envelope,
    "easyflow": easyflow,
    "standard": standard,
}
BROKEN_OFF = (
    *("abort", "ABORTED", "cancelled", "canceled", "interrupted", "timeout", "networkError"),
    *("insufficient_system_resource", "MALFORMED_FUNCTION_CALL", "malformed-function-call"),
)
FAILED = ("internal_error", "failed", "ERROR")
FILTERS = (
    *("sensitive", "content_filter", "SAFETY", "refusal", "prohibited_content", "BLOCKLIST", "spii"),
    *("recitation", "content-filter"),
)
PROPER = ("stop", "end_turn", "eos_token", "stop_sequence", "STOP", "FinishReason.STOP")


def ending(dialect: str, word: str) -> tuple[dict[str, Any], list[str], dict[str, Any] | None]:
    events = events_of(translate([STREAMS[dialect](word)], speaks=dialect))
    codes = [event["data"]["message_code"] for event in events if event["type"] == "warning"]
    errors = [event["data"] for event in events if event["type"] == "error"]
    return events[-1]["data"], codes, errors[-1] if errors else None


@pytest.mark.parametrize("dialect", STREAMS)
def test_word_for_broken_run_is_an_error(dialect: str) -> None:
    for word in (*BROKEN_OFF, *FAILED):
        with case(word):
            end, _, error = ending(dialect, word)
            assert error is not None
            assert error["code"] == ("UPSTREAM_ERROR" if word in FAILED else "UPSTREAM_TRUNCATED")
            assert (end["status"], error["recoverable"], error["terminal"]) == ("error", True, True)


@pytest.mark.parametrize("dialect", STREAMS)
def test_word_for_filter_completes_with_a_warning(dialect: str) -> None:
    for word in FILTERS:
        with case(word):
            end, codes, _ = ending(dialect, word)
            assert (end["status"], codes) == ("completed", ["CONTENT_FILTERED"])
            assert end["summary"]["finish_reason"] == "content_filter"


@pytest.mark.parametrize("dialect", STREAMS)
def test_word_of_no_list_completes_with_a_warning(dialect: str) -> None:
    for word in ("repetition", "zz_unheard_of"):
        with case(word):
            end, codes, _ = ending(dialect, word)
            assert (end["status"], codes) == ("completed", ["END_UNCONFIRMED"])


@pytest.mark.parametrize("dialect", STREAMS)
def test_word_for_proper_end_has_no_warning(dialect: str) -> None:
    for word in PROPER:
        with case(word):
            end, codes, _ = ending(dialect, word)
            assert (end["status"], codes) == ("completed", [])


@pytest.mark.parametrize("word", BROKEN_OFF)
def test_call_that_was_being_written_is_not_handed_to_the_client(word: str) -> None:
    for body, dialect in ((openai_chat_within_call(word), "openai-chat"), (anthropic(word), "anthropic")):
        events = events_of(translate([body], speaks=dialect))
        assert not [event for event in events if event["type"] == "interaction"]
        assert events[-1]["data"]["status"] == "error"


@pytest.mark.parametrize("target", ["openai-chat", "openai-responses", "anthropic"])
def test_unlisted_word_is_no_error_for_protocols_without_warnings(target: str) -> None:
    written = translate([openai_chat("repetition")], speaks="openai-chat", answers=target, verbatim=False)
    back = events_of(translate([written], speaks=target))
    assert back[-1]["data"]["status"] == "completed"


@pytest.mark.parametrize("name", ["finish_reason", "finishReason"])
def test_chat_chunk_given_either_spelling_of_its_finish_reason_ends_the_answer(name: str) -> None:
    delta = {"id": "c", "choices": [{"index": 0, "delta": {"content": "Hi"}, name: None}]}
    end = {"id": "c", "choices": [{"index": 0, "delta": {}, name: "length"}]}
    events = events_of(translate([sse(delta, end)], speaks="openai-chat"))
    assert not [event for event in events if event["type"] == "data"]
    assert events[-1]["data"]["status"] == "completed"
    assert events[-1]["data"]["summary"]["finish_reason"] == "length"
