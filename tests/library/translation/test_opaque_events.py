"""Opaque values of events: they pass every stage, with a text or without, and are never an answer."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams import events_of
from streamweir import Translator, convert
from streamweir.codec.event_validation import shaped_event
from streamweir.codec.standard_events import read_standard
from streamweir.errors import EventValidationError
from streamweir.events import Content, Event, SessionEnd, Thinking, ToolCallEnd, ToolCallStart, wire_data
from streamweir.runs.stored_event import EventReader, EventWriter
from streamweir.testing import check_stream
from streamweir.translation.items import TextRun
from streamweir.translation.open_writer import open_writer
from streamweir.translation.pipeline import Pipeline
from streamweir.translation.reading.first_output import find_output

SIGNED: dict[str, Any] = {"anthropic": {"signature": "c2lnbmF0dXJl"}}
OTHER: dict[str, Any] = {"gemini": {"thoughtSignature": "AbC="}}
IDS: Any = {"message_id": "m1"}

PROTOCOLS_WITHOUT = ["legacy", "stream-envelope", "easyflow", "ragflow", "data-formulator"]


def message(kind: str, **data: Any) -> bytes:
    return json.dumps({"type": kind, "data": data, "metadata": {}}).encode() + b"\n"


def written(events: list[Event], protocol: str = "standard", **options: str) -> bytes:
    """Return the bytes that a client of `protocol` gets of `events`, behind all stages."""
    chosen = {protocol: options} if options else {}
    writer = open_writer(protocol, "ndjson", request_id="req_1", options=chosen)
    Pipeline((writer,), request_id="req_1").take([*events, SessionEnd()])
    return writer.take()


def data_of(out: bytes, *kinds: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events_of(out) if event["type"] in kinds]


@pytest.mark.parametrize("kind", [Thinking, Content])
@pytest.mark.parametrize("meta", [None, IDS])
def test_pipeline_event_with_opaque_and_no_text_passes(kind: Any, meta: Any) -> None:
    out = written([kind("Hm", meta=meta), kind("", opaque=SIGNED, meta=meta), kind("So", meta=meta)])
    assert check_stream(out, framing="ndjson") == []
    assert data_of(out, kind.type)[:3] == [
        {"content": "Hm"},
        {"content": "", "opaque": SIGNED},
        {"content": "So"},
    ]


def test_pipeline_opaque_behind_the_end_of_its_message_passes() -> None:
    events: list[Event] = [
        Content("Hi", meta=IDS),
        Content("", is_complete=True, meta=IDS),
        Content("", opaque=OTHER, meta=IDS),
    ]
    out = written(events)
    assert check_stream(out, framing="ndjson") == []
    assert [data for data in data_of(out, "content") if "opaque" in data] == [
        {"content": "", "opaque": OTHER}
    ]


@pytest.mark.parametrize("whole", ["snapshot", "repeat", "copy"])
def test_pipeline_text_that_repeats_keeps_its_opaque(whole: Any) -> None:
    out = written([Content("Hi"), Content("Hi", whole=whole, opaque=OTHER)])
    assert [data["content"] for data in data_of(out, "content")] == ["Hi", "", ""]
    assert [data.get("opaque") for data in data_of(out, "content")] == [None, OTHER, None]


def test_pipeline_opaque_of_a_renamed_message_has_its_id() -> None:
    events: list[Event] = [
        Content("Hi", is_complete=True, meta=IDS),
        Content("Ho", meta=IDS),
        Content("", opaque=OTHER, meta=IDS),
    ]
    opaque = [event for event in events_of(written(events)) if "opaque" in event["data"]]
    assert [event["metadata"]["message_id"] for event in opaque] == ["m1_2"]


def test_pipeline_opaque_alone_is_no_answer() -> None:
    pipeline = Pipeline((), request_id="req_1")
    pipeline.push(Thinking("", opaque=SIGNED))
    pipeline.push(Content("", opaque=SIGNED))
    assert not pipeline.lifecycle.has_answer
    assert find_output([Thinking("", opaque=SIGNED), Content("", opaque=SIGNED)], None, None) is None


def test_pipeline_more_messages_than_are_kept_keeps_each_opaque() -> None:
    writer = open_writer("standard", "ndjson", request_id="req_1", options={})
    pipeline = Pipeline((writer,), request_id="req_1", room=4096)
    for number in range(40):
        pipeline.push(
            Content(
                "", opaque={"gemini": {"thoughtSignature": str(number)}}, meta={"message_id": f"m{number}"}
            )
        )
    opaque = [data["opaque"]["gemini"]["thoughtSignature"] for data in data_of(writer.take(), "content")]
    assert opaque == [*map(str, range(40))]


def test_call_with_opaque_leaves_with_it() -> None:
    call = ToolCallStart("c1", "search", arguments={"q": "tea"}, opaque=OTHER)
    out = written([call, ToolCallEnd("c1")])
    assert data_of(out, "tool_call_start")[0]["opaque"] == OTHER


@pytest.mark.parametrize("options", [{"version": "1.0"}, {"opaque": "off"}])
def test_standard_writer_without_opaque_leaves_it_out(options: dict[str, str]) -> None:
    events: list[Event] = [
        Thinking("Hm", opaque=SIGNED),
        Thinking("", opaque=SIGNED),
        Content("Hi", opaque=OTHER),
        Content("", opaque=OTHER),
        ToolCallStart("c1", "search", opaque=OTHER),
        ToolCallEnd("c1"),
    ]
    out = written(events, **options)
    assert check_stream(out, framing="ndjson") == []
    assert b"opaque" not in out
    assert [data["content"] for data in data_of(out, "thinking", "content")] == ["Hm", "Hi", ""]


@pytest.mark.parametrize("protocol", PROTOCOLS_WITHOUT)
def test_writer_of_a_protocol_without_a_place_writes_nothing_of_it(protocol: str) -> None:
    plain: list[Event] = [Thinking("Hm"), Content("Hi"), ToolCallStart("c1", "search"), ToolCallEnd("c1")]
    opaque: list[Event] = [
        Thinking("Hm"),
        Thinking("", opaque=SIGNED),
        Content("Hi", opaque=OTHER),
        Content("", opaque=OTHER),
        ToolCallStart("c1", "search", opaque=OTHER),
        ToolCallEnd("c1"),
    ]
    assert b"c2lnb" not in written(opaque, protocol)
    assert len(written(opaque, protocol).splitlines()) == len(written(plain, protocol).splitlines())


@pytest.mark.parametrize(
    "value", ["text", 7, ["a"], {"anthropic": "text"}, {"": {}}, {"anthropic": None}, {"a" * 2000: {}}]
)
def test_standard_reader_opaque_of_another_shape_is_an_unknown_field(value: Any) -> None:
    event = read_standard({"type": "thinking", "data": {"content": "", "opaque": value}, "metadata": {}})
    assert isinstance(event, Thinking)
    assert event.opaque is None
    assert event.meta == {"extra": {"opaque": value}}


def test_standard_reader_and_writer_keep_each_opaque() -> None:
    body = b"".join(
        (
            message("session_start", session_id="s", request_id="r", protocol="1.1"),
            message("thinking", content="Hm", opaque=SIGNED),
            message("thinking", content="", opaque=OTHER),
            message("content", content="Hi", opaque=SIGNED),
            message("content", content=" there"),
            message("content", content="", opaque=OTHER),
            message("tool_call_start", tool_id="c", tool_name="t", arguments={}, opaque=OTHER),
            message("tool_call_end", tool_id="c", status="success"),
            message("session_end", status="completed", reason="done"),
        )
    )
    out = convert(body, speaks="standard", answers="standard", framing="ndjson")
    assert [data.get("opaque") for data in data_of(out, "thinking", "content", "tool_call_start")] == [
        SIGNED,
        OTHER,
        SIGNED,
        None,
        OTHER,
        OTHER,
        None,
    ]


@pytest.mark.parametrize("value", [{}, {"": {}}, {"x" * 61: {}}, {"anthropic": "text"}, "text", 7])
@pytest.mark.parametrize("cls", [Thinking, Content, ToolCallStart])
def test_event_validation_opaque_of_another_shape_is_refused(cls: Any, value: Any) -> None:
    fields = {"tool_id": "c", "tool_name": "t"} if cls is ToolCallStart else {"content": ""}
    with pytest.raises(EventValidationError, match="opaque"):
        shaped_event(cls, {**fields, "opaque": value})


def test_event_validation_opaque_of_objects_is_kept() -> None:
    assert wire_data(shaped_event(Content, {"content": "", "opaque": OTHER})) == {
        "content": "",
        "opaque": OTHER,
    }


def test_stored_events_keep_opaque_and_do_not_join_it_to_a_run() -> None:
    events: list[Event] = [
        Content("a"),
        Content("b"),
        Content("", opaque=OTHER),
        Content("c", opaque=OTHER),
        Content("d"),
        Thinking("", opaque=SIGNED),
        ToolCallStart("c1", "search", opaque=OTHER),
    ]
    writer, reader = EventWriter(), EventReader(begins=False)
    lines = [writer.event(event, 1) for event in events]
    read: list[Event] = []
    for _, item in reader.items(lines):
        read += item if isinstance(item, TextRun) else (item,)
    assert read == events


def _texts(draw: Any) -> list[bytes]:
    kinds = st.sampled_from(["thinking", "content"])
    values = st.one_of(st.none(), st.just(SIGNED), st.just(OTHER))
    pieces = draw(st.lists(st.tuples(kinds, st.text("ab ", max_size=3), values), max_size=30))
    return [
        message(kind, content=text, **({"opaque": opaque} if opaque else {})) for kind, text, opaque in pieces
    ]


@given(st.composite(_texts)(), st.integers(1, 200))
def test_translator_any_opaque_among_texts_arrives_once_however_the_body_is_cut(
    frames: list[bytes], size: int
) -> None:
    end = message("session_end", status="completed", reason="done")
    body = b"".join((*frames, end))
    translator = Translator(speaks="standard", framing="ndjson", request_id="req_1")
    out = b"".join(translator.feed(body[at : at + size]) for at in range(0, len(body), size))
    out += translator.close()
    assert check_stream(out, framing="ndjson") == []
    sent = [json.loads(frame)["data"] for frame in frames]
    given_opaque = [data["opaque"] for data in sent if "opaque" in data]
    assert [
        data["opaque"] for data in data_of(out, "thinking", "content") if "opaque" in data
    ] == given_opaque
    for kind in ("thinking", "content"):
        text = "".join(
            json.loads(frame)["data"]["content"] for frame in frames if json.loads(frame)["type"] == kind
        )
        assert "".join(data["content"] for data in data_of(out, kind)) == text
