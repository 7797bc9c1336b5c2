"""The message of a turn as the next request has it: `as_message`, and `turn` of the folded result."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamweir import MessageStreamHandler
from streamweir.events import Content, Event, SessionEnd, SessionStart, Thinking, ToolCallEnd, ToolCallStart
from streamweir.options.limits import Limits
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reader import StreamReader

ONE: dict[str, Any] = {"anthropic": {"signature": "1"}}
TWO: dict[str, Any] = {"anthropic": {"signature": "2"}}


def message_of(*events: Event) -> dict[str, Any]:
    handler = MessageStreamHandler()
    for event in events:
        handler.handle_event(event)
    return handler.message.as_message()


def folded(*events: Event, **options: str) -> dict[str, Any]:
    writer = open_writer("standard", "json", request_id="req_1", options={"standard": options})
    Pipeline((writer,), request_id="req_1").take([*events, SessionEnd()])
    result: dict[str, Any] = json.loads(writer.take())
    return result


def test_as_message_parts_and_calls_are_in_their_order() -> None:
    assert message_of(
        Thinking("Let"),
        Thinking(" me", opaque=ONE),
        Thinking("", opaque=TWO),
        Content("I"),
        Content(" look", opaque=TWO),
        ToolCallStart("c1", "search", arguments={"q": 1}, opaque=ONE),
        ToolCallEnd("c1", result=3),
        Thinking("So"),
        Content("It is 3."),
        ToolCallStart("c2", "show", arguments={}),
    ) == {
        "role": "assistant",
        "content": [
            {"type": "reasoning", "text": "Let me", "opaque": ONE},
            {"type": "reasoning", "text": "", "opaque": TWO},
            {"type": "text", "text": "I look", "opaque": TWO},
            {"type": "tool_call", "id": "c1"},
            {"type": "reasoning", "text": "So"},
            {"type": "text", "text": "It is 3."},
        ],
        "tool_calls": [
            {"id": "c1", "name": "search", "arguments": {"q": 1}, "opaque": ONE},
            {"id": "c2", "name": "show", "arguments": {}},
        ],
    }


def test_as_message_text_alone_is_a_text() -> None:
    assert message_of(Content("Hi"), Content(" there")) == {"role": "assistant", "content": "Hi there"}
    assert message_of() == {"role": "assistant", "content": ""}


def test_as_message_calls_behind_the_text_need_no_place() -> None:
    assert message_of(Content("Hi"), ToolCallStart("c", "t")) == {
        "role": "assistant",
        "content": "Hi",
        "tool_calls": [{"id": "c", "name": "t", "arguments": {}}],
    }


def test_as_message_texts_of_other_channels_are_left_out() -> None:
    message = message_of(Content("Hi"), Content("# Report", channel="report"), Thinking("", opaque=ONE))
    assert message["content"] == [
        {"type": "text", "text": "Hi"},
        {"type": "reasoning", "text": "", "opaque": ONE},
    ]


def test_as_message_call_that_two_streams_start_has_one_place() -> None:
    message = message_of(
        SessionStart(),
        ToolCallStart("c", "t"),
        SessionEnd("suspended"),
        SessionStart(),
        ToolCallStart("c", "t"),
        ToolCallEnd("c"),
        Content("Hi"),
    )
    assert message["content"] == [{"type": "tool_call", "id": "c"}, {"type": "text", "text": "Hi"}]
    assert len(message["tool_calls"]) == 1


def test_folded_result_has_the_turn_only_with_an_opaque_value() -> None:
    assert "turn" not in folded(Thinking("Hm"), Content("Hi"))["message"]
    assert "turn" not in folded(Thinking("Hm", opaque=ONE), Content("Hi"), opaque="off")["message"]
    assert "turn" not in folded(Thinking("Hm", opaque=ONE), Content("Hi"), version="1.0")["message"]
    message = folded(
        Thinking("Hm", opaque=ONE), Content("Hi"), ToolCallStart("c", "t", arguments={"a": 1}, opaque=TWO)
    )["message"]
    assert message["turn"] == {
        "role": "assistant",
        "content": [{"type": "reasoning", "text": "Hm", "opaque": ONE}, {"type": "text", "text": "Hi"}],
        "tool_calls": [{"id": "c", "name": "t", "arguments": {"a": 1}, "opaque": TWO}],
    }
    assert message["tool_calls"][0]["opaque"] == TWO
    assert (message["content"], message["thinking"]) == ("Hi", "Hm")


@pytest.mark.parametrize("opaque", [None, ONE])
def test_folded_result_with_a_turn_keeps_its_limit(opaque: Any) -> None:
    limits = {"stream_bytes": 40_000, "event_bytes": 10_000}
    source = StreamReader("standard", limits=Limits.of(limits))
    writer = open_writer("standard", "json", request_id="req_1", source=source)
    pipeline = Pipeline((writer,), request_id="req_1")
    pipeline.push(Thinking("", opaque=opaque) if opaque else Thinking("Hm"))
    for _ in range(60):
        pipeline.push(Content("x" * 100))
    pipeline.end()
    result = json.loads(writer.take())
    assert (result["error"] is None) == (opaque is None)
    assert len(json.dumps(result)) <= 10_000 + 1000


EVENTS = st.lists(
    st.one_of(
        st.builds(Thinking, st.sampled_from(["", "a"]), opaque=st.sampled_from([None, ONE, TWO])),
        st.builds(Content, st.sampled_from(["", "b"]), opaque=st.sampled_from([None, ONE, TWO])),
        st.builds(ToolCallStart, st.sampled_from(["c1", "c2"]), st.just("t")),
    ),
    max_size=20,
)


@given(EVENTS)
def test_as_message_has_every_text_and_opaque_value_once(events: list[Event]) -> None:
    message = message_of(*events)
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    said = [part for part in parts if part["type"] != "tool_call"]
    thinking = "".join(event.content for event in events if isinstance(event, Thinking))
    assert "".join(part["text"] for part in said if part["type"] == "reasoning") == thinking
    text = "".join(event.content for event in events if isinstance(event, Content))
    assert "".join(part["text"] for part in said if part["type"] == "text") == text
    values = [event.opaque for event in events if isinstance(event, Thinking | Content) and event.opaque]
    assert [part["opaque"] for part in said if "opaque" in part] == values
    assert not parts or parts[-1]["type"] != "tool_call"
