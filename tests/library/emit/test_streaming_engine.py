"""StreamingEngine: the output of each emitter, refusals, repairs."""

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from streamweir import (
    ConfigurationError,
    EventValidationError,
    LifecycleError,
    StreamError,
    StreamingEngine,
    UnknownDialectError,
)
from streamweir.testing import check_stream

pytestmark = pytest.mark.anyio

Emit = Callable[[StreamingEngine], Awaitable[str]]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def events_in(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]


def kinds(text: str) -> list[str]:
    return [event["type"] for event in events_in(text)]


async def after_start(engine: StreamingEngine, emit: Emit) -> dict[str, Any]:
    """Return the last event that `emit` sends in a stream that has begun."""
    await engine.emit_session_start()
    return events_in(await emit(engine))[-1]


EMITTED: list[tuple[Emit, str, dict[str, Any]]] = [
    (lambda e: e.emit_thinking("Hm", "planning"), "thinking", {"content": "Hm", "stage": "planning"}),
    (
        lambda e: e.emit_tool_call_start("t1", "search", "Looks it up", {"q": 1}),
        "tool_call_start",
        {"tool_id": "t1", "tool_name": "search", "description": "Looks it up", "arguments": {"q": 1}},
    ),
    (
        lambda e: e.emit_tool_call_delta("t1", '{"q"', "search"),
        "tool_call_delta",
        {"tool_id": "t1", "tool_name": "search", "arguments_delta": '{"q"'},
    ),
    (
        lambda e: e.emit_tool_call_progress("t1", 0.5, "half"),
        "tool_call_progress",
        {"tool_id": "t1", "progress": 0.5, "message": "half"},
    ),
    (
        lambda e: e.emit_tool_call_end("t1", result=[1]),
        "tool_call_end",
        {"tool_id": "t1", "status": "success", "result": [1]},
    ),
    (
        lambda e: e.emit_tool_call_end("t1", "failed", error="no such table"),
        "tool_call_end",
        {"tool_id": "t1", "status": "failed", "error": {"code": "TOOL_FAILED", "message": "no such table"}},
    ),
    (
        lambda e: e.emit_content("Hi", "text", True, channel="report"),
        "content",
        {"content": "Hi", "format": "text", "is_complete": True, "channel": "report"},
    ),
    (
        lambda e: e.emit_data(
            "dataframe", {"name": "t", "columns": ["a"], "rows": [[1]]}, {"description": "d"}
        ),
        "data",
        {
            "data_type": "dataframe",
            "data": {"name": "t", "columns": ["a"], "rows": [[1]]},
            "metadata": {"description": "d"},
        },
    ),
    (
        lambda e: e.emit_data("state_delta", [{"op": "add", "path": "/a", "value": 1}]),
        "data",
        {"data_type": "state_delta", "data": [{"op": "add", "path": "/a", "value": 1}]},
    ),
    (
        lambda e: e.emit_reference([{"title": "A", "score": 0.5}]),
        "reference",
        {"citations": [{"title": "A", "score": 0.5}]},
    ),
    (
        lambda e: e.emit_status("node", "started", name="plan", detail={"n": 1}),
        "status",
        {"scope": "node", "state": "started", "name": "plan", "detail": {"n": 1}},
    ),
    (
        lambda e: e.emit_warning("Slow today", message_code="SLOW", detail={"seen": 1}),
        "warning",
        {"message": "Slow today", "message_code": "SLOW"},
    ),
    (
        lambda e: e.emit_interaction(
            "i1", "questions", questions=[{"text": "Which?", "response_type": "free_text"}]
        ),
        "interaction",
        {
            "interaction_id": "i1",
            "kind": "questions",
            "state": "requested",
            "questions": [{"text": "Which?", "response_type": "free_text"}],
        },
    ),
    (
        lambda e: e.emit_error("execution", "It broke", {"why": 1}, code="ACME_BROKE", terminal=False),
        "error",
        {
            "error_type": "execution",
            "code": "ACME_BROKE",
            "message": "It broke",
            "recoverable": False,
            "terminal": False,
        },
    ),
]


