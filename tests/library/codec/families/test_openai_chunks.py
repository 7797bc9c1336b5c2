"""OpenAI-shaped chunks as other servers than OpenAI's write them."""

import time
from collections import deque
from itertools import chain
from typing import Any

import pytest

from streamweir.codec.families.openai_chunks import ChunkReader, is_completion
from streamweir.errors import LimitExceeded
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Interaction,
    Reference,
    SessionEnd,
    SessionStart,
    Thinking,
    ToolCallDelta,
    ToolCallStart,
)
from streamweir.ids import made_call_id


def chunk(delta: Any = None, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}], **fields}


def call(**fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return {**fields, "function": function}


def read(*chunks: dict[str, Any]) -> list[Event]:
    reader = ChunkReader()
    events = [event for message in chunks for event in reader.read(message)]
    return [*events, *reader.close()]


def calls(events: list[Event]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(e.tool_id, e.tool_name, e.arguments) for e in events if isinstance(e, ToolCallStart)]


def test_chunks_of_text_reasoning_and_late_usage_are_read() -> None:
    events = read(
        chunk({"role": "assistant", "content": ""}, model="m"),
        chunk({"reasoning": "hm"}),
        chunk({"content": "Hi"}),
        chunk({}, "stop"),
        {"id": "c1", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}},
    )
    start, thinking, content, end = events
    assert isinstance(start, SessionStart)
    assert start.meta == {"message_id": "c1", "extra": {"model": "m"}}
    assert isinstance(thinking, Thinking)
    assert isinstance(content, Content)
    assert (thinking.content, content.content) == ("hm", "Hi")
    assert isinstance(end, SessionEnd)
    assert end.status == "completed"
    assert end.summary == {
        "finish_reason": "stop",
        "prompt_tokens": 1,
        "completion_tokens": 2,
        "total_tokens": 3,
    }


def test_arguments_of_parallel_calls_interleave_by_index() -> None:
    events = read(
        chunk({"tool_calls": [call(index=0, id="a", name="f", arguments="")]}),
        chunk({"tool_calls": [call(index=1, id="b", name="g", arguments='{"y"')]}),
        chunk({"tool_calls": [call(index=0, arguments='{"x":'), call(index=1, arguments=":2}")]}),
        chunk({"tool_calls": [call(index=0, arguments="1}")]}, "tool_calls"),
    )
    assert calls(events) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    assert [delta.tool_id for delta in deltas] == ["b", "a", "b", "a"]
    asked = [event for event in events if isinstance(event, Interaction)]
    assert [(event.interaction_id, event.kind) for event in asked] == [("a", "tool"), ("b", "tool")]
    assert isinstance(events[-1], SessionEnd)
    assert events[-1].status == "suspended"


@pytest.mark.parametrize(
    "pieces",
    [
        [call(index=0, name="f", arguments='{"x":1}'), call(index=1, name="f", arguments='{"x":2}')],
        [call(name="f", arguments='{"x":1}'), call(name="f", arguments={"x": 2})],
        [
            call(index=0, id=made_call_id("", 1), name="f", arguments='{"x":1}'),
            call(index=0, id=made_call_id("", 2), name="f", arguments='{"x":2}'),
        ],
        [call(name="f"), call(arguments='{"x":1}'), call(name="f"), call(arguments='{"x":2}')],
    ],
    ids=["no ids", "no ids, no indices", "one index for all", "no indices, in pieces"],
)
def test_calls_without_ids_or_indices_are_separate(pieces: list[dict[str, Any]]) -> None:
    events = read(*(chunk({"tool_calls": [piece]}) for piece in pieces), chunk({}, "tool_calls"))
    assert calls(events) == [
        (made_call_id("", 1), "f", {"x": 1}),
        (made_call_id("", 2), "f", {"x": 2}),
    ]


def test_piece_is_found_by_its_id_or_index_however_many_calls_there_are() -> None:
    def pieces(number: int) -> list[dict[str, Any]]:
        return [call(index=at, id=f"c{at}", name="f", arguments="{}") for at in range(number)]

    def seconds(number: int) -> float:
        reader = ChunkReader(room=64 << 20)
        begun = time.thread_time()
        for message in [chunk({"tool_calls": pieces(number)}), chunk({"tool_calls": pieces(number)})]:
            deque(reader.read(message), maxlen=0)
        return time.thread_time() - begun

    short, long = (min(seconds(number) for _ in range(3)) for number in (500, 4000))
    assert long < 3 * 8 * short


