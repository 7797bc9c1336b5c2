"""A limit or a filter ends an answer with calls for the client: the end keeps its word in every protocol, and
a call whose arguments were cut off is not handed over.

Source: the standard protocol 1.1, section 5 (length limits and filters), section 3 rules 5 and 8.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cases import case, for_each
from streams import events_of, translate

WHOLE, CUT = '{"city": "Oslo"}', '{"city": "Os'
WORDS = {"length": "LENGTH_LIMIT", "content_filter": "CONTENT_FILTERED"}


def sse(*messages: dict[str, Any]) -> bytes:
    return "".join(f"data: {json.dumps(message)}\n\n" for message in messages).encode()


def openai_chat(given: str, word: str) -> bytes:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    call = {"index": 0, "id": "t", "function": {"name": "book", "arguments": given}}
    return sse(chunk({"content": "Hi"}), chunk({"tool_calls": [call]}), chunk({}, word)) + b"data: [DONE]\n\n"


def openai_whole(given: str, word: str) -> bytes:
    call = {"id": "t", "type": "function", "function": {"name": "book", "arguments": given}}
    message = {"role": "assistant", "content": "Hi", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": word}
    return json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode()


def anthropic(given: str, word: str) -> bytes:
    call = {"type": "tool_use", "id": "t", "name": "book", "input": {}}
    piece = {"type": "input_json_delta", "partial_json": given}
    reason = {"length": "max_tokens", "content_filter": "refusal"}[word]
    return sse(
        {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "content_block_start", "index": 1, "content_block": call},
        {"type": "content_block_delta", "index": 1, "delta": piece},
        {"type": "content_block_stop", "index": 1},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {}},
        {"type": "message_stop"},
    )


def responses(given: str, word: str) -> bytes:
    status = "completed" if given == WHOLE else "incomplete"
    item = {"type": "function_call", "id": "f", "call_id": "t", "name": "book"}
    response = {"id": "r", "object": "response", "status": "in_progress", "output": []}
    reason = {"length": "max_output_tokens", "content_filter": "content_filter"}[word]
    end = {**response, "status": "incomplete", "incomplete_details": {"reason": reason}}
    text = {"item_id": "m", "output_index": 0, "content_index": 0, "delta": "Hi"}
    return sse(
        {"type": "response.created", "response": response},
        {"type": "response.output_text.delta", **text},
        {"type": "response.output_item.added", "output_index": 1, "item": {**item, "arguments": ""}},
        {"type": "response.function_call_arguments.delta", "item_id": "f", "output_index": 1, "delta": given},
        {
            "type": "response.output_item.done",
            "output_index": 1,
            "item": {**item, "arguments": given, "status": status},
        },
        {"type": "response.incomplete", "response": end},
    )


def gemini(given: str, word: str) -> bytes:
    parts = [{"text": "Hi"}, {"functionCall": {"name": "book", "args": json.loads(given)}}]
    reason = {"length": "MAX_TOKENS", "content_filter": "SAFETY"}[word]
    return sse({"candidates": [{"content": {"parts": parts}}]}, {"candidates": [{"finishReason": reason}]})


def ollama(given: str, word: str) -> bytes:
    call = {"function": {"name": "book", "arguments": json.loads(given)}}
    said = {"model": "m", "message": {"content": "Hi", "tool_calls": [call]}, "done": False}
    end = {"model": "m", "message": {"content": ""}, "done": True, "done_reason": word}
    return f"{json.dumps(said)}\n{json.dumps(end)}\n".encode()


Stream = Callable[[str, str], bytes]
STREAMS: dict[str, tuple[str, Stream]] = {
    "openai-chat": ("openai-chat", openai_chat),
    "openai-chat, whole": ("openai-chat", openai_whole),
    "fastgpt": ("fastgpt", openai_chat),
    "anthropic": ("anthropic", anthropic),
    "openai-responses": ("openai-responses", responses),
    "gemini": ("gemini", gemini),
    "ollama": ("ollama", ollama),
}
OBJECTS = ("gemini", "ollama")
"""The dialects whose arguments are objects: a call arrives whole or does not arrive."""

WRITTEN = {
    "openai-chat": {
        "length": '"finish_reason":"length"',
        "content_filter": '"finish_reason":"content_filter"',
    },
    "anthropic": {"length": '"stop_reason":"max_tokens"', "content_filter": '"stop_reason":"refusal"'},
    "openai-responses": {
        "length": '"incomplete_details":{"reason":"max_output_tokens"}',
        "content_filter": '"incomplete_details":{"reason":"content_filter"}',
    },
    "vercel-ui": {"length": '"finishReason":"length"', "content_filter": '"finishReason":"content-filter"'},
}
"""The word of each chat protocol for a limit and for a filter."""


def cases() -> Iterator[tuple[str, str, str]]:
    for name in STREAMS:
        for given in (WHOLE,) if name in OBJECTS else (WHOLE, CUT):
            for word in WORDS:
                yield name, given, word


@for_each("each", cases())
def test_stream_ended_by_limit_behind_a_call_has_word_and_warning(each: tuple[str, str, str]) -> None:
    name, given, word = each
    dialect, stream = STREAMS[name]
    events = events_of(translate([stream(given, word)], speaks=dialect))
    codes = [event["data"]["message_code"] for event in events if event["type"] == "warning"]
    asked = [event["data"]["interaction_id"] for event in events if event["type"] == "interaction"]
    ends = [event["data"]["error"]["code"] for event in events if event["type"] == "tool_call_end"]
    with case(name, given, word):
        assert codes == [WORDS[word]]
        assert events[-1]["data"]["summary"]["finish_reason"] == word
        assert len(asked) == (given == WHOLE)
        assert ends == ([] if asked else ["TOOL_INCOMPLETE"])
        assert events[-1]["data"]["status"] == ("suspended" if asked else "completed")


@pytest.mark.parametrize("target", WRITTEN)
def test_chat_protocol_given_limit_behind_a_call_writes_its_own_word(target: str) -> None:
    for name, given, word in cases():
        dialect, stream = STREAMS[name]
        for framing in ("sse", "json"):
            options = {"speaks": dialect, "answers": target, "framing": framing, "verbatim": False}
            written = translate([stream(given, word)], **options).decode()
            if framing == "json" and target == "vercel-ui":
                continue
            with case(name, given, word, framing):
                assert WRITTEN[target][word] in written
                assert not re.search(
                    r'"(tool_calls|tool_use|tool-calls)"(?!:)', written.replace('"type":"tool_use"', "")
                )
                assert ("book" in written) >= (given == WHOLE)
                assert len(set(re.findall(r'"id":"((?:fc|mcp)_[^"]*)"', written))) <= 1


@pytest.mark.parametrize("name", ["openai-chat", "anthropic"])
def test_call_with_odd_arguments_and_the_usual_end_is_handed_over(name: str) -> None:
    dialect, stream = STREAMS[name]
    body = stream(CUT, "length").replace(b'"length"', b'"tool_calls"').replace(b'"max_tokens"', b'"tool_use"')
    events = events_of(translate([body], speaks=dialect))
    start = next(event["data"] for event in events if event["type"] == "tool_call_start")
    assert start["arguments"] == {"_raw": CUT}
    assert [event["data"]["interaction_id"] for event in events if event["type"] == "interaction"] == ["t"]
    assert events[-1]["data"]["status"] == "suspended"