@pytest.mark.parametrize(("emit", "kind", "data"), EMITTED)
async def test_emitter_writes_its_arguments(emit: Emit, kind: str, data: dict[str, Any]) -> None:
    event = await after_start(StreamingEngine(), emit)
    assert (event["type"], event["data"]) == (kind, data)


async def test_engine_stream_from_start_to_end_is_valid() -> None:
    engine = StreamingEngine("req_7", session_id="s1", thread_id="th1")
    body = await engine.emit_session_start()
    body += await engine.emit_tool_call_start("t1", "search", meta={"run_id": "r1", "extra": {"n": 1}})
    body += await engine.emit_tool_call_end("t1", result="x", duration_ms=5)
    body += await engine.emit_content("Hi", meta={"message_id": "m1"})
    assert (engine.sequence, engine.closed) == (4, False)
    body += await engine.emit_session_end(summary={"total_tokens": 9, "duration_ms": 1234})
    assert engine.closed
    assert check_stream(body.encode(), headers=engine.headers) == []
    events = events_in(body)
    assert events[0]["data"] == {"session_id": "s1", "request_id": "req_7", "protocol": "1.1"}
    assert {event["metadata"]["thread_id"] for event in events} == {"th1"}
    assert events[1]["metadata"]["extra"] == {"n": 1}
    assert events[2]["metadata"]["duration_ms"] == 5
    assert events[-1]["data"] == {
        "status": "completed",
        "reason": "done",
        "summary": {"duration_ms": 1234, "total_tokens": 9, "tool_calls": 1, "events": 6},
    }


async def test_emitter_can_return_several_frames() -> None:
    assert kinds(await StreamingEngine().emit_content("Hi")) == ["session_start", "content"]


async def test_emitter_of_an_empty_piece_returns_nothing() -> None:
    engine = StreamingEngine()
    assert await engine.emit_content("") == ""
    assert engine.sequence == 0


async def test_details_with_debug_are_redacted() -> None:
    event = await after_start(
        StreamingEngine(debug=True),
        lambda e: e.emit_warning("Careful", detail={"where": "/srv/app/x.py", "n": 1}),
    )
    assert event["data"]["detail"]["n"] == 1
    assert "/srv/app" not in str(event)


