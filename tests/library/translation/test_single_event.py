"""One event at a time: the standard events that it means."""

import json
from typing import Any

import pytest

from cases import for_each
from streams import Recorded, dialect_of, recorded_streams
from streamweir import UnknownDialectError, normalize_stream_event, parse_stream_line
from streamweir.errors import MalformedEvent
from streamweir.events import EVENT_TYPES
from streamweir.framing import Frame, SniffingParser, write_sse

STREAMS = recorded_streams()


def frames_of(body: bytes) -> list[Frame]:
    parser = SniffingParser(1 << 20)
    return [*parser.feed(body), *parser.finish()]


@pytest.mark.parametrize(
    ("event", "type_", "data"),
    [
        ({"type": "token", "content": "Hi"}, "content", {"content": "Hi"}),
        ('data: {"type": "token", "content": "Hi"}', "content", {"content": "Hi"}),
        (b'{"type": "token", "content": "Hi"}\n', "content", {"content": "Hi"}),
        (
            {"type": "final_answer", "content": "All of it"},
            "content",
            {"content": "All of it", "is_complete": True},
        ),
        (
            {"type": "tool_call", "tool_id": "t1", "tool_name": "a", "tool_args": '{"q": 1}'},
            "tool_call_start",
            {"tool_id": "t1", "tool_name": "a", "arguments": {"q": 1}},
        ),
        ({"type": "done"}, "session_end", {"status": "completed", "reason": "done"}),
        ({"type": "hm", "a": 1}, "data", {"data_type": "custom", "data": {"name": "hm", "value": {"a": 1}}}),
    ],
)
def test_an_old_event_in_the_new_words(event: Any, type_: str, data: dict[str, Any]) -> None:
    (new,) = normalize_stream_event(event)
    assert (new["type"], new["data"]) == (type_, data)


def test_the_metadata_that_it_carries_comes_along() -> None:
    (event,) = normalize_stream_event({"type": "token", "content": "Hi", "message_id": "m1", "mood": "good"})
    assert event["metadata"] == {"message_id": "m1", "extra": {"mood": "good"}}


@pytest.mark.parametrize(
    "event",
    [
        "",
        "\n",
        "data:",
        "data: [DONE]",
        "[DONE]",
        ": ping",
        {"type": "ping"},
        b"event: heartbeat",
        b"\xef\xbb\xbf",
    ],
)
def test_what_says_nothing_is_nothing(event: Any) -> None:
    assert normalize_stream_event(event) == []


@pytest.mark.parametrize("event", ["{", "<html>", 'data: {"type": "tok', b"\xff\xfe"])
def test_what_cannot_be_read_is_a_warning_or_nothing(event: Any) -> None:
    assert all(new["type"] == "warning" for new in normalize_stream_event(event))


@pytest.mark.parametrize(
    "event",
    [
        {"type": "content", "data": {"content": "x", "is_complete": True, "format": "html"}},
        {"type": "tool_call_end", "data": {"tool_id": "t", "status": "success", "result": {"a": 1}}},
        {"type": "session_end", "data": {"status": "suspended", "reason": "interaction"}},
        {"type": "thinking", "data": {"content": "x", "stage": "planning"}},
    ],
)
def test_a_standard_event_without_metadata_is_one_all_the_same(event: Any) -> None:
    assert normalize_stream_event(event) == [{**event, "metadata": {}}]


def test_a_failure_without_metadata_may_be_anybodys() -> None:
    data = {"error_type": "system", "code": "INTERNAL", "message": "/srv/app.py: boom", "recoverable": True}
    (event,) = normalize_stream_event({"type": "error", "data": data})
    assert event["data"]["code"] == "INTERNAL"
    assert "boom" not in event["data"]["message"]


def test_failures_are_safe() -> None:
    (event,) = normalize_stream_event({"type": "error", "message": "at /srv/app: password=hunter2"})
    assert event["data"]["code"] == "UPSTREAM_ERROR"
    assert "hunter2" not in str(event)


def test_nothing_is_remembered() -> None:
    event = {"type": "final_answer", "content": "Hi"}
    assert normalize_stream_event(event) == normalize_stream_event(event)


def test_an_unknown_dialect_is_refused() -> None:
    with pytest.raises(UnknownDialectError):
        normalize_stream_event({}, speaks="klingon")


@for_each("stream", STREAMS, group=dialect_of)
def test_every_recorded_event_means_standard_events(stream: Recorded) -> None:
    for frame in frames_of(stream.body):
        for event in normalize_stream_event(write_sse(frame), speaks=stream.dialect):
            assert event["type"] in EVENT_TYPES
            assert event.keys() == {"type", "data", "metadata"}


@for_each("stream", STREAMS, group=dialect_of)
def test_a_standard_event_comes_back_equal(stream: Recorded) -> None:
    for line in stream.expected.read_bytes().decode().rstrip("\n").split("\n"):
        event = json.loads(line)
        assert normalize_stream_event(event) == [event]
        assert normalize_stream_event(line, speaks="standard") == [event]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (b'{"a": 1}\r\n', {"a": 1}),
        ('data: {"a": 1}\n', {"a": 1}),
        ('data:{"a": "\\ud83d"}', {"a": "\ufffd"}),
        ('\ufeff{"a": NaN}', {"a": None}),
        ("", None),
        ("   ", None),
        (": ping", None),
        ("event: message", None),
        ("id: 5", None),
        ("data: [DONE]", None),
        ("data: [1]", None),
        ("5", None),
        ('{"a":', None),
        (b"{\xff", None),
    ],
)
def test_a_line_is_one_object_or_nothing(line: str | bytes, value: Any) -> None:
    assert parse_stream_line(line) == value


@for_each("stream", STREAMS, group=dialect_of)
def test_the_lines_of_recorded_streams_are_read(stream: Recorded) -> None:
    if stream.path.suffix != ".ndjson":
        return
    for frame in frames_of(stream.body):
        try:
            expected = frame.json()
        except MalformedEvent:
            expected = None
        assert parse_stream_line(frame.data) == (expected if isinstance(expected, dict) else None)


MILLISECONDS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("speaks", "event"),
    [
        (
            "stream-envelope",
            {"type": "tool_start", "run_id": "r", "timestamp": MILLISECONDS, "data": {"tool_name": "t"}},
        ),
        ("legacy", {"type": "token", "content": "Hi", "timestamp": MILLISECONDS // 1000}),
        ("legacy", {"type": "token", "content": "Hi", "metadata": {"timestamp": "2023-11-14T22:13:20Z"}}),
        ("ragflow", {"event": "message", "created_at": MILLISECONDS // 1000, "data": {"content": "Hi"}}),
    ],
)
def test_the_time_of_an_event_comes_along_in_milliseconds(speaks: str, event: dict[str, object]) -> None:
    normalized = normalize_stream_event(event, speaks=speaks)
    assert [item["metadata"]["timestamp"] for item in normalized] == [MILLISECONDS] * max(1, len(normalized))
