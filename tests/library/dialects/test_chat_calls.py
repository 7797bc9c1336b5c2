"""Calls in chunks of chat completions whose ids and indices do not tell the calls apart."""

import json
from typing import Any

from cases import for_each
from streams import events_of, sse_messages, translate
from streamweir.dialects.openai_chat.turn import OpenAIChatTurn
from streamweir.framing import Frame

Call = tuple[str, dict[str, Any]]


def piece(index: int | None, call_id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    fields = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
    return {field: value for field, value in fields.items() if value is not None}


def frame(delta: dict[str, Any], reason: str | None = None) -> bytes:
    message = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def body_of(*chunks: list[dict[str, Any]]) -> bytes:
    pieces = b"".join(frame({"tool_calls": chunk}) for chunk in chunks)
    return pieces + frame({}, "tool_calls") + b"data: [DONE]\n\n"


ONE, TWO = '{"x": 1}', '{"x": 2}'
BOTH: list[Call] = [("f", {"x": 1}), ("f", {"x": 2})]

STREAMS: dict[str, tuple[list[list[dict[str, Any]]], list[Call]]] = {
    "a new id with each piece (vLLM)": (
        [[piece(0, "a", "f", "")], [piece(0, "b", None, '{"x"')], [piece(0, "c", None, ": 1}")]],
        BOTH[:1],
    ),
    "the rest of a second call at an index of its own": (
        [[piece(0, "a", "f", ONE)], [piece(0, "b", "f", "")], [piece(1, None, None, TWO)]],
        BOTH,
    ),
    "one id for all calls": ([[piece(0, "a", "f", ONE)], [piece(1, "a", "f", TWO)]], BOTH),
    "one id and equal arguments": ([[piece(0, "a", "f", ONE)], [piece(1, "a", "f", ONE)]], [BOTH[0]] * 2),
    "one index and no ids": ([[piece(0, None, "f", ONE)], [piece(0, None, "f", TWO)]], BOTH),
    "one index, no ids, objects": ([[piece(0, None, "f", {"x": 1})], [piece(0, None, "f", {"x": 2})]], BOTH),
    "one index for two ids": ([[piece(0, "a", "f", ONE)], [piece(0, "b", "f", TWO)]], BOTH),
    "whole arguments behind the pieces": (
        [[piece(0, "a", "f", '{"x":')], [piece(0, None, None, "1}")], [piece(0, "a", "f", ONE)]],
        BOTH[:1],
    ),
    "the same chunk twice": ([[piece(0, "a", "f", ONE)], [piece(0, "a", "f", ONE)]], BOTH[:1]),
    "two pieces of a call in one chunk (vLLM)": (
        [[piece(0, "a", "f", ""), piece(0, None, None, '{"x"')], [piece(0, None, None, ": 1}")]],
        BOTH[:1],
    ),
    "a name with each piece": ([[piece(0, "a", "f", '{"x"')], [piece(0, "a", "f", ": 1}")]], BOTH[:1]),
}


@for_each("name", STREAMS)
def test_calls_with_wrong_ids_are_separated_by_names_and_whole_arguments(name: str) -> None:
    chunks, calls = STREAMS[name]
    events = events_of(translate([body_of(*chunks)], speaks="openai-chat", stream_tool_arguments=True))
    started = [event["data"] for event in events if event["type"] == "tool_call_start"]
    assert [(call["tool_name"], call["arguments"]) for call in started] == calls
    asked = [event["data"]["interaction_id"] for event in events if event["type"] == "interaction"]
    assert asked == [call["tool_id"] for call in started]
    assert len({*asked}) == len(calls)
    pieces: dict[str, str] = {}
    for event in events:
        if event["type"] == "tool_call_delta":
            data = event["data"]
            pieces[data["tool_id"]] = pieces.get(data["tool_id"], "") + data["arguments_delta"]
    assert [json.loads(pieces[tool_id]) for tool_id in asked] == [given for _, given in calls]


@for_each("name", STREAMS)
def test_kept_turn_of_such_calls_has_them_or_is_not_kept(name: str) -> None:
    chunks, calls = STREAMS[name]
    collector = OpenAIChatTurn(1 << 20)
    for message in sse_messages(body_of(*chunks)):
        collector.take(Frame(json.dumps(message).encode()))
    if (turn := collector.turn()) is not None:
        kept = [call["function"] for call in json.loads(turn[0])["tool_calls"]]
        assert [(call["name"], _object(call["arguments"])) for call in kept] == calls


def _object(arguments: Any) -> Any:
    return json.loads(arguments) if isinstance(arguments, str) else arguments