INVALID: list[tuple[str, Emit]] = [
    ("content", lambda e: e.emit_content(5)),  # type: ignore[arg-type]
    ("content", lambda e: e.emit_content(None)),  # type: ignore[arg-type]
    ("format", lambda e: e.emit_content("x", "rtf")),
    ("op", lambda e: e.emit_content("x", op="insert")),
    ("channel", lambda e: e.emit_content("x", channel="")),
    ("stage", lambda e: e.emit_thinking("x", "dreaming")),
    ("tool_id", lambda e: e.emit_tool_call_start("", "search")),
    ("tool_id", lambda e: e.emit_tool_call_end(7)),  # type: ignore[arg-type]
    ("tool_name", lambda e: e.emit_tool_call_start("t", "")),
    ("arguments", lambda e: e.emit_tool_call_start("t", "search", arguments=[1])),  # type: ignore[arg-type]
    ("arguments", lambda e: e.emit_tool_call_start("t", "search", arguments={"x": object()})),
    ("progress", lambda e: e.emit_tool_call_progress("t", 1.5)),
    ("progress", lambda e: e.emit_tool_call_progress("t", True)),
    ("status", lambda e: e.emit_tool_call_end("t", "done")),
    ("error", lambda e: e.emit_tool_call_end("t", "success", error="but why")),
    ("error.code", lambda e: e.emit_tool_call_end("t", "failed", error={"code": "no code", "message": "x"})),
    ("meta.duration_ms", lambda e: e.emit_tool_call_end("t", duration_ms=-1)),
    ("meta.duration_ms", lambda e: e.emit_content("x", meta={"duration_ms": 5})),
    ("meta.message", lambda e: e.emit_content("x", meta={"message": "m1"})),
    ("meta.message_id", lambda e: e.emit_content("x", meta={"message_id": ""})),
    ("meta.extra", lambda e: e.emit_content("x", meta={"extra": [1]})),
    ("meta.extra", lambda e: e.emit_error("system", "x", meta={"extra": {"a": 1}})),
    ("data_type", lambda e: e.emit_data("spreadsheet", {})),
    ("data", lambda e: e.emit_data("state_delta", [{"op": "increment", "path": "/a"}])),
    ("data", lambda e: e.emit_data("chart", [1])),
    ("data.rows", lambda e: e.emit_data("dataframe", {"name": "t", "columns": [], "rows": [{"a": 1}]})),
    ("data", lambda e: e.emit_data("image", {"media_type": "image/png"})),
    ("data.media_type", lambda e: e.emit_data("file", {"url": "https://x.test/a"})),
    ("data.name", lambda e: e.emit_data("custom", {"value": 1})),
    ("citations[0].href", lambda e: e.emit_reference([{"href": "x"}])),
    ("citations[1]", lambda e: e.emit_reference([{}, 5])),  # type: ignore[list-item]
    ("scope", lambda e: e.emit_status("house", "started")),
    ("message", lambda e: e.emit_warning(5)),  # type: ignore[arg-type]
    ("interaction_id", lambda e: e.emit_interaction("", "form")),
    ("kind", lambda e: e.emit_interaction("i", "riddle")),
    ("questions[0].response_type", lambda e: e.emit_interaction("i", "form", questions=[{"text": "?"}])),
    ("error_type", lambda e: e.emit_error("fatal", "x")),
    ("code", lambda e: e.emit_error("system", "x", code="not-a-code")),
    ("code", lambda e: e.emit_error("system", "x", code="TOOL_FAILED")),
    ("status", lambda e: e.emit_session_end("finished")),
    ("reason", lambda e: e.emit_session_end("completed", reason="truncated")),
    ("summary.cost", lambda e: e.emit_session_end(summary={"cost": 3})),
    ("summary.total_tokens", lambda e: e.emit_session_end(summary={"total_tokens": -3})),
    ("summary.finish_reason", lambda e: e.emit_session_end(summary={"finish_reason": "bored"})),
    ("status", lambda e: e.close("finished")),
]


@pytest.mark.parametrize(("field", "emit"), INVALID)
async def test_forbidden_value_is_refused_with_the_name_of_the_field(field: str, emit: Emit) -> None:
    engine = StreamingEngine()
    with pytest.raises(EventValidationError) as caught:
        await emit(engine)
    assert caught.value.field == field
    assert str(caught.value).startswith(field)
    assert isinstance(caught.value, ValueError)
    assert engine.sequence == 0
    assert check_stream((await engine.emit_content("Hi") + await engine.close()).encode()) == []


async def test_endless_value_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["self"] = circle
    with pytest.raises(EventValidationError, match="result"):
        await StreamingEngine().emit_tool_call_end("t", result=circle)


async def test_python_values_are_written_as_json() -> None:
    event = await after_start(
        StreamingEngine(),
        lambda e: e.emit_data("custom", {"name": "n", "value": {1: {"b"}, "big": 2**70, "no": float("nan")}}),
    )
    assert event["data"]["data"]["value"] == {"1": ["b"], "big": str(2**70), "no": None}


async def test_lone_surrogate_is_repaired() -> None:
    event = await after_start(StreamingEngine(), lambda e: e.emit_content("a\ud83d"))
    assert event["data"]["content"] == "a\ufffd"


async def refused(engine: StreamingEngine, emit: Emit) -> None:
    before = engine.sequence
    with pytest.raises(LifecycleError) as caught:
        await emit(engine)
    assert isinstance(caught.value, RuntimeError)
    assert engine.sequence == before


