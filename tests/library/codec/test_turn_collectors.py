"""The turn of an answer is the message as the upstream made it, byte for byte, however it is cut."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from cases import for_each
from streams import (
    Recorded,
    dialect_of,
    events_of,
    one_byte_each,
    random_cuts,
    recorded_streams,
    translate,
)
from streamweir.codec.registry import process_dialects
from streamweir.codec.turn_collector import CollectedTurn, TurnCollector
from streamweir.dialects.openai_chat.turn import OpenAIChatTurn
from streamweir.events import Content, Event, Stamp
from streamweir.framing import Frame
from streamweir.translation.normalizer import StreamNormalizer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader
from streamweir.translation.sink import EventTap

WHOLE = 1 << 20
COLLECTED = [stream for stream in recorded_streams() if process_dialects()[stream.dialect].turn_collector]

BIG = "12345678901234567890123"
"""A number that no double holds."""


def collector_of(dialect: str, pieces: Iterable[bytes], max_bytes: int = WHOLE) -> TurnCollector:
    """Return the collector of a stream that has been read to its end."""
    make = process_dialects()[dialect].turn_collector
    assert make is not None
    collector = make(max_bytes)
    stream = StreamNormalizer(StreamReader(dialect), Pipeline((), request_id="req_1"))
    stream.collect(collector)
    for piece in pieces:
        stream.feed(piece)
    stream.close()
    return collector


def turn_of(dialect: str, *messages: object) -> CollectedTurn | None:
    """Return the turn of an SSE stream of messages: JSON values, or JSON texts."""
    texts = [message if isinstance(message, str) else json.dumps(message) for message in messages]
    body = "".join(f"data: {text}\n\n" for text in texts).encode()
    turn = collector_of(dialect, [body]).turn()
    assert collector_of(dialect, one_byte_each(body)).turn() == turn
    return turn


def collected(dialect: str, *messages: object) -> CollectedTurn:
    turn = turn_of(dialect, *messages)
    assert turn is not None
    return turn


@for_each("stream", COLLECTED, group=dialect_of)
def test_turn_does_not_depend_on_how_the_stream_is_cut(stream: Recorded) -> None:
    whole = collector_of(stream.dialect, [stream.body])
    if len(stream.body) < 20_000:
        assert collector_of(stream.dialect, one_byte_each(stream.body)).turn() == whole.turn()
    for seed in range(3):
        cut = collector_of(stream.dialect, random_cuts(stream.body, seed))
        assert (cut.turn(), cut.is_complete) == (whole.turn(), whole.is_complete)


@for_each("stream", COLLECTED, group=dialect_of)
def test_turn_larger_than_allowed_is_not_collected(stream: Recorded) -> None:
    whole = collector_of(stream.dialect, [stream.body]).turn()
    if whole is not None:
        assert collector_of(stream.dialect, [stream.body], len(whole.message) - 1).turn() is None


@pytest.mark.parametrize("dialect", ["anthropic", "gemini", "openai-chat", "openai-responses", "ollama"])
@pytest.mark.parametrize("data", [b"data: 7\n\n", b"data: [[]]\n\n", b'data: {"choices": [[]]}\n\n', b"x"])
def test_turn_of_another_body_is_none(dialect: str, data: bytes) -> None:
    assert collector_of(dialect, [data]).turn() is None


class _Messages(TurnCollector):
    """Keeps the messages of a stream, one of each form."""

    def __init__(self) -> None:
        super().__init__(WHOLE)
        self.by_form: dict[str, Any] = {}

    def _take(self, message: Any, data: bytes) -> None:
        if len(data) < 4000:
            self.by_form.setdefault(str([place for place, _ in with_odd_values(message)]), message)

    def _turn(self) -> None:
        return None

    def _drop(self) -> None:
        self.by_form.clear()


def with_odd_values(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield a JSON value with each value in it replaced by values of other types, or left out."""
    yield from ((place, odd) for odd in (7, "x", [7], {"x": 7}))
    if isinstance(value, dict):
        for name, item in value.items():
            yield place, {other: kept for other, kept in value.items() if other != name}
            for within, odd in with_odd_values(item, f"{place}.{name}"):
                yield within, {**value, name: odd}
    elif isinstance(value, list):
        for index, item in enumerate(value):
            for within, odd in with_odd_values(item, f"{place}[]"):
                yield within, [*value[:index], odd, *value[index + 1 :]]


@for_each("stream", COLLECTED, group=dialect_of)
def test_turn_collector_takes_values_of_any_type(stream: Recorded) -> None:
    messages = _Messages()
    reader = StreamNormalizer(StreamReader(stream.dialect), Pipeline((), request_id="req_1"))
    reader.collect(messages)
    reader.feed(stream.body)
    make = process_dialects()[stream.dialect].turn_collector
    assert make is not None
    for message in messages.by_form.values():
        for _, odd in with_odd_values(message):
            for taken in ((message, odd), (odd, message)):
                collector = make(WHOLE)
                for each in taken:
                    collector.take(Frame(json.dumps(each).encode()))
                collector.turn()


