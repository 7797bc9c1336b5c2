"""An application's own events as a response body: every content gives a valid stream."""

import asyncio
import gc
import inspect
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Generator, Iterator, MutableMapping
from contextvars import ContextVar
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from patience import PROMPTLY, until
from streamweir import (
    ConfigurationError,
    EventStream,
    StreamError,
    StreamingEngine,
    UnknownDialectError,
    collect_stream_warning,
    current_request_id,
    stream_error_event,
    stream_warning_event,
)
from streamweir.asgi import EventStreamResponse
from streamweir.context import WarningCollector
from streamweir.events import Content, SessionEnd, ToolCallStart
from streamweir.testing import check_stream, cuts
from streamweir.translation import clock
from streamweir.translation.received_event import ReceivedEvent

pytestmark = pytest.mark.anyio

LEGACY = b'data: {"type": "token", "content": "Hi"}\n\n'
LEGACY_DONE = b'data: {"type": "done"}\n\n'


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def body_of(stream: EventStream) -> bytes:
    return b"".join([piece async for piece in stream])


def events_in(body: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in body.split(b"\n") if line.startswith(b"data: ")]


async def events_of(content: Any, **options: Any) -> list[dict[str, Any]]:
    """Return the events of a stream without its start, after checking that it is valid."""
    stream = EventStream(content, **options)
    body = await body_of(stream)
    assert check_stream(body, headers=stream.headers) == []
    return events_in(body)[1:]


