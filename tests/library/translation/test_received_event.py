"""Received events: their JSON, and their typed fields."""

from typing import Any

import pytest

from streamweir import ReceivedEvent
from streamweir.errors import MalformedEvent, error_info
from streamweir.events import Content, Data, Error, SessionStart, Status, ToolCallProgress, Unknown
from streamweir.translation.received_event import failure_events

METADATA = {"request_id": "req_1", "timestamp": 5, "sequence": 3, "message_id": "m", "extra": {"x": [1]}}


def received(kind: str, data: Any, **metadata: Any) -> ReceivedEvent:
    return ReceivedEvent({"type": kind, "data": data, "metadata": {**METADATA, **metadata}})


def test_received_event_is_read_by_its_type() -> None:
    match received("content", {"content": "Hi", "is_complete": True}):
        case ReceivedEvent("content", Content(content=text, is_complete=True)):
            assert text == "Hi"
        case other:
            pytest.fail(repr(other))


def test_metadata_with_absent_fields_has_none() -> None:
    metadata = received("content", {"content": "Hi"}).metadata
    assert (metadata.request_id, metadata.timestamp, metadata.sequence) == ("req_1", 5, 3)
    assert (metadata.message_id, metadata.extra) == ("m", {"x": [1]})
    assert (metadata.session_id, metadata.duration_ms, metadata.source) == (None, None, None)


def test_to_dict_returns_unknown_fields_too() -> None:
    wire = {
        "type": "content",
        "data": {"content": "Hi", "sparkle": 1},
        "metadata": {"sequence": "one", "planet": "Mars", "request_id": "r"},
        "more": [None, 1.5, 2**70],
    }
    event = ReceivedEvent(wire)
    assert event.to_dict() == wire
    assert (event.metadata.sequence, event.metadata.request_id) == (None, "r")
    assert event == ReceivedEvent(event.to_dict())
    event.to_dict()["data"]["content"] = "changed"
    assert event.to_dict() == wire


@pytest.mark.parametrize("data", [{"x": 1}, None, [1], "text"])
def test_unknown_type_is_kept_unchanged(data: Any) -> None:
    event = received("hologram", data)
    assert event.data == Unknown("hologram", data)
    match event.data:
        case Unknown(type="hologram", data=value):
            assert value == data


def test_known_type_with_unreadable_data_is_unknown() -> None:
    assert isinstance(received("status", {"scope": "galaxy", "state": "started"}).data, Unknown)
    assert isinstance(received("content", "just text").data, Unknown)
    assert isinstance(ReceivedEvent({"type": "content"}).data, Unknown)


def test_values_of_a_wrong_type_are_converted() -> None:
    assert received("content", {"content": 42}).data == Content(
        "42", meta={"message_id": "m", "extra": {"x": [1]}}
    )
    progress = received("tool_call_progress", {"tool_id": "a", "progress": "half"}).data
    assert isinstance(progress, ToolCallProgress)
    assert progress.progress is None


def test_fields_that_1_0_does_not_have_are_derived() -> None:
    error = received("error", {"error_type": "timeout", "message": "late", "recoverable": False}).data
    assert isinstance(error, Error)
    assert (error.code, error.terminal) == ("UPSTREAM_TIMEOUT", True)
    start = received("session_start", {"session_id": "s", "request_id": "r"}).data
    assert isinstance(start, SessionStart)
    assert (start.session_id, start.request_id, start.protocol) == ("s", "r", "1.0")


def test_data_that_keeps_the_protocol_is_read_exactly() -> None:
    data = received("data", {"data_type": "state_delta", "data": [{"op": "remove", "path": "/a"}]}).data
    assert isinstance(data, Data)
    assert data.data == [{"op": "remove", "path": "/a"}]
    status = received("status", {"scope": "node", "state": "running", "detail": {"n": 1}}).data
    assert isinstance(status, Status)
    assert (status.name, status.detail) == (None, {"n": 1})


@pytest.mark.parametrize("message", [{}, {"type": 3}, {"type": None, "data": {}}, [], "content", None])
def test_message_without_a_type_raises(message: Any) -> None:
    with pytest.raises(MalformedEvent):
        ReceivedEvent(message)


def test_failure_events_are_like_received_ones() -> None:
    error, end = failure_events(error_info("UPSTREAM_UNREACHABLE"), request_id="r", sequence=4)
    assert isinstance(error.data, Error)
    assert (error.data.code, error.data.terminal) == ("UPSTREAM_UNREACHABLE", True)
    assert end.to_dict()["data"] == {"status": "error", "reason": "upstream_unreachable"}
    assert (error.metadata.sequence, end.metadata.sequence, end.metadata.request_id) == (4, 5, "r")