@pytest.mark.parametrize(
    "pieces",
    [
        [call(index=0, id="a", name="f", arguments="x" * 400)] * 30,
        [call(index=number, id=f"a{number}", name="f") for number in range(30)],
        [call(index="i" * 1000 + str(number), id=f"{number}" * 200, name="f") for number in range(30)],
    ],
    ids=["one long", "many", "many with long names"],
)
def test_calls_are_bounded_before_they_are_whole(pieces: list[dict[str, Any]]) -> None:
    reader = ChunkReader(room=10_000)
    messages = [chunk({"tool_calls": [piece]}) for piece in pieces]
    with pytest.raises(LimitExceeded):
        deque(chain.from_iterable(map(reader.read, messages)), maxlen=0)


def test_counts_of_a_server_are_bounded() -> None:
    numbers = {f"count_{number}": number for number in range(1000)}
    reader = ChunkReader()
    (_, rest) = reader.read({"id": "c1", "choices": [], "usage": {**numbers, "total_tokens": 7}})
    assert len(reader.summary) <= 103
    assert reader.summary["total_tokens"] == 7
    assert isinstance(rest, Data)
    assert isinstance(rest.data, dict)
    assert {**rest.data["value"], **reader.summary} == {**numbers, "total_tokens": 7}


def test_name_that_every_piece_repeats_is_one_name() -> None:
    pieces = [call(index=0, id="a", name="find", arguments=text) for text in ("{", "}")]
    assert calls(read(*(chunk({"tool_calls": [piece]}) for piece in pieces))) == [("a", "find", {})]


def test_old_function_call_is_a_call() -> None:
    events = read(
        chunk({"function_call": {"name": "f", "arguments": '{"x"'}}),
        chunk({"function_call": {"arguments": ":1}"}}, "function_call"),
    )
    assert [(name, arguments) for _, name, arguments in calls(events)] == [("f", {"x": 1})]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ({"error": {"message": "slow down", "type": "rate_limit_error", "code": 429}}, "RATE_LIMITED"),
        ({"error": {"message": "m", "code": "context_length_exceeded"}}, "CONTEXT_LENGTH_EXCEEDED"),
        ({"error": "boom"}, "UPSTREAM_ERROR"),
        ({"object": "error", "message": "m", "code": 404, "choices": []}, "NOT_FOUND"),
        (chunk({}, "error"), "UPSTREAM_ERROR"),
    ],
)
def test_error_chunk_in_any_shape_is_an_error(frame: dict[str, Any], code: str) -> None:
    errors = [event for event in ChunkReader().read(frame) if isinstance(event, Error)]
    assert [(error.code, error.terminal) for error in errors] == [(code, True)]


def test_rest_of_a_delta_is_kept() -> None:
    cited = {"type": "url_citation", "url_citation": {"url": "https://a.example", "title": "A"}}
    events = read(
        chunk({"annotations": [cited]}),
        chunk({"audio": {"data": "AAA=", "format": "mp3"}}),
        chunk({"provider_note": 1, "tool_calls": None, "role": "assistant"}),
    )
    (reference,) = [event for event in events if isinstance(event, Reference)]
    assert reference.citations == [{"title": "A", "url": "https://a.example"}]
    audio, rest = [event for event in events if isinstance(event, Data)]
    assert audio.data == {"base64": "AAA=", "media_type": "audio/mp3"}
    assert rest.data == {"name": "delta", "value": {"provider_note": 1}}


def test_whole_answer_is_read_like_a_stream() -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": "Hi"}], "tool_calls": None}
    events = read(
        {
            "id": "x",
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "finish_reason": "length"}],
        }
    )
    content, end = events[1:]
    assert isinstance(content, Content)
    assert (content.content, content.whole) == ("Hi", "snapshot")
    assert isinstance(end, SessionEnd)
    assert end.summary == {"finish_reason": "length"}


def test_chunks_with_an_id_each_are_one_message_and_choices_are_channels() -> None:
    events = read(
        {"id": "1", "choices": [{"index": 0, "delta": {"content": "a"}}]},
        {"id": "2", "choices": [{"index": 1, "delta": {"content": "b"}}]},
    )
    texts = [event for event in events if isinstance(event, Content)]
    assert [(text.meta, text.channel) for text in texts] == [
        ({"message_id": "1"}, None),
        ({"message_id": "1"}, "choice-1"),
    ]


@pytest.mark.parametrize(
    "odd", [None, 1, "x", [], {}, [None], [{"delta": 1}], [{"delta": {"tool_calls": [1, {}]}}]]
)
def test_fields_of_wrong_types_are_no_failure(odd: Any) -> None:
    events = read({"id": odd, "choices": odd, "usage": odd, "model": odd})
    assert isinstance(events[-1], SessionEnd)


def test_completion_check_accepts_choices_and_error_objects() -> None:
    assert is_completion({"choices": []})
    assert is_completion({"error": {"message": "m"}})
    assert not is_completion({"error": None})
    assert not is_completion({"event": "error", "error": "m"})
