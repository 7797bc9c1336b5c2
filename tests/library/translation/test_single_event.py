"""Single events, normalised without a stream."""

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
def test_old_event_is_returned_as_standard_events(event: Any, type_: str, data: dict[str, Any]) -> None:
    (new,) = normalize_stream_event(event)
    assert (new["type"], new["data"]) == (type_, data)


def test_metadata_of_an_event_is_kept() -> None:
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
def test_event_without_a_message_gives_no_events(event: Any) -> None:
    assert normalize_stream_event(event) == []


@pytest.mark.parametrize("event", ["{", "<html>", 'data: {"type": "tok', b"\xff\xfe"])
def test_unreadable_event_is_a_warning_or_nothing(event: Any) -> None:
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
def test_standard_event_without_metadata_is_read(event: Any) -> None:
    assert normalize_stream_event(event) == [{**event, "metadata": {}}]


def test_failure_without_metadata_is_not_for_users() -> None:
    data = {"error_type": "system", "code": "INTERNAL", "message": "/srv/app.py: boom", "recoverable": True}
    (event,) = normalize_stream_event({"type": "error", "data": data})
    assert event["data"]["code"] == "INTERNAL"
    assert "boom" not in event["data"]["message"]


def test_texts_of_failures_are_made_safe() -> None:
    (event,) = normalize_stream_event({"type": "error", "message": "at /srv/app: password=hunter2"})
    assert event["data"]["code"] == "UPSTREAM_ERROR"
    assert "hunter2" not in str(event)


def test_calls_do_not_share_state() -> None:
    event = {"type": "final_answer", "content": "Hi"}
    assert normalize_stream_event(event) == normalize_stream_event(event)


def test_unknown_dialect_raises() -> None:
    with pytest.raises(UnknownDialectError):
        normalize_stream_event({}, speaks="klingon")


@for_each("stream", STREAMS, group=dialect_of)
def test_every_recorded_event_gives_standard_events(stream: Recorded) -> None:
    for frame in frames_of(stream.body):
        for event in normalize_stream_event(write_sse(frame), speaks=stream.dialect):
            assert event["type"] in EVENT_TYPES
            assert event.keys() == {"type", "data", "metadata"}


@for_each("stream", STREAMS, group=dialect_of)
def test_standard_event_is_returned_equal(stream: Recorded) -> None:
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
def test_parse_stream_line_returns_an_object_or_none(line: str | bytes, value: Any) -> None:
    assert parse_stream_line(line) == value


@for_each("stream", STREAMS, group=dialect_of)
def test_parse_stream_line_reads_recorded_lines(stream: Recorded) -> None:
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
def test_time_of_an_event_is_in_milliseconds(speaks: str, event: dict[str, object]) -> None:
    normalized = normalize_stream_event(event, speaks=speaks)
    assert [item["metadata"]["timestamp"] for item in normalized] == [MILLISECONDS] * max(1, len(normalized))