async def test_emitter_after_the_end_is_refused() -> None:
    engine = StreamingEngine()
    await engine.close()
    await refused(engine, lambda e: e.emit_content("x"))
    await refused(engine, lambda e: e.emit_session_start())
    await refused(engine, lambda e: e.emit_session_end())
    await refused(engine, lambda e: e.emit_error("system", "x"))
    await refused(engine, lambda e: e.emit_exception(ValueError()))
    assert await engine.close() == ""


async def test_second_session_start_is_refused() -> None:
    engine = StreamingEngine()
    body = await engine.emit_session_start()
    await refused(engine, lambda e: e.emit_session_start("other"))
    body += await engine.close()
    assert check_stream(body.encode()) == []


async def test_second_use_of_a_tool_id_is_refused() -> None:
    engine = StreamingEngine()
    body = await engine.emit_tool_call_start("t1", "a")
    await refused(engine, lambda e: e.emit_tool_call_start("t1", "a"))
    await refused(engine, lambda e: e.emit_tool_call_delta("t1", "{"))
    body += await engine.emit_tool_call_end("t1")
    for again in (
        lambda e: e.emit_tool_call_start("t1", "b"),
        lambda e: e.emit_tool_call_end("t1"),
        lambda e: e.emit_tool_call_progress("t1", 1),
    ):
        await refused(engine, again)
    body += await engine.close()
    assert check_stream(body.encode()) == []


async def test_argument_pieces_come_before_their_call() -> None:
    engine = StreamingEngine()
    body = await engine.emit_tool_call_delta("t1", '{"q":', "search")
    body += await engine.emit_tool_call_delta("t1", "1}")
    body += await engine.emit_tool_call_start("t1", "search", arguments={"q": 1})
    body += await engine.emit_tool_call_end("t1")
    body += await engine.close()
    assert check_stream(body.encode()) == []
    assert kinds(body).count("tool_call_start") == 1


async def test_terminal_error_leaves_the_end_to_the_caller() -> None:
    engine = StreamingEngine()
    body = await engine.emit_content("Hi")
    body += await engine.emit_error("timeout", "Too slow", code="UPSTREAM_TIMEOUT")
    assert kinds(body)[-1] == "error"
    assert not engine.closed
    await refused(engine, lambda e: e.emit_content("more"))
    await refused(engine, lambda e: e.emit_error("system", "again"))
    await refused(engine, lambda e: e.emit_session_end("completed"))
    with pytest.raises(EventValidationError, match="reason"):
        await engine.emit_session_end("error", reason="draining")
    body += await engine.emit_session_end("error", {"total_tokens": 3}, reason="idle_timeout")
    assert check_stream(body.encode()) == []
    end = events_in(body)[-1]["data"]
    assert (end["status"], end["reason"], end["summary"]["total_tokens"]) == ("error", "idle_timeout", 3)


async def test_emit_error_with_recoverable_does_not_end_the_run() -> None:
    engine = StreamingEngine()
    body = await engine.emit_error("timeout", "Once more", recoverable=True)
    body += await engine.emit_content("Hi")
    body += await engine.close()
    assert check_stream(body.encode()) == []
    (error,) = [event["data"] for event in events_in(body) if event["type"] == "error"]
    assert (error["error_type"], error["code"]) == ("timeout", "INTERNAL")
    assert (error["recoverable"], error["terminal"]) == (True, False)
    assert events_in(body)[-1]["data"]["status"] == "completed"