def kinds(events: list[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


def text_in(events: list[dict[str, Any]]) -> str:
    return "".join(event["data"]["content"] for event in events if event["type"] == "content")


def codes(events: list[dict[str, Any]]) -> list[str | None]:
    return [event["data"].get("message_code") for event in events if event["type"] == "warning"]


def end_of(events: list[dict[str, Any]]) -> str:
    return str(events[-1]["data"]["status"])


async def later(*items: Any) -> AsyncIterator[Any]:
    for item in items:
        await anyio.lowlevel.checkpoint()
        yield item


# Kinds of content


@pytest.mark.parametrize(
    "content",
    [
        lambda: later({"type": "content", "content": "Hi"}),
        lambda: later,
        lambda: [{"type": "content", "content": "Hi"}],
        lambda: iter(({"type": "content", "content": "Hi"},)),
        lambda: {"type": "content", "content": "Hi"},
        lambda: 'data: {"type":"content","data":{"content":"Hi"},"metadata":{}}\n\n',
    ],
)
async def test_content_can_be_any_iterable_or_one_event(content: Any) -> None:
    given = content()
    if given is later:
        events = await events_of(lambda: later({"type": "content", "content": "Hi"}))
    else:
        events = await events_of(given)
    assert text_in(events) == "Hi"
    assert end_of(events) == "completed"


async def test_content_can_be_a_coroutine_function_that_returns_an_iterable() -> None:
    async def make() -> list[Any]:
        return [Content("Hi")]

    assert text_in(await events_of(make)) == "Hi"


@pytest.mark.parametrize("content", [5, lambda: 5, None])
async def test_content_that_cannot_be_iterated_is_a_failed_stream(content: Any) -> None:
    assert kinds(await events_of(content)) == ["error", "session_end"]


# Kinds of items


@pytest.mark.parametrize(
    "item",
    [
        {
            "type": "content",
            "data": {"content": "Hi", "is_complete": False},
            "metadata": {"message_id": "m1"},
        },
        {"type": "content", "content": "Hi", "message_id": "m1"},
        {"type": "content", "content": "Hi", "metadata": {"message_id": "m1", "sequence": 7}},
        {"type": "content", "data": {"content": "Hi"}, "message_id": "m1"},
        Content("Hi", meta={"message_id": "m1"}),
        ReceivedEvent({"type": "content", "data": {"content": "Hi"}, "metadata": {"message_id": "m1"}}),
    ],
    ids=["standard", "flat", "flat with metadata", "mixed", "typed", "received"],
)
async def test_item_can_be_an_event_in_any_shape(item: Any) -> None:
    event = (await events_of([None, item]))[0]
    assert event["data"] == {"content": "Hi"}
    assert event["metadata"]["message_id"] == "m1"


async def test_flat_data_keeps_its_own_metadata() -> None:
    item = {"type": "data", "data_type": "chart", "data": {"a": 1}, "metadata": {"description": "d"}}
    event = (await events_of([item]))[0]
    assert event["data"] == {"data_type": "chart", "data": {"a": 1}, "metadata": {"description": "d"}}


async def test_unknown_fields_are_extra_and_unknown_types_are_custom() -> None:
    events = await events_of([{"type": "content", "content": "Hi", "mood": "good"}, {"type": "x", "a": 1}])
    assert events[0]["metadata"]["extra"] == {"mood": "good"}
    assert events[1]["data"] == {"data_type": "custom", "data": {"name": "x", "value": {"a": 1}}}


async def test_tool_calls_without_ids_are_paired() -> None:
    events = await events_of([{"type": "tool_call_start", "tool_name": "a"}, {"type": "tool_call_end"}])
    assert kinds(events) == ["tool_call_start", "tool_call_end", "session_end"]


@pytest.mark.parametrize(
    "item",
    [
        5,
        object(),
        [],
        {"content": "Hi"},
        {"type": 3},
        {"type": "content"},
        {"type": "content", "content": 5},
        {"type": "content", "data": "Hi"},
        {"type": "tool_call_progress", "progress": 3},
        Content(5),  # type: ignore[arg-type]
        ToolCallStart("a", "b", meta={"message_id": 7}),  # type: ignore[arg-type]
    ],
)
async def test_invalid_item_is_a_warning(item: Any) -> None:
    events = await events_of([item, Content("Hi")])
    assert codes(events) == ["UPSTREAM_MALFORMED_EVENT"]
    assert text_in(events) == "Hi"
    assert end_of(events) == "completed"


async def test_item_whose_attributes_raise_is_a_warning() -> None:
    class Odd:
        def to_dict(self) -> Any:
            raise RuntimeError("no")

    assert codes(await events_of([Odd()])) == ["UPSTREAM_MALFORMED_EVENT"]


async def test_error_item_ends_the_stream_even_if_it_is_invalid() -> None:
    error = {"type": "error", "message": "Too bad"}
    events = await events_of([error, Content("more")])
    assert kinds(events) == ["error", "session_end"]
    assert events[0]["data"]["message"] == "Too bad"
    events = await events_of([error, Content("more")], speaks="legacy")  # a message of that dialect
    assert kinds(events) == ["error", "session_end"]
    assert "Too bad" not in events[0]["data"]["message"]
    events = await events_of([{"type": "error", "message": 5}, Content("more")])
    assert kinds(events) == ["warning", "error", "session_end"]


async def test_items_after_the_end_are_dropped_and_the_content_is_closed() -> None:
    closed = []

    async def content() -> AsyncIterator[Any]:
        try:
            yield SessionEnd()
            yield Content("more")
        finally:
            closed.append(True)

    assert kinds(await events_of(content)) == ["session_end"]
    assert closed == [True]


# Text


@pytest.mark.parametrize("seed", range(3))
async def test_text_can_be_cut_anywhere(seed: int) -> None:
    pieces = cuts('data: {"type": "token", "content": "更好 ☕"}\n\n'.encode() + LEGACY_DONE, seed=seed)
    events = await events_of(later(*pieces), speaks="legacy")
    assert text_in(events) == "更好 ☕"
    assert end_of(events) == "completed"


async def test_text_of_an_engine_becomes_part_of_the_stream() -> None:
    async def content() -> AsyncIterator[Any]:
        engine = StreamingEngine(session_id="s9")
        yield await engine.emit_content("Hi")
        yield {"type": "content", "content": " there"}
        yield await engine.close()

    stream = EventStream(content)
    events = events_in(await body_of(stream))
    assert events[0]["data"]["session_id"] == "s9"
    assert text_in(events) == "Hi there"
    assert kinds(events).count("session_start") == kinds(events).count("session_end") == 1


async def test_standard_source_that_stops_is_complete() -> None:
    assert end_of(await events_of([])) == "completed"
    events = await events_of([{"type": "tool_call_start", "tool_id": "t", "tool_name": "a"}])
    assert kinds(events)[-2:] == ["tool_call_end", "session_end"]
    assert end_of(events) == "completed"


async def test_standard_source_that_stops_within_an_event_is_truncated() -> None:
    events = await events_of(['data: {"type":"content","data":{"content":"Hi"},"metadata":{}}\n\ndata: {"ty'])
    assert events[-2]["data"]["code"] == "UPSTREAM_TRUNCATED"


async def test_text_in_another_dialect_without_its_end_is_truncated() -> None:
    assert (await events_of([LEGACY], speaks="legacy"))[-2]["data"]["code"] == "UPSTREAM_TRUNCATED"
    assert end_of(await events_of([LEGACY, LEGACY_DONE], speaks="legacy")) == "completed"
    assert end_of(await events_of([Content("Hi")], speaks="legacy")) == "completed"


async def test_stream_with_an_open_question_is_suspended() -> None:
    item = {"type": "interaction", "interaction_id": "i", "kind": "form"}
    assert end_of(await events_of([item])) == "suspended"


async def test_dialect_of_text_can_be_detected() -> None:
    events = await events_of([LEGACY[:9], LEGACY[9:], LEGACY_DONE], speaks="auto")
    assert (text_in(events), end_of(events)) == ("Hi", "completed")


async def test_silence_after_soft_evidence_completes_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "SETTLE_SECONDS", 0.1)

    async def content() -> AsyncIterator[bytes]:
        yield LEGACY + b"data: [DONE]\n\n"
        await anyio.sleep(30)

    with anyio.fail_after(PROMPTLY):
        assert end_of(await events_of(content, speaks="legacy", heartbeat=None)) == "completed"


# Failures


async def test_exception_of_the_content_becomes_error_and_end(caplog: pytest.LogCaptureFixture) -> None:
    async def content() -> AsyncIterator[Any]:
        yield Content("Hi")
        raise ValueError("token=abc123secret")

    with caplog.at_level(logging.WARNING, "streamweir"):
        stream = EventStream(content)
        body = await body_of(stream)
    assert check_stream(body) == []
    assert kinds(events_in(body))[-2:] == ["error", "session_end"]
    assert b"abc123" not in body
    (record,) = caplog.records
    assert (record.levelname, record.request_id) == ("ERROR", stream.request_id)  # type: ignore[attr-defined]
    assert stream.translator.error is not None


async def test_stream_error_of_the_content_keeps_its_code_and_message() -> None:
    def content() -> Iterator[Any]:
        yield Content("Hi")
        raise StreamError("RATE_LIMITED", retry_after_ms=500)

    error = (await events_of(content))[-2]["data"]
    assert (error["code"], error["retry_after_ms"]) == ("RATE_LIMITED", 500)


async def test_function_that_fails_before_it_yields_is_a_failed_stream() -> None:
    def content() -> Any:
        raise KeyError("x")

    assert kinds(await events_of(content)) == ["error", "session_end"]


async def test_system_exit_of_the_content_is_raised() -> None:
    async def content() -> AsyncIterator[Any]:
        yield Content("Hi")
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        await body_of(EventStream(content))


# Marked events


async def test_marked_event_within_another_event_is_taken() -> None:
    def content() -> Iterator[Any]:
        yield LEGACY[:20]
        yield stream_warning_event("Careful", message_code="CAREFUL")
        yield LEGACY[20:]
        yield LEGACY_DONE

    events = await events_of(content, speaks="legacy")
    assert codes(events) == ["CAREFUL"]
    assert text_in(events) == "Hi"


async def test_marked_error_ends_a_stream_that_is_cut_off_within_an_event() -> None:
    def content() -> Iterator[Any]:
        yield LEGACY
        yield LEGACY[:20]
        yield stream_error_event(ConnectionError())
        yield LEGACY

    events = await events_of(content, speaks="legacy")
    assert events[-2]["data"]["code"] == "UPSTREAM_UNREACHABLE"
    assert text_in(events) == "Hi"


# Threads, contexts, silence


async def test_sync_iterator_runs_in_a_worker_thread_with_its_context() -> None:
    color: ContextVar[str] = ContextVar("color", default="none")
    threads = set()

    def content() -> Iterator[Any]:
        color.set("green")
        for _ in range(3):
            threads.add(threading.current_thread())
            yield Content(f"{color.get()} {current_request_id()} ")

    events = await events_of(content, request_id="r1")
    assert text_in(events) == "green r1 " * 3
    assert threading.main_thread() not in threads


@pytest.mark.parametrize("framing", ["sse", "ndjson"])
async def test_silence_between_events_gets_heartbeats(framing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    beats = [anyio.Event(), anyio.Event()]

    async def content() -> AsyncIterator[Any]:
        await beats[0].wait()
        yield Content("Hi")
        await beats[1].wait()

    stream = EventStream(content, heartbeat=0.03, framing=framing)
    heartbeat = stream.translator.writer.heartbeat

    def counted() -> bytes:
        next((event for event in beats if not event.is_set()), beats[1]).set()
        return heartbeat()

    monkeypatch.setattr(stream.translator.writer, "heartbeat", counted)
    pieces = [piece async for piece in stream]
    beat = b": ping\n" if framing == "sse" else b"\n"
    assert pieces[0] == pieces[-2] == beat
    assert check_stream(b"".join(pieces), framing=framing, headers=stream.headers) == []


async def test_heartbeat_at_the_end_is_not_the_last_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    beating = anyio.Event()

    async def content() -> AsyncIterator[Any]:
        yield Content("Hi")
        await beating.wait()

    stream = EventStream(content, heartbeat=0.01)
    heartbeat = stream.translator.writer.heartbeat

    def and_end() -> bytes:
        beating.set()
        return heartbeat()

    monkeypatch.setattr(stream.translator.writer, "heartbeat", and_end)
    body = await body_of(stream)
    assert b": ping" in body
    assert check_stream(body) == []


async def test_heartbeat_off_sends_no_heartbeat() -> None:
    async def content() -> AsyncIterator[Any]:
        await anyio.sleep(0.05)
        yield Content("Hi")

    assert b": ping" not in await body_of(EventStream(content, heartbeat="off"))


async def test_next_item_is_made_when_it_is_asked_for() -> None:
    made = []

    async def content() -> AsyncIterator[Any]:
        for number in range(5):
            made.append(number)
            yield Content(str(number))

    stream = EventStream(content)
    await stream.__anext__()
    await anyio.sleep(0.05)
    assert made == [0]
    await stream.aclose()


async def test_event_stream_can_be_sent_instead_of_iterated() -> None:
    pieces: list[bytes] = []

    async def send(piece: bytes) -> None:
        pieces.append(piece)

    stream = EventStream([Content("Hi")])
    await stream.send_to(send)
    assert check_stream(b"".join(pieces), headers=stream.headers) == []
    with pytest.raises(RuntimeError, match="once"):
        await stream.send_to(send)


async def test_exception_of_send_is_raised_and_closes_the_content() -> None:
    closed = []

    async def content() -> AsyncIterator[Any]:
        try:
            while True:
                yield Content("Hi")
        finally:
            closed.append(True)

    async def send(piece: bytes) -> None:
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        await EventStream(content).send_to(send)
    assert closed == [True]


# Leaving


async def test_aclose_runs_the_cleanup_of_the_generator_within_a_second() -> None:
    cleaned = []

    async def content() -> AsyncIterator[Any]:
        try:
            yield Content("Hi")
            await anyio.sleep(60)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.05)
            cleaned.append(True)

    stream = EventStream(content)
    await stream.__anext__()
    await stream.aclose()
    assert cleaned == [True]
    assert [piece async for piece in stream] == []
    await stream.aclose()


async def test_aclose_of_a_silent_stream_runs_the_cleanup() -> None:
    cleaned = []

    async def content() -> AsyncIterator[Any]:
        try:
            await anyio.sleep(60)
            yield Content("Hi")
        finally:
            cleaned.append(True)

    stream = EventStream(content)
    with anyio.move_on_after(0.05):
        await stream.__anext__()
    await until(lambda: bool(cleaned))


@pytest.mark.slow
async def test_cleanup_that_hangs_is_not_waited_for() -> None:
    may_end = anyio.Event()

    async def content() -> AsyncIterator[Any]:
        try:
            yield Content("Hi")
        finally:
            with anyio.CancelScope(shield=True):
                await may_end.wait()

    stream = EventStream(content)
    await stream.__anext__()
    with anyio.fail_after(5):
        await stream.aclose()
    may_end.set()


async def test_sync_generator_at_work_is_closed_after_its_step() -> None:
    cleaned = threading.Event()

    def content() -> Iterator[Any]:
        try:
            yield Content("Hi")
            time.sleep(0.2)
            yield Content("Ho")
        finally:
            cleaned.set()

    stream = EventStream(content)
    await stream.__anext__()
    with anyio.move_on_after(0.05):
        await stream.__anext__()
    await stream.aclose()
    await until(cleaned.is_set)


async def test_content_that_was_never_read_is_closed() -> None:
    def content() -> Generator[Content]:
        yield Content("Hi")

    generator = content()
    await EventStream(generator).aclose()
    assert inspect.getgeneratorstate(generator) == inspect.GEN_CLOSED


async def test_event_stream_that_is_garbage_collected_closes_its_content() -> None:
    cleaned = []

    async def content() -> AsyncIterator[Any]:
        try:
            while True:
                yield Content("Hi")
        finally:
            cleaned.append(True)

    stream = EventStream(content)
    await stream.__anext__()
    del stream
    gc.collect()
    await until(lambda: bool(cleaned))


async def test_body_ends_with_the_last_event_before_a_long_cleanup() -> None:
    async def content() -> AsyncIterator[Any]:
        try:
            yield SessionEnd()
        finally:
            await may_end.wait()

    may_end = anyio.Event()
    stream = EventStream(content)
    with anyio.fail_after(PROMPTLY):
        assert len([piece async for piece in stream]) == 1
    may_end.set()
    await stream.aclose()


# Warnings and ids


async def test_collected_warning_comes_before_the_next_event() -> None:
    async def content() -> AsyncIterator[Any]:
        assert collect_stream_warning("first", message_code="FIRST")
        yield Content("Hi")
        await anyio.to_thread.run_sync(lambda: collect_stream_warning("second", message_code="SECOND"))
        yield Content("Ho", is_complete=True)
        collect_stream_warning("last", message_code="LAST")

    events = await events_of(content)
    assert codes(events) == ["FIRST", "SECOND", "LAST"]
    assert kinds(events)[:4] == ["warning", "content", "warning", "content"]
    assert kinds(events)[-2:] == ["warning", "session_end"]


async def test_last_warnings_come_before_a_terminal_error() -> None:
    async def content() -> AsyncIterator[Any]:
        yield Content("Hi", is_complete=True)
        collect_stream_warning("last")
        raise ValueError

    assert kinds(await events_of(content))[-3:] == ["warning", "error", "session_end"]


async def test_more_than_a_hundred_warnings_are_counted() -> None:
    async def content() -> AsyncIterator[Any]:
        for number in range(150):
            assert collect_stream_warning(str(number))
        yield Content("Hi")

    messages = [e["data"]["message"] for e in await events_of(content) if e["type"] == "warning"]
    assert messages == [*map(str, range(100)), "50 more warnings were left out."]


async def test_event_stream_below_a_middleware_shares_id_and_warnings() -> None:
    collector = WarningCollector("req_outer")
    with collector.bound():
        collect_stream_warning("from the view", message_code="VIEW")
        stream = EventStream([Content("Hi")])
    assert collector.attached
    events = events_in(await body_of(stream))
    assert stream.request_id == "req_outer"
    assert kinds(events)[:3] == ["session_start", "warning", "content"]
    assert not collector.add(None)  # type: ignore[arg-type]


async def test_two_hundred_concurrent_streams_do_not_mix() -> None:
    def content(name: str) -> Any:
        async def slowly() -> AsyncIterator[Any]:
            for number in range(3):
                await anyio.sleep(0.001)
                collect_stream_warning(f"{name} {number}")
                yield Content(f"{current_request_id()} ")

        def in_threads() -> Iterator[Any]:
            for number in range(3):
                collect_stream_warning(f"{name} {number}")
                yield Content(f"{current_request_id()} ")

        return in_threads if name.endswith("0") else slowly

    async def check(name: str) -> None:
        body = await body_of(EventStream(content(name), request_id=name))
        assert check_stream(body) == []
        events = events_in(body)
        assert {event["metadata"]["request_id"] for event in events} == {name}
        assert text_in(events) == f"{name} " * 3
        assert [event["data"]["message"] for event in events if event["type"] == "warning"] == [
            f"{name} {number}" for number in range(3)
        ]

    async with anyio.create_task_group() as tasks:
        for number in range(200):
            tasks.start_soon(check, f"req_{number}")


# Options


async def test_event_stream_writes_other_protocols_and_framings() -> None:
    assert b'"token"' in await body_of(EventStream([Content("Hi")], protocol="legacy"))
    stream = EventStream([Content("Hi")], accept="application/x-ndjson")
    assert check_stream(await body_of(stream), framing="ndjson", headers=stream.headers) == []
    stream = EventStream([Content("Hi")], accept="application/json")
    assert check_stream(await body_of(stream), framing="json", headers=stream.headers) == []
    assert stream.translator.has_answer


async def test_warnings_of_the_host_come_first() -> None:
    events = await events_of([Content("Hi")], warnings=["one", {"message": "two", "message_code": "TWO"}])
    assert kinds(events)[:3] == ["warning", "warning", "content"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"speaks": "legasy"}, "did you mean 'legacy'"),
        ({"protocol": "nothing"}, "unknown dialect to write|unknown dialect"),
        ({"framing": "xml"}, "framing"),
        ({"heartbeat": "soon"}, "heartbeat"),
        ({"heartbeat": 0}, "heartbeat"),
        ({"full_text": "twice"}, "full_text"),
        ({"request_id": "not an id"}, "request id"),
    ],
)
def test_wrong_option_of_an_event_stream_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        EventStream([], **options)
    assert issubclass(UnknownDialectError, ConfigurationError)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_generator_on_asyncio_is_cancelled_once() -> None:
    """An `await` in the clean-up is not cancelled again, as in an ordinary asyncio task."""
    cleaned = []

    async def content() -> AsyncIterator[Any]:
        try:
            yield Content("Hi")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)
            cleaned.append(True)

    stream = EventStream(content)
    await stream.__anext__()
    reading = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0.02)
    reading.cancel()
    await until(lambda: cleaned == [True])


