"""Events folded into the message of a user interface, and into the folded result."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from cases import for_each
from streams import Recorded, dialect_of, events_of, recorded_streams, translate
from streamweir import MessageState, MessageStreamHandler, ReceivedEvent, convert
from streamweir.errors import MalformedEvent, error_info
from streamweir.events import Content, Unknown
from streamweir.request_errors import StreamTruncated

STREAMS = recorded_streams()


def event(kind: str, data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"type": kind, "data": data or {}, "metadata": {"request_id": "req_1", **metadata}}


def text(piece: str, *, message_id: str | None = None, **data: Any) -> dict[str, Any]:
    ids = {"message_id": message_id} if message_id else {}
    return event("content", {"content": piece, **data}, **ids)


def folded_in(*events: dict[str, Any]) -> MessageState:
    handler = MessageStreamHandler()
    for each in events:
        handler.handle_event(each)
    return handler.message


@for_each("stream", STREAMS, group=dialect_of)
def test_message_state_equals_the_folded_answer_of_the_server(stream: Recorded) -> None:
    options: dict[str, Any] = {"speaks": stream.dialect, "protocol_options": {stream.dialect: stream.options}}
    folded = json.loads(translate([stream.body], **options, framing="json"))
    events = events_of(translate([stream.body], **options))
    assert folded_in(*events).folded() == folded
    typed = MessageStreamHandler()
    for each in events:
        received = ReceivedEvent(each)
        assert received.to_dict() == each
        assert not isinstance(received.data, Unknown)
        typed.handle_event(received)
    assert typed.message.folded() == folded


def test_every_event_of_a_stream_has_its_place() -> None:
    message = folded_in(
        event("session_start", {"session_id": "s"}, timestamp=100, session_id="s", thread_id="t"),
        event("thinking", {"content": "Hm"}, message_id="m1"),
        event(
            "tool_call_start",
            {"tool_id": "a", "tool_name": "add", "description": "adds", "arguments": {"x": 1}},
        ),
        event("tool_call_progress", {"tool_id": "a", "progress": 0.5, "message": "half"}),
        event("tool_call_progress", {"tool_id": "a", "progress": None}),
        event("tool_call_end", {"tool_id": "a", "status": "success", "result": [3]}, duration_ms=7),
        text("Hel", message_id="m1"),
        text("lo", message_id="m1", is_complete=True),
        text("# Report", channel="report"),
        event("data", {"data_type": "image", "data": {"url": "x"}, "metadata": {"description": "d"}}),
        event("reference", {"citations": [{"title": "T"}]}),
        event("status", {"scope": "node", "state": "started", "name": "n"}),
        event("warning", {"message": "careful", "message_code": "W"}),
        event("interaction", {"interaction_id": "i", "kind": "approval", "state": "requested"}),
        event(
            "session_end", {"status": "completed", "reason": "done", "summary": {"events": 14}}, timestamp=200
        ),
    )
    assert (message.message_id, message.role) == ("m1", "assistant")
    assert (message.thinking_content, message.main_content) == ("Hm", "Hello")
    assert message.channels == {"report": "# Report"}
    (call,) = message.tool_calls
    assert (call.tool_name, call.description, call.arguments) == ("add", "adds", {"x": 1})
    assert (call.status, call.progress, call.progress_message) == ("success", 0.5, "half")
    assert (call.result, call.error, call.duration_ms) == ([3], None, 7)
    (block,) = message.data_blocks
    assert (block.data_type, block.data, block.metadata) == ("image", {"url": "x"}, {"description": "d"})
    assert message.references[0].citations == [{"title": "T"}]
    assert message.interactions[0].interaction_id == "i"
    assert message.warnings[0].message == "careful"
    assert message.statuses[0].name == "n"
    assert (message.is_streaming, message.has_error, message.error_code) == (False, False, None)
    assert (message.status, message.reason, message.summary) == ("completed", "done", {"events": 14})
    known = message.metadata
    assert (known.request_id, known.session_id, known.thread_id) == ("req_1", "s", "t")
    assert (known.start_time, known.end_time) == (100, 200)


def test_messages_are_separated_by_an_empty_line() -> None:
    by_id = folded_in(text("A", message_id="1"), text("B", message_id="2"), text("a", message_id="1"))
    assert by_id.main_content == "Aa\n\nB"
    without = folded_in(text("A"), text("a", is_complete=True), text("B"), text("", is_complete=True))
    assert without.main_content == "Aa\n\nB"


def test_thinking_before_the_next_message_belongs_to_that() -> None:
    message = folded_in(
        event("thinking", {"content": "one"}),
        text("A", is_complete=True),
        event("thinking", {"content": "t"}),
        event("thinking", {"content": "wo"}),
        text("B", is_complete=True),
    )
    assert message.thinking_content == "one\n\ntwo"


def test_replacing_concerns_one_message_and_keeps_its_place() -> None:
    message = folded_in(
        text("A", message_id="1"), text("B", message_id="2"), text("new", message_id="1", op="replace")
    )
    assert message.main_content == "new\n\nB"
    unnamed = folded_in(text("A", is_complete=True), text("B", is_complete=True), text("C", op="replace"))
    assert unnamed.main_content == "A\n\nC"
    emptied = folded_in(
        text("A", message_id="1"), text("", message_id="1", op="replace"), text("B", message_id="2")
    )
    assert emptied.main_content == "B"


def test_text_can_be_read_after_each_event() -> None:
    seen: list[str] = []
    handler = MessageStreamHandler(on_update=lambda message: seen.append(message.main_content))
    for piece in "abc":
        assert handler.handle_event(text(piece)) is handler.message
    assert seen == ["a", "ab", "abc"]


def test_delta_changes_the_last_state_only() -> None:
    first, second = {"n": 1}, {"n": 10}
    message = folded_in(
        event("data", {"data_type": "state", "data": first}),
        event("data", {"data_type": "state", "data": second}),
        event("data", {"data_type": "chart", "data": {}}),
        event("data", {"data_type": "state_delta", "data": [{"op": "replace", "path": "/n", "value": 11}]}),
    )
    assert [(block.data_type, block.data) for block in message.data_blocks] == [
        ("state", {"n": 1}),
        ("state", {"n": 11}),
        ("chart", {}),
    ]
    assert (first, second) == ({"n": 1}, {"n": 10})
    assert [item["data_type"] for item in message.folded()["message"]["data"]] == [
        "state",
        "state",
        "chart",
        "state_delta",
    ]


def test_delta_without_a_state_starts_from_an_empty_one() -> None:
    message = folded_in(
        event("data", {"data_type": "state_delta", "data": [{"op": "add", "path": "/n", "value": 1}]})
    )
    assert [(block.data_type, block.data) for block in message.data_blocks] == [("state", {"n": 1})]


@pytest.mark.parametrize(
    "patch",
    [[{"op": "remove", "path": "/x"}], [{"op": "replace", "path": "", "value": 3}], {"op": "remove"}, ["?"]],
)
def test_bad_delta_is_a_warning_for_the_reader_alone(patch: Any) -> None:
    message = folded_in(
        event("data", {"data_type": "state", "data": {"n": 1}}),
        event("data", {"data_type": "state_delta", "data": patch}),
    )
    assert [block.data for block in message.data_blocks] == [{"n": 1}]
    assert [warning.message_code for warning in message.warnings] == ["STATE_DELTA_IGNORED"]
    assert message.folded()["warnings"] == []


def test_failure_is_reported_and_cleared_by_the_next_stream() -> None:
    handler = MessageStreamHandler()
    error = {"error_type": "timeout", "code": "UPSTREAM_TIMEOUT", "message": "late", "recoverable": True}
    for each in (
        event("session_start", timestamp=1),
        text("A"),
        event("error", {**error, "terminal": True}),
        event("session_end", {"status": "error", "reason": "idle_timeout"}, timestamp=2),
    ):
        handler.handle_event(each)
    message = handler.message
    assert (message.has_error, message.error_code, message.error_message) == (
        True,
        "UPSTREAM_TIMEOUT",
        "late",
    )
    assert (message.recoverable, message.status, message.reason) == (True, "error", "idle_timeout")
    handler.handle_event(event("session_start", timestamp=3))
    assert (message.has_error, message.is_streaming, message.status) == (False, True, None)
    assert (message.metadata.start_time, message.metadata.end_time) == (1, None)


def test_error_that_does_not_end_the_run_is_a_warning() -> None:
    error = {
        "error_type": "execution",
        "code": "X_FAILED",
        "message": "m",
        "recoverable": True,
        "terminal": False,
    }
    message = folded_in(event("error", error), text("A"), event("session_end", {"status": "completed"}))
    assert not message.has_error
    assert [(warning.message_code, warning.message) for warning in message.warnings] == [("X_FAILED", "m")]


def test_error_of_protocol_1_0_ends_the_message() -> None:
    message = folded_in(
        event("error", {"error_type": "timeout", "message": "late", "recoverable": True}),
        event("session_end", {"status": "error"}),
    )
    assert (message.has_error, message.error_code, message.error_message) == (
        True,
        "UPSTREAM_TIMEOUT",
        "late",
    )


def test_run_continues_in_the_next_stream() -> None:
    handler = MessageStreamHandler()
    for each in (
        event("session_start"),
        text("First"),
        event("tool_call_start", {"tool_id": "done", "tool_name": "one", "arguments": {}}),
        event("tool_call_end", {"tool_id": "done", "status": "success"}),
        event("tool_call_start", {"tool_id": "ask", "tool_name": "two", "arguments": {"q": 1}}),
        event("session_end", {"status": "suspended", "reason": "interaction"}),
        {**event("session_start"), "metadata": {"request_id": "req_2"}},
        event("tool_call_start", {"tool_id": "ask", "tool_name": "unknown", "arguments": {}}),
        event("tool_call_end", {"tool_id": "ask", "status": "success", "result": "yes"}),
        event("tool_call_start", {"tool_id": "done", "tool_name": "three", "arguments": {}}),
        text("Second"),
    ):
        handler.handle_event(each)
    message = handler.message
    assert message.main_content == "First\n\nSecond"
    assert [(call.tool_id, call.tool_name, call.status) for call in message.tool_calls] == [
        ("done", "one", "success"),
        ("ask", "two", "success"),
        ("done", "three", "running"),
    ]
    continued = MessageStreamHandler(message)
    continued.handle_event(event("session_end", {"status": "completed", "reason": "done"}))
    assert continued.message is message
    assert message.status == "completed"


def test_events_that_are_not_known_or_not_valid_change_nothing() -> None:
    message = folded_in(
        event("hologram", {"x": 1}), event("content", {"content": 3}), event("data", {"data": None})
    )
    assert message.main_content == "3"
    with pytest.raises(MalformedEvent):
        MessageStreamHandler().handle_event({"data": {}})


def test_orphans_of_a_broken_stream_do_no_harm() -> None:
    message = folded_in(
        event("tool_call_progress", {"tool_id": "x", "progress": 0.1}),
        event("tool_call_end", {"tool_id": "y", "status": "failed", "error": {"code": "E", "message": "m"}}),
    )
    assert [(call.tool_id, call.status) for call in message.tool_calls] == [("x", "running"), ("y", "failed")]


def test_events_of_an_own_decoder_are_folded_too() -> None:
    handler = MessageStreamHandler()
    handler.handle_event(Content("Hi", meta={"message_id": "m"}))
    assert handler.message.main_content == "Hi"


def test_long_answer_takes_time_in_proportion() -> None:
    body = b"".join(b'data: {"type": "token", "content": "0123456789"}\n\n' for _ in range(20_000))
    folded = json.loads(convert(body + b'data: {"type": "done"}\n\n', speaks="legacy", framing="json"))
    assert len(folded["message"]["content"]) == 200_000


@pytest.mark.anyio
async def test_consuming_folds_a_stream_and_closes_it() -> None:
    closed = False

    async def stream() -> AsyncIterator[dict[str, Any]]:
        nonlocal closed
        try:
            yield text("A")
            yield event("session_end", {"status": "completed"})
        finally:
            closed = True

    message = await MessageStreamHandler().consume(stream())
    assert (message.main_content, message.status, closed) == ("A", "completed", True)


@pytest.mark.anyio
async def test_exception_of_the_stream_is_raised_and_reported() -> None:
    async def stream() -> AsyncIterator[dict[str, Any]]:
        yield text("A")
        raise StreamTruncated(error_info("UPSTREAM_TRUNCATED"), request_id="req_1")

    handler = MessageStreamHandler()
    with pytest.raises(StreamTruncated):
        await handler.consume(stream())
    message = handler.message
    assert (message.main_content, message.error_code, message.is_streaming) == (
        "A",
        "UPSTREAM_TRUNCATED",
        False,
    )
    assert message.metadata.end_time is not None


@pytest.mark.anyio
async def test_observer_that_fails_leaves_no_stream_behind() -> None:
    async def stream() -> AsyncGenerator[dict[str, Any]]:
        yield text("A")
        yield text("B")

    def observe(message: MessageState) -> None:
        raise RuntimeError("no screen")

    handler = MessageStreamHandler(on_update=observe)
    async with aclosing(stream()) as events:
        with pytest.raises(RuntimeError, match="no screen"):
            await handler.consume(events)
        assert [each async for each in events] == []
    assert not handler.message.is_streaming
