"""Opaque values that decoders read: each with the thinking, text or call that it belongs to."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import events_of, one_byte_each, random_cuts, translate
from streamweir import write_request
from streamweir.codec.families.openai_reasoning import Reasoning
from streamweir.requests.merged_details import merged_details
from streamweir.testing import check_stream


def sse(*messages: Any) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(message).encode() for message in messages)


def whole_of(out: bytes) -> list[tuple[Any, ...]]:
    """Return kind, text or name, and opaque of what was sent; texts next to each other are one."""
    found: list[tuple[Any, ...]] = []
    for event in events_of(out):
        data = event["data"]
        if event["type"] == "tool_call_start":
            found.append(("call", data["tool_name"], data.get("opaque")))
        elif event["type"] in ("thinking", "content") and (data["content"] or "opaque" in data):
            last = found[-1] if found else None
            if last is not None and last[0] == event["type"] and last[2] is None:
                found[-1] = (last[0], last[1] + data["content"], data.get("opaque"))
            else:
                found.append((event["type"], data["content"], data.get("opaque")))
    return found


def read(name: str, body: bytes) -> list[tuple[Any, ...]]:
    out = translate([body], speaks=name)
    assert check_stream(out, framing="ndjson") == []
    assert translate(one_byte_each(body), speaks=name) == out
    for seed in range(5):
        assert translate([*random_cuts(body, seed)], speaks=name) == out
    return whole_of(out)


# Anthropic


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any], stop: bool = True) -> list[Any]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        *([{"type": "content_block_stop", "index": index}] if stop else []),
    ]


def thought(index: int, *texts: str, signature: str, stop: bool = True) -> list[Any]:
    deltas: list[dict[str, Any]] = [{"type": "thinking_delta", "thinking": text} for text in texts]
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas, stop=stop)


def anthropic(*blocks: list[Any], reason: str = "end_turn") -> bytes:
    start = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m"}
    return sse(
        {"type": "message_start", "message": start},
        *(message for one in blocks for message in one),
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    )


def signed(signature: str) -> dict[str, Any]:
    return {"anthropic": {"signature": signature}}


TEXT = block(9, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"})
CALL = block(
    8,
    {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {}},
    {"type": "input_json_delta", "partial_json": "{}"},
)


def test_anthropic_two_thinking_blocks_keep_their_own_signatures() -> None:
    body = anthropic(
        thought(0, "Let", " me", signature="one="),
        block(1, {"type": "redacted_thinking", "data": "cipher/+="}),
        thought(2, "And", signature="two="),
        TEXT,
        thought(3, signature="three="),
        CALL,
        reason="tool_use",
    )
    assert read("anthropic", body) == [
        ("thinking", "Let me", signed("one=")),
        ("thinking", "", {"anthropic": {"redacted": "cipher/+="}}),
        ("thinking", "And", signed("two=")),
        ("content", "Hi", None),
        ("thinking", "", signed("three=")),
        ("call", "search", None),
    ]


@pytest.mark.parametrize("behind", [TEXT, []])
def test_anthropic_block_that_is_not_closed_keeps_its_signature(behind: list[Any]) -> None:
    body = anthropic(thought(0, "Hm", signature="s", stop=False), behind)
    assert read("anthropic", body)[0] == ("thinking", "Hm", signed("s"))


def test_anthropic_thinking_without_a_signature_has_no_opaque() -> None:
    assert read("anthropic", anthropic(thought(0, "Hm", signature=""), TEXT)) == [
        ("thinking", "Hm", None),
        ("content", "Hi", None),
    ]


def test_anthropic_whole_message_keeps_each_signature() -> None:
    content = [
        {"type": "thinking", "thinking": "Hm", "signature": "one"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "", "signature": "two"},
        {"type": "text", "text": "Hi"},
    ]
    message = {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "content": content,
        "stop_reason": "end_turn",
    }
    assert read("anthropic", json.dumps(message).encode()) == [
        ("thinking", "Hm", signed("one")),
        ("thinking", "", {"anthropic": {"redacted": "x"}}),
        ("thinking", "", signed("two")),
        ("content", "Hi", None),
    ]


# Gemini


def gemini(*parts: list[dict[str, Any]], finish: str = "STOP") -> bytes:
    frames: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": part}, "index": 0}], "responseId": "r"}
        for part in parts
    ]
    frames[-1]["candidates"][0]["finishReason"] = finish
    return sse(*frames)


def sealed(signature: str) -> dict[str, Any]:
    return {"gemini": {"thoughtSignature": signature}}


def test_gemini_signature_is_on_the_part_that_has_one() -> None:
    body = gemini(
        [{"text": "Hm", "thought": True}],
        [{"text": "", "thought": True, "thoughtSignature": "A"}],
        [{"text": "I "}],
        [{"text": "look", "thoughtSignature": "B"}],
        [
            {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "C"},
            {"functionCall": {"name": "g", "args": {"x": 1}}},
        ],
        [{"text": "", "thoughtSignature": "D"}],
        [{"thoughtSignature": "E"}],
        [{"executableCode": {"code": "1"}, "thoughtSignature": "F"}],
    )
    assert read("gemini", body) == [
        ("thinking", "Hm", sealed("A")),
        ("content", "I look", sealed("B")),
        ("call", "f", sealed("C")),
        ("call", "g", None),
        ("content", "", sealed("D")),
        ("content", "", sealed("E")),
        ("call", "code_execution", sealed("F")),
    ]


def test_gemini_signature_in_snake_case_is_read() -> None:
    call = {"function_call": {"name": "f", "args": {"a_b": 1}}, "thought_signature": "A_b-"}
    frame = {"candidates": [{"content": {"parts": [call]}, "finish_reason": "STOP"}]}
    assert read("gemini", sse(frame)) == [("call", "f", sealed("A_b-"))]


@pytest.mark.parametrize("value", ["", None, 7, {}])
def test_gemini_signature_of_another_type_is_left_out(value: Any) -> None:
    assert read("gemini", gemini([{"text": "Hi", "thoughtSignature": value}])) == [("content", "Hi", None)]


# OpenAI chat


def chat(*deltas: dict[str, Any], finish: str = "stop") -> bytes:
    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        return {"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}

    return sse(*map(chunk, deltas), chunk({}, finish)) + b"data: [DONE]\n\n"


def detail(**fields: Any) -> dict[str, Any]:
    return {"reasoning_details": [{"type": "reasoning.text", "index": 0, **fields}]}


def call(**fields: Any) -> dict[str, Any]:
    function = {"name": "search", "arguments": "{}"}
    return {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": function, **fields}]}


def of_chat(**value: Any) -> dict[str, Any]:
    return {"openai-chat": value}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_openai_chat_reasoning_is_closed_with_the_name_of_its_field(field: str) -> None:
    texts = [{field: piece, "content": None} for piece in ("Let", " me", " see", ".", "..")]
    body = chat({"role": "assistant", field: ""}, *texts, {"content": "Hi", field: None}, {"content": " all"})
    assert read("openai-chat", body) == [
        ("thinking", "Let me see...", of_chat(field=field)),
        ("content", "Hi all", None),
    ]


def test_openai_chat_empty_reasoning_before_a_call_is_kept() -> None:
    body = chat({"role": "assistant", "content": "", "reasoning_content": ""}, call(), finish="tool_calls")
    assert read("openai-chat", body) == [
        ("thinking", "", of_chat(field="reasoning_content")),
        ("call", "search", None),
    ]


def test_openai_chat_empty_reasoning_in_every_chunk_comes_once() -> None:
    body = chat(*({"content": piece, "reasoning_content": ""} for piece in "abc"))
    assert read("openai-chat", body) == [
        ("thinking", "", of_chat(field="reasoning_content")),
        ("content", "abc", None),
    ]


def test_openai_chat_reasoning_that_is_null_is_none() -> None:
    body = chat({"content": "a", "reasoning_content": None}, {"content": "b", "reasoning": None})
    assert read("openai-chat", body) == [("content", "ab", None)]


def test_openai_chat_details_are_merged_by_their_index() -> None:
    body = chat(
        {"reasoning": "Let", **detail(text="Let", format="anthropic-claude-v1")},
        {"reasoning": " me", **detail(text=" me", format="anthropic-claude-v1")},
        detail(signature="sig=", format="anthropic-claude-v1"),
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "r1", "index": 1}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "So", "index": 2}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": " it is", "index": 2}]},
        {"content": "Hi"},
    )
    assert read("openai-chat", body) == [
        (
            "thinking",
            "Let meSo it is",
            of_chat(
                field="reasoning",
                details=[
                    {
                        "type": "reasoning.text",
                        "index": 0,
                        "text": "Let me",
                        "format": "anthropic-claude-v1",
                        "signature": "sig=",
                    },
                    {"type": "reasoning.encrypted", "data": "x", "id": "r1", "index": 1},
                    {"type": "reasoning.summary", "summary": "So it is", "index": 2},
                ],
            ),
        ),
        ("content", "Hi", None),
    ]


def test_openai_chat_details_behind_the_text_are_kept() -> None:
    body = chat(
        {"reasoning": "Let", **detail(text="Let")},
        {"content": "Hi"},
        detail(signature="late="),
        {"content": " all"},
    )
    parts = read("openai-chat", body)
    assert [part[:2] for part in parts] == [
        ("thinking", "Let"),
        ("content", "Hi"),
        ("thinking", ""),
        ("content", " all"),
    ]
    details = [item for part in parts if part[2] for item in part[2]["openai-chat"]["details"]]
    assert merged_details(details) == [
        {"type": "reasoning.text", "index": 0, "text": "Let", "signature": "late="}
    ]


def test_openai_chat_details_behind_the_text_are_sent_back_whole() -> None:
    opening = {"type": "reasoning.text", "index": 0, "text": "Let"}
    late = {"type": "reasoning.text", "index": 0, "signature": "late="}
    parts = [
        {"type": "reasoning", "text": "Let", "opaque": of_chat(field="reasoning", details=[opening])},
        {"type": "text", "text": "Hi"},
        {"type": "reasoning", "text": "", "opaque": of_chat(field="reasoning", details=[late])},
    ]
    messages = [{"role": "assistant", "content": parts}, {"role": "user", "content": "And now?"}]
    (sent,) = write_request({"messages": messages}, dialect="openai-chat")
    assert sent["body"]["messages"][0]["reasoning_details"] == [{**opening, "signature": "late="}]


def test_openai_chat_empty_details_are_kept() -> None:
    body = chat({"content": "", "reasoning_details": []}, call(), finish="tool_calls")
    assert read("openai-chat", body)[0] == ("thinking", "", of_chat(details=[]))


def test_openai_chat_signature_of_a_call_is_kept() -> None:
    extra = {"google": {"thought_signature": "AbC="}}
    body = chat(
        call(extra_content=extra),
        {"tool_calls": [{"index": 1, "id": "d", "function": {"name": "other", "arguments": "{}"}}]},
        finish="tool_calls",
    )
    assert read("openai-chat", body) == [
        ("call", "search", of_chat(extra_content=extra)),
        ("call", "other", None),
    ]


def test_openai_chat_whole_answer_keeps_all() -> None:
    extra = {"google": {"thought_signature": "AbC="}}
    message = {
        "role": "assistant",
        "content": "Hi",
        "reasoning_content": "",
        "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}],
        **call(extra_content=extra),
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = json.dumps({"id": "c", "object": "chat.completion", "choices": [choice]}).encode()
    assert read("openai-chat", body) == [
        ("thinking", "", of_chat(field="reasoning_content", details=message["reasoning_details"])),
        ("content", "Hi", None),
        ("call", "search", of_chat(extra_content=extra)),
    ]


def test_openai_chat_whole_answer_behind_its_stream_does_not_repeat_the_details() -> None:
    message = {"role": "assistant", "content": "Hi", "reasoning": "Let", **detail(text="Let")}
    chunks = [
        {"choices": [{"index": 0, "delta": {"reasoning": "Let", **detail(text="Let")}}]},
        {"choices": [{"index": 0, "delta": {"content": "Hi"}}]},
        {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]},
    ]
    body = sse(*({"id": "c", "object": "chat.completion.chunk", **chunk} for chunk in chunks))
    assert [part[0] for part in read("openai-chat", body)] == ["thinking", "content"]


def test_openai_chat_two_messages_in_a_row_have_an_opaque_each() -> None:
    body = sse(
        *(
            {"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
            for choice in (
                {"delta": {"reasoning_content": ""}},
                {"delta": call(), "finish_reason": "tool_call_results"},
                {"delta": {"reasoning_content": ""}},
                {"delta": {"content": "Hi"}, "finish_reason": "stop"},
            )
        )
    )
    assert [part for part in read("openai-chat", body) if part[0] == "thinking"] == [
        ("thinking", "", of_chat(field="reasoning_content"))
    ] * 2


def test_openai_chat_details_over_the_room_are_lost_and_the_text_is_not() -> None:
    reasoning = Reasoning("openai-chat", room=10_000)
    texts = [
        event
        for number in range(100)
        for event in reasoning.read({"reasoning": "x" * 1000, **detail(text="x" * 1000)}, None, None)
    ]
    assert len(texts) == 100
    (closing,) = reasoning.close(None)
    assert closing.opaque == of_chat(field="reasoning")


@pytest.mark.parametrize("index", [None, 0])
@pytest.mark.parametrize("data", ["same", "other"])
def test_merged_details_values_that_are_whole_are_not_joined(index: int | None, data: str) -> None:
    place = {} if index is None else {"index": index}
    items = [
        {"type": "reasoning.encrypted", "data": "same", **place},
        {"type": "reasoning.encrypted", "data": data, **place},
    ]
    assert merged_details(items) == items


def test_merged_details_second_block_of_an_index_begins_behind_a_signature() -> None:
    items = [
        {"type": "reasoning.text", "text": "a", "signature": "1", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0},
        {"type": "reasoning.text", "signature": "2", "index": 0},
    ]
    assert merged_details(items) == [
        {"type": "reasoning.text", "text": "a", "signature": "1", "index": 0},
        {"type": "reasoning.text", "text": "b", "index": 0, "signature": "2"},
    ]


DETAILS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["reasoning.text", "reasoning.encrypted", "reasoning.summary"])},
        optional={
            "index": st.sampled_from([0, 1, "a", None]),
            "text": st.text("ab", max_size=3) | st.none(),
            "summary": st.text("cd", max_size=3),
            "data": st.text("ef", max_size=3),
            "signature": st.sampled_from(["s", "", None]),
            "id": st.sampled_from(["1", "2", None]),
        },
    ),
    max_size=12,
)


@given(DETAILS)
def test_merged_details_of_merged_ones_are_themselves(items: list[dict[str, Any]]) -> None:
    merged = merged_details(items)
    assert merged_details(merged) == merged
    for name in ("text", "summary", "data"):
        assert sorted("".join(str(item.get(name) or "") for item in merged)) == sorted(
            "".join(str(item.get(name) or "") for item in items)
        )


PIECES = st.lists(
    st.sampled_from(["reason", "empty", "text", "call", "detail", "encrypted", "nothing"]), max_size=12
)


@given(PIECES, st.sampled_from(["reasoning_content", "reasoning"]), st.randoms(use_true_random=False))
def test_openai_chat_any_stream_closes_each_block_once(pieces: list[str], field: str, random: Any) -> None:
    deltas: dict[str, dict[str, Any]] = {
        "reason": {field: "r"},
        "empty": {field: "", "content": ""},
        "text": {"content": "t"},
        "call": call(),
        "detail": {field: "r", **detail(text="r")},
        "encrypted": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "id": "i"}]},
        "nothing": {},
    }
    body = chat(*(deltas[piece] for piece in pieces))
    cuts = sorted(random.randrange(len(body)) for _ in range(5))
    out = translate(
        [body[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(body)], strict=True)],
        speaks="openai-chat",
    )
    assert check_stream(out, framing="ndjson") == []
    assert out == translate([body], speaks="openai-chat")
    is_open, closed = False, 0
    for event in events_of(out):
        if event["type"] == "thinking":
            is_open = "opaque" not in event["data"]
            closed += not is_open
        elif event["type"] == "tool_call_start" or event["data"].get("content"):
            assert not is_open
    assert bool(closed) == any(piece in ("reason", "empty", "detail", "encrypted") for piece in pieces)