class _Texts(EventTap):
    """Keeps the texts of a stream."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def write(self, event: Event, stamp: Stamp) -> None:
        del stamp
        if isinstance(event, Content):
            self.found.append(event.content)


def test_text_beside_a_call_of_an_unknown_form_is_read() -> None:
    chunk = {"choices": [{"index": 0, "delta": {"content": "Hi", "tool_calls": ["x"]}}]}
    texts = _Texts()
    stream = StreamNormalizer(StreamReader("openai-chat"), Pipeline((texts,), request_id="req_1"))
    stream.collect(OpenAIChatTurn(WHOLE))
    stream.feed(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    assert texts.found == ["Hi"]


# Anthropic


def block(index: int, *deltas: dict[str, Any], **fields: Any) -> list[object]:
    """Return the events of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": fields},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


STOP: dict[str, Any] = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}}


def test_anthropic_blocks_keep_signatures_and_the_text_of_inputs() -> None:
    given = f'{{"n": {BIG}, "f": 1.0,  "e": 1E5}}'
    turn = collected(
        "anthropic",
        *block(
            0,
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": "c2ln"},
            type="thinking",
            thinking="",
            signature="",
        ),
        *block(1, type="redacted_thinking", data="cmVk"),
        *block(2, {"type": "text_delta", "text": "I look."}, type="text", text="", citations=None),
        *block(
            3,
            *({"type": "input_json_delta", "partial_json": part} for part in (given[:9], given[9:])),
            type="tool_use",
            id="toolu_1",
            name="look",
            input={},
        ),
        STOP,
    )
    assert json.loads(turn.message) == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "cmVk"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": json.loads(given)},
        ],
    }
    assert given.encode() in turn.message
    assert turn[1:] == (("I look.",), ("toolu_1",), True, True)


def test_anthropic_two_thinking_blocks_keep_two_signatures() -> None:
    thoughts = [
        *block(0, {"type": "signature_delta", "signature": "one"}, type="thinking", thinking="a"),
        *block(1, {"type": "signature_delta", "signature": "two"}, type="thinking", thinking="b"),
    ]
    turn = collected("anthropic", *thoughts, STOP)
    assert [item["signature"] for item in json.loads(turn.message)["content"]] == ["one", "two"]


def test_anthropic_call_whose_input_was_cut_off_has_no_turn() -> None:
    cut = {"type": "input_json_delta", "partial_json": '{"a": '}
    assert turn_of("anthropic", *block(0, cut, type="tool_use", id="t", name="f", input={}), STOP) is None


def test_anthropic_unknown_piece_of_a_block_has_no_turn() -> None:
    piece = {"type": "hologram_delta", "hologram": "x"}
    assert turn_of("anthropic", *block(0, piece, type="text", text=""), STOP) is None


# Gemini


def parts(*found: object, **candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [*found]}, "index": 0, **candidate}]}


def test_gemini_signatures_stay_on_the_very_parts_that_they_came_with() -> None:
    call = {"functionCall": {"name": "f", "args": {"n": 1.0}}, "thoughtSignature": "c2ln"}
    turn = collected(
        "gemini",
        parts({"text": "hm", "thought": True}),
        parts({"text": " so", "thought": True}),
        parts({"text": "I"}),
        parts({"text": " look."}),
        parts(call, {"functionCall": {"name": "g", "args": {}}}),
        parts({"text": "", "thoughtSignature": "ZW5k"}, finishReason="STOP"),
    )
    assert json.loads(turn.message)["parts"] == [
        {"text": "hm so", "thought": True},
        {"text": "I look."},
        call,
        {"functionCall": {"name": "g", "args": {}}},
        {"text": "", "thoughtSignature": "ZW5k"},
    ]
    assert turn[1:] == (("I look.",), (), True, True)


def test_gemini_numbers_keep_their_digits() -> None:
    call = f'{{"functionCall":{{"name":"f","args":{{"n":{BIG},"f":1.0}}}}}}'
    message = f'{{"candidates":[{{"content":{{"parts":[{call}]}}}}]}}'
    assert f'"args":{{"n":{BIG},"f":1.0}}'.encode() in collected("gemini", message).message


# OpenAI chat


def delta(finish_reason: str | None = None, **fields: Any) -> dict[str, Any]:
    return {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": fields, "finish_reason": finish_reason}],
    }


def called(index: int, text: str, **fields: Any) -> dict[str, Any]:
    named = {"name": fields.pop("name")} if "name" in fields else {}
    return {"index": index, **fields, "function": {**named, "arguments": text}}