async def test_dict_is_a_message_of_the_spoken_dialect() -> None:
    items: list[dict[str, Any]] = [
        {"type": "token", "content": "Hi"},
        {"type": "content", "data": {"content": " there"}, "metadata": {}},
        {"type": "done"},
    ]
    events = events_in(await body_of(EventStream(items, speaks="legacy")))
    texts = [event["data"]["content"] for event in events if event["type"] == "content"]
    assert texts == ["Hi", " there", ""]
    assert events[-1]["data"]["status"] == "completed"
    assert b"UPSTREAM_TRUNCATED" in await body_of(EventStream(items[:2], speaks="legacy"))


class FirstItem:
    """A client that reads one piece of a response and leaves."""

    def __init__(self) -> None:
        self.has_read = anyio.Event()

    async def receive(self) -> MutableMapping[str, Any]:
        await self.has_read.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message.get("body"):
            self.has_read.set()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_generator_of_a_response_can_await_in_its_cleanup() -> None:
    cleaned: list[str] = []

    async def answer() -> AsyncIterator[dict[str, Any]]:
        try:
            yield {"type": "content", "content": "Hi"}
            await anyio.sleep(60)
        finally:
            await anyio.sleep(0.2)
            cleaned.append("cursor")

    client = FirstItem()
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    with anyio.fail_after(PROMPTLY):
        await EventStreamResponse(answer())(scope, client.receive, client.send)
    assert cleaned == ["cursor"]


async def test_content_that_never_waits_gives_way() -> None:
    """The server takes each piece at once, even if the client has left."""
    cleaned: list[str] = []

    async def flood() -> AsyncIterator[dict[str, Any]]:
        until = time.monotonic() + 2 * PROMPTLY
        try:
            while time.monotonic() < until:
                yield {"type": "content", "content": "more and more "}
        finally:
            cleaned.append("flood")

    client = FirstItem()
    scope = {"type": "http", "method": "GET", "path": "/", "headers": [], "query_string": b""}
    began = time.monotonic()
    await EventStreamResponse(flood(), heartbeat=None)(scope, client.receive, client.send)
    assert cleaned == ["flood"]
    assert time.monotonic() - began < PROMPTLY