@pytest.mark.parametrize("recoverable", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
async def test_emit_error_follows_terminal(recoverable: bool, terminal: bool) -> None:
    engine = StreamingEngine()
    body = await engine.emit_error("execution", "Broken", recoverable=recoverable, terminal=terminal)
    body += await engine.close()
    assert check_stream(body.encode()) == []
    end = events_in(body)[-1]["data"]
    assert (end["status"], end["reason"]) == (("error", "internal") if terminal else ("completed", "done"))


async def test_close_after_a_terminal_error_ends_with_error() -> None:
    engine = StreamingEngine()
    body = await engine.emit_error("system", "Broken")
    body += await engine.close()
    assert check_stream(body.encode()) == []
    assert events_in(body)[-1]["data"]["status"] == "error"


async def test_exception_after_a_terminal_error_only_ends_the_stream() -> None:
    engine = StreamingEngine()
    body = await engine.emit_error("system", "Broken")
    body += await engine.emit_exception(ValueError("x"))
    assert check_stream(body.encode()) == []
    assert kinds(body).count("error") == 1


@pytest.mark.parametrize("reason", [None, "idle_timeout", "internal", "draining", "limit", "truncated"])
async def test_session_end_with_error_adds_an_error(reason: str | None) -> None:
    engine = StreamingEngine()
    body = await engine.emit_session_end("error", reason=reason)
    assert check_stream(body.encode()) == []
    assert kinds(body) == ["session_start", "error", "session_end"]
    assert events_in(body)[-1]["data"]["reason"] == (reason or "upstream_error")


async def test_open_calls_are_closed_before_the_end() -> None:
    engine = StreamingEngine()
    body = await engine.emit_tool_call_start("t1", "a")
    body += await engine.emit_content("Hi")
    body += await engine.emit_error("system", "Broken")
    assert kinds(body)[-3:] == ["tool_call_end", "content", "error"]
    body += await engine.close()
    assert check_stream(body.encode()) == []


async def test_suspended_session_keeps_its_calls_open() -> None:
    engine = StreamingEngine()
    body = await engine.emit_tool_call_start("t1", "pick_file")
    body += await engine.emit_interaction("t1", "tool")
    body += await engine.emit_session_end("suspended")
    assert check_stream(body.encode()) == []
    assert "tool_call_end" not in kinds(body)


async def test_call_without_start_is_repaired_with_a_warning() -> None:
    body = await StreamingEngine().emit_tool_call_end("t9", result=1)
    assert kinds(body) == ["session_start", "warning", "tool_call_start", "tool_call_end"]
    assert events_in(body)[1]["data"]["message_code"] == "TOOL_CALL_REPAIRED"


async def test_text_of_an_exception_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    engine = StreamingEngine()
    with caplog.at_level(logging.WARNING, "streamweir"):
        body = await engine.emit_exception(ValueError("password=zebra"))
    assert check_stream(body.encode()) == []
    assert "zebra" not in body
    assert events_in(body)[-2]["data"]["code"] == "INTERNAL"
    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert record.exc_info
    assert record.request_id == engine.request_id  # type: ignore[attr-defined]


async def test_stream_error_keeps_its_code_and_message(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "streamweir"):
        body = await StreamingEngine().emit_exception(StreamError("NO_SUCH_REPORT", "That report is gone."))
    error = events_in(body)[-2]["data"]
    assert (error["code"], error["message"]) == ("NO_SUCH_REPORT", "That report is gone.")
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert not record.exc_info


async def test_sink_gets_texts_of_several_tasks_in_order() -> None:
    got: list[str] = []

    async def sink(text: str) -> None:
        await anyio.sleep(0.001 * (len(got) % 3))
        got.append(text)

    async def talk(channel: str) -> None:
        for number in range(20):
            await engine.emit_content(str(number), channel=channel)

    engine = StreamingEngine(sink=sink)
    async with engine, anyio.create_task_group() as tasks:
        for channel in "abcd":
            tasks.start_soon(talk, channel)
    assert check_stream("".join(got).encode()) == []
    assert engine.closed


async def test_text_of_a_cancelled_emitter_is_sent() -> None:
    got: list[str] = []
    gate = anyio.Event()

    async def sink(text: str) -> None:
        if not got:
            got.append(text)
            await gate.wait()
        else:
            got.append(text)

    engine = StreamingEngine(sink=sink)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(engine.emit_content, "one")
        await anyio.sleep(0.01)
        with anyio.move_on_after(0.01):
            await engine.emit_content("two")
        gate.set()
        await engine.emit_content("three")
        await engine.close()
    assert check_stream("".join(got).encode()) == []


async def test_first_exception_of_the_sink_is_raised_and_the_engine_continues() -> None:
    got: list[str] = []

    async def sink(text: str) -> None:
        if len(got) == 1:
            got.append("")
            raise OSError("gone")
        got.append(text)

    engine = StreamingEngine(sink=sink)
    first = await engine.emit_content("one")
    with pytest.raises(OSError, match="gone"):
        await engine.emit_content("two")
    third = await engine.emit_content("three")
    assert got == [first, "", third]


async def test_sink_that_keeps_raising_does_not_stop_later_emitters(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def sink(text: str) -> None:
        raise OSError("gone")

    engine = StreamingEngine(sink=sink)
    with pytest.raises(OSError, match="gone"):
        await engine.emit_content("one")
    assert kinds(await engine.emit_content("two")) == ["content"]
    assert kinds(await engine.close()) == ["content", "session_end"]


async def test_exception_in_the_block_becomes_the_end() -> None:
    got: list[str] = []

    async def sink(text: str) -> None:
        got.append(text)

    async with StreamingEngine(sink=sink) as engine:
        await engine.emit_content("Hi")
        raise KeyError("x")
    body = "".join(got)
    assert check_stream(body.encode()) == []
    assert kinds(body)[-2:] == ["error", "session_end"]


async def test_cancellation_passes_through_the_block() -> None:
    engine = StreamingEngine()
    with anyio.move_on_after(0.01) as scope:
        async with engine:
            await anyio.sleep(5)
    assert scope.cancelled_caught
    assert not engine.closed


async def test_log_gets_one_record_for_each_event(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[dict[str, Any]] = []
    engine = StreamingEngine(log=seen.append)
    body = await engine.emit_content("Hi") + await engine.close()
    assert seen == events_in(body)
    with caplog.at_level(logging.DEBUG, "acme"):
        await StreamingEngine(log=logging.getLogger("acme")).emit_content("Hi")
    assert [record.levelname for record in caplog.records] == ["DEBUG", "DEBUG"]


async def test_log_that_raises_does_not_change_the_stream() -> None:
    def log(event: dict[str, Any]) -> None:
        raise ValueError

    body = await StreamingEngine(log=log).emit_exception(StreamError("A_CODE"))
    assert check_stream(body.encode()) == []


@pytest.mark.parametrize(("protocol", "marker"), [("legacy", '"type":"token"'), ("easyflow", "Hello")])
async def test_engine_writes_other_protocols(protocol: str, marker: str) -> None:
    engine = StreamingEngine(protocol=protocol)
    body = await engine.emit_content("Hello")
    assert marker in body
    body += await engine.close()
    assert body.strip()


async def test_engine_writes_ndjson_and_folded_results() -> None:
    engine = StreamingEngine(framing="ndjson")
    body = await engine.emit_content("Hi") + await engine.close()
    assert check_stream(body.encode(), framing="ndjson", headers=engine.headers) == []
    engine = StreamingEngine(framing="json")
    assert await engine.emit_content("Hi") == ""
    assert await engine.emit_error("system", "Broken") == ""
    body = await engine.close()
    assert check_stream(body.encode(), framing="json", headers=engine.headers) == []
    assert json.loads(body)["error"]["message"] == "Broken"


def test_wrong_option_of_the_engine_is_refused() -> None:
    with pytest.raises(UnknownDialectError, match="did you mean 'legacy'"):
        StreamingEngine(protocol="legasy")
    with pytest.raises(ConfigurationError, match="framing"):
        StreamingEngine(framing="xml")
    with pytest.raises(ConfigurationError, match="request id"):
        StreamingEngine("not an id")