def test_chat_message_keeps_reasoning_arguments_and_extra_content() -> None:
    extra = {"google": {"thought_signature": "c2ln"}}
    turn = collected(
        "openai-chat",
        delta(role="assistant", content="", reasoning_content=""),
        delta(reasoning_content="hm"),
        delta(reasoning_content=", so"),
        delta(tool_calls=[called(0, '{"n": ', id="c_1", name="f", extra_content=extra)]),
        delta(tool_calls=[called(0, f"{BIG}}}")]),
        delta(tool_calls=[called(1, "{}", id="c_2", name="g")]),
        delta("tool_calls"),
    )
    message = json.loads(turn.message)
    assert message == {
        "role": "assistant",
        "content": "",
        "reasoning_content": "hm, so",
        "tool_calls": [
            {
                "id": "c_1",
                "type": "function",
                "function": {"name": "f", "arguments": f'{{"n": {BIG}}}'},
                "extra_content": extra,
            },
            {"id": "c_2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ],
    }
    assert turn[1:] == ((), ("c_1", "c_2"), True, True)


def test_chat_reasoning_that_came_empty_stays_in_the_message() -> None:
    turn = collected(
        "openai-chat",
        delta(role="assistant", reasoning_content=""),
        delta(tool_calls=[called(0, "{}", id="c", name="f")]),
        delta("tool_calls"),
    )
    assert json.loads(turn.message)["reasoning_content"] == ""


def test_chat_reasoning_details_are_put_together_by_index() -> None:
    turn = collected(
        "openai-chat",
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "a"}]),
        delta(reasoning_details=[{"type": "reasoning.text", "index": 0, "text": "b", "signature": "s"}]),
        delta(reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "e"}]),
        delta("stop", content="Hi"),
    )
    assert json.loads(turn.message)["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"},
        {"type": "reasoning.encrypted", "index": 1, "data": "e"},
    ]


def test_chat_cumulative_reasoning_details_are_kept_once() -> None:
    entry = {"type": "reasoning.text", "index": 0, "format": "MiniMax-response-v1"}
    turn = collected(
        "openai-chat",
        delta(reasoning_details=[{**entry, "text": "a"}]),
        delta(reasoning_details=[{**entry, "text": "ab"}]),
        delta("stop", content="Hi"),
    )
    assert json.loads(turn.message)["reasoning_details"] == [{**entry, "text": "ab"}]


THOUGHT_TEXT = {"type": "reasoning.text", "format": "anthropic-claude-v1"}


@pytest.mark.parametrize(
    "pieces",
    [
        [{**THOUGHT_TEXT, "text": "a"}, {**THOUGHT_TEXT, "text": "b"}, {**THOUGHT_TEXT, "signature": "s"}],
        [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.text", "text": "ab"}],
        [{**THOUGHT_TEXT, "index": at, "text": text} for at, text in ((0, "a"), (1, "b"), (0, "c"))],
        [{"type": "reasoning.encrypted", "id": name, "index": 0, "data": name} for name in "ab"],
    ],
)
def test_chat_reasoning_details_are_those_of_the_opaque_value(pieces: list[Any]) -> None:
    chunks = [*(delta(reasoning_details=[piece]) for piece in pieces), delta("stop", content="Hi")]
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)
    opaque = [event["data"]["opaque"] for event in events_of(translate([body])) if "opaque" in event["data"]]
    details = json.loads(collected("openai-chat", *chunks).message)["reasoning_details"]
    assert opaque == [{"openai-chat": {"details": details}}]


# Responses


def item(index: int, **fields: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": fields}


def ended(output: list[Any], **fields: Any) -> dict[str, Any]:
    response = {"object": "response", "status": "completed", "output": output, **fields}
    return {"type": "response.completed", "response": response}


THOUGHT: dict[str, Any] = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [],
    "encrypted_content": "ZW5j",
    "status": None,
}
CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": '{"f": 1.0}'}


@pytest.mark.parametrize("output", [[], [THOUGHT, CALL]])
def test_responses_items_keep_their_order_and_lose_null_fields(output: list[Any]) -> None:
    turn = collected("openai-responses", item(0, **THOUGHT), item(1, **CALL), ended(output, store=False))
    sent = {name: value for name, value in THOUGHT.items() if value is not None}
    assert json.loads(turn.message) == [sent, CALL]
    assert turn[1:] == ((), ("call_1",), True, True)


def test_responses_unstored_reasoning_without_its_content_goes_with_all_ids() -> None:
    thought = {**THOUGHT, "encrypted_content": None}
    turn = collected("openai-responses", ended([thought, CALL], store=False))
    assert json.loads(turn.message) == [{name: CALL[name] for name in CALL if name != "id"}]
    stored = collected("openai-responses", ended([thought, CALL]))
    assert [found["id"] for found in json.loads(stored.message)] == ["rs_1", "fc_1"]


# Ollama


def test_ollama_message_keeps_thinking_and_calls() -> None:
    lines = [
        {"model": "m", "message": {"role": "assistant", "content": "", "thinking": "hm"}, "done": False},
        f'{{"model":"m","message":{{"role":"assistant","content":"","tool_calls":[{{"function":{{"name":"f","arguments":{{"n":{BIG}}}}}}}]}},"done":false}}',
        {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"},
    ]
    body = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    turn = collector_of("ollama", [body.encode()]).turn()
    assert turn is not None
    assert f'"arguments":{{"n":{BIG}}}'.encode() in turn.message
    assert json.loads(turn.message)["thinking"] == "hm"
    assert (turn.has_call, turn.has_opaque) == (True, False)
