"""Streams are asked for over real HTTP and read event by event, on asyncio and on trio."""

import functools
import gzip
import json
import subprocess
import sys
import zlib
from typing import Any

import anyio
import httpx
import pytest

from patience import PROMPTLY
from scripted_upstream import Call, Script, Upstream, upstream
from streamweir import MessageStreamHandler, Translator
from streamweir.client import (
    ConnectionFailed,
    ReceivedEvent,
    RequestRejected,
    RequestTimeout,
    StreamFailed,
    StreamRequestError,
    StreamTruncated,
    stream_request,
)
from streamweir.errors import ConfigurationError, UnknownDialectError
from streamweir.events import Content, SessionEnd

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def wire(kind: str, sequence: int, **data: Any) -> dict[str, Any]:
    metadata = {"request_id": "req_srv", "timestamp": 1_790_000_000_000, "sequence": sequence}
    return {"type": kind, "data": data, "metadata": metadata}


START = wire("session_start", 0, session_id="s", request_id="req_srv", protocol="1.1")
HELLO = wire("content", 1, content="Hel\u2028lo 更好 ☕", is_complete=True)
END = wire("session_end", 2, status="completed", reason="done")
FAILURE = wire(
    "error",
    2,
    error_type="timeout",
    code="UPSTREAM_TIMEOUT",
    message="Late.",
    recoverable=True,
    terminal=True,
)
FAILED_END = wire("session_end", 3, status="error", reason="idle_timeout")


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: %s\n\n" % json.dumps(event, ensure_ascii=False).encode() for event in events)


def ndjson(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event, ensure_ascii=False).encode() + b"\n" for event in events)


LEGACY = b'data: {"type": "token", "content": "Hi"}\n\n'
LEGACY_END = b'data: {"type": "done"}\n\n'


def answering(body: bytes, *headers: str, **options: str) -> Script:
    async def script(call: Call) -> None:
        await call.begin(*headers, **options)
        await call.send(body)

    return script


def beginning(*pieces: bytes) -> Script:
    """Send the pieces, then say nothing until the client has gone."""

    async def script(call: Call) -> None:
        await call.begin()
        await call.send(*pieces)
        await call.until_closed()

    return script


async def read(server: Upstream, **options: Any) -> list[ReceivedEvent]:
    async with stream_request(f"{server.url}/chat", **options) as events:
        return [event async for event in events]


def types(events: list[ReceivedEvent]) -> list[str]:
    return [event.type for event in events]


def code_of(events: list[ReceivedEvent]) -> str:
    """The code of the one error, which stands before the end."""
    assert types(events)[-2:] == ["error", "session_end"]
    assert types(events).count("error") == 1
    return str(events[-2].to_dict()["data"]["code"])


# What arrives


@pytest.mark.parametrize(("write", "kind"), [(sse, "text/event-stream"), (ndjson, "application/x-ndjson")])
async def test_standard_stream_keeps_its_events(write: Any, kind: str) -> None:
    async with upstream(answering(write(START, HELLO, END), content_type=kind)) as server:
        events = await read(server)
    assert [event.to_dict() for event in events] == [START, HELLO, END]
    assert isinstance(events[1].data, Content)
    assert events[1].data.content == "Hel\u2028lo 更好 ☕"


async def test_stream_cut_anywhere_gives_the_same_events() -> None:
    body = sse(START, HELLO, END)
    async with upstream(beginning(*(body[i : i + 1] for i in range(len(body))))) as server:
        assert [event.to_dict() for event in await read(server)] == [START, HELLO, END]


async def test_event_is_returned_before_the_next_is_sent() -> None:
    async with upstream(beginning(sse(START))) as server, stream_request(f"{server.url}/chat") as events:
        assert (await anext(events)).type == "session_start"


async def test_session_end_ends_the_stream_on_an_open_connection() -> None:
    async with upstream(beginning(sse(START, HELLO, END, HELLO))) as server:
        assert types(await read(server)) == ["session_start", "content", "session_end"]
        await server.until_finished()


async def test_heartbeats_and_done_marks_are_no_events() -> None:
    body = b": ping\n\n" + sse(START) + b": ping\n\nretry: 3\n\n" + sse(HELLO, END) + b"data: [DONE]\n\n"
    async with upstream(answering(body)) as server:
        assert len(await read(server)) == 3


async def test_malformed_event_is_a_warning() -> None:
    body = b"data: {nonsense\n\n" + sse(START) + b"data: 3\n\n" + sse(HELLO, END)
    async with upstream(answering(body)) as server:
        events = await read(server)
    assert types(events) == ["session_start", "warning", "warning", "content", "session_end"]


async def test_too_many_malformed_events_end_the_stream() -> None:
    async with upstream(beginning(sse(START), b"data: no\n\n" * 200)) as server:
        with pytest.raises(StreamFailed) as caught:
            await read(server)
    assert (caught.value.info.code, caught.value.info.reason) == ("STREAM_LIMIT_EXCEEDED", "malformed")


@pytest.mark.parametrize("speaks", ["legacy", "auto"])
async def test_any_dialect_is_read(speaks: str) -> None:
    async with upstream(answering(LEGACY + LEGACY_END)) as server:
        events = await read(server, speaks=speaks, request_id="req_mine")
    assert types(events) == ["session_start", "content", "content", "session_end"]
    assert {event.metadata.request_id for event in events} == {"req_mine"}
    assert [event.metadata.sequence for event in events] == [0, 1, 2, 3]


async def test_stream_with_soft_evidence_ends_after_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamweir.translation.clock.SETTLE_SECONDS", 0.05)
    async with upstream(beginning(LEGACY, b"data: [DONE]\n\n")) as server:
        events = await read(server, speaks="legacy")
    assert events[-1].to_dict()["data"]["status"] == "completed"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_compressed_answer_is_unpacked(coding: str) -> None:
    packed = (
        gzip.compress(sse(START, HELLO, END)) if coding == "gzip" else zlib.compress(sse(START, HELLO, END))
    )
    async with upstream(answering(packed, f"Content-Encoding: {coding}")) as server:
        assert types(await read(server)) == ["session_start", "content", "session_end"]


async def test_fold_of_a_response_gives_the_result() -> None:
    async with upstream(answering(sse(START, HELLO, END))) as server:
        message = await MessageStreamHandler().consume(stream_request(f"{server.url}/chat"))
    assert (message.main_content, message.status) == ("Hel\u2028lo 更好 ☕", "completed")


# What is sent


async def test_request_has_the_given_method_headers_and_body() -> None:
    async with upstream(answering(sse(START, END))) as server:
        await read(
            server,
            json={"message": "更好"},
            params={"a": "b c"},
            headers={"Authorization": "Bearer k", "ACCEPT": "text/event-stream;q=1"},
            request_id="req_mine",
        )
        (call,) = server.calls
    assert (call.method, call.target) == ("POST", "/chat?a=b+c")
    assert call.body.decode() == '{"message":"更好"}'
    headers = dict(call.headers)
    assert (headers["content-type"], headers["x-request-id"]) == ("application/json", "req_mine")
    assert (headers["authorization"], headers["accept"]) == ("Bearer k", "text/event-stream;q=1")
    assert headers["accept-encoding"] == "identity"


async def test_request_without_a_body_gets_a_request_id() -> None:
    async with upstream(answering(sse(START, END))) as server:
        stream = stream_request(f"{server.url}/chat", method="GET")
        assert [event.type async for event in stream] == ["session_start", "session_end"]
        (call,) = server.calls
    assert (call.method, call.body) == ("GET", b"")
    assert stream.request_id == "req_srv"  # the one that stands in the server's log
    assert (call.header("x-request-id") or "").startswith("req_")
    assert stream.status == 200


async def test_callers_client_is_used_and_left_open() -> None:
    async with upstream(answering(sse(START, END))) as server:
        async with httpx.AsyncClient(
            base_url=server.url, headers={"X-Tenant": "t"}, trust_env=False
        ) as client:
            for _ in range(2):
                async with stream_request("/chat", client=client) as events:
                    assert len([event async for event in events]) == 2
            assert not client.is_closed
        assert [call.header("x-tenant") for call in server.calls] == ["t", "t"]


async def test_request_is_sent_at_the_first_iteration() -> None:
    async with upstream(answering(sse(START, END))) as server:
        async with stream_request(f"{server.url}/chat"):
            pass
        assert server.calls == []


# What goes wrong: each way as an exception, and as events


async def failure(server: Upstream, kind: type[StreamRequestError], **options: Any) -> StreamRequestError:
    """Return the exception; without exceptions, the same failure arrives as events."""
    with pytest.raises(kind) as caught:
        await read(server, **options)
    assert type(caught.value) is kind
    assert caught.value.info.message
    events = await read(server, **options, raise_errors=False)
    assert code_of(events) == caught.value.info.code
    assert events[-1].to_dict()["data"]["reason"] == caught.value.info.reason
    return caught.value


@pytest.mark.parametrize("speaks", ["standard", "legacy"])
async def test_refused_connection_raises(speaks: str) -> None:
    async with upstream(b"") as server:
        pass
    error = await failure(server, ConnectionFailed, request_id="req_mine", speaks=speaks)
    assert (error.info.code, error.request_id, error.status) == ("UPSTREAM_UNREACHABLE", "req_mine", None)
    assert error.__cause__ is not None
    events = await read(server, speaks=speaks, raise_errors=False)
    assert types(events) == ["error", "session_end"]


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (b"", "UPSTREAM_UNREACHABLE"),
        (b"HTTP/1.1 2", "UPSTREAM_UNREACHABLE"),
        (b"SSH-2.0-x\r\n\r\n", "UPSTREAM_INVALID_RESPONSE"),
    ],
)
async def test_connection_that_ends_before_the_headers_raises(first: bytes, code: str) -> None:
    async def script(call: Call) -> None:
        await call.send(first)

    async with upstream(script) as server:
        error = await failure(server, ConnectionFailed)
    assert (error.info.code, error.status) == (code, None)


ENVELOPE = {
    "status": "error",
    "error": {"code": "OVERLOADED", "message": "Busy.", "retry": True},
    "request_id": "req_srv",
}


async def test_rejection_has_the_fields_of_its_envelope() -> None:
    script = answering(
        json.dumps(ENVELOPE).encode(),
        "Retry-After: 2",
        "X-Request-Id: req_srv",
        status="503 Service Unavailable",
        content_type="application/json",
    )
    async with upstream(script) as server:
        error = await failure(server, RequestRejected)
    assert (error.status, error.request_id, error.info.code) == (503, "req_srv", "OVERLOADED")
    assert (error.info.message, error.info.recoverable) == ("Busy.", True)
    assert error.info.retry_after_ms == 2000


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        ("401 Unauthorized", b"", "AUTH_FAILED"),
        ("404 Not Found", b"<html>no</html>", "NOT_FOUND"),
        ("429 Too Many Requests", b'{"error": {"code": "insufficient_quota"}}', "QUOTA_EXCEEDED"),
        ("500 Internal Server Error", b"Traceback: secret", "UPSTREAM_ERROR"),
        ("204 No Content", b"", "UPSTREAM_INVALID_RESPONSE"),
        ("307 Temporary Redirect", b"", "UPSTREAM_INVALID_RESPONSE"),
    ],
)
async def test_any_other_status_is_a_rejection(status: str, body: bytes, code: str) -> None:
    script = answering(body, "Location: http://127.0.0.1:1/", status=status, content_type="text/html")
    async with upstream(script) as server:
        error = await failure(server, RequestRejected)
    assert (error.status, error.info.code) == (int(status[:3]), code)
    assert "secret" not in str(error)


async def test_rejection_with_a_slow_body_is_raised_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamweir.client.http_request.REJECTION_SECONDS", 0.05)

    async def script(call: Call) -> None:
        await call.begin(status="500 Oh")
        await call.until_closed()

    async with upstream(script) as server:
        error = await failure(server, RequestRejected)
    assert error.info.code == "UPSTREAM_ERROR"


@pytest.mark.parametrize("speaks", ["standard", "legacy", "auto"])
@pytest.mark.parametrize("indent", [None, 2])
async def test_envelope_in_place_of_a_stream_is_a_rejection(speaks: str, indent: int | None) -> None:
    body = json.dumps(ENVELOPE, indent=indent).encode()
    async with upstream(answering(body, content_type="application/json")) as server:
        error = await failure(server, RequestRejected, speaks=speaks)
    assert (error.status, error.info.code, error.info.message) == (200, "OVERLOADED", "Busy.")


@pytest.mark.parametrize(
    ("speaks", "body", "kind"),
    [
        ("standard", b"<!doctype html><p>Log in", "text/html"),
        ("standard", b"Internal Server Error", "text/plain"),
        ("standard", b'{"detail": "x"}', "application/json"),
        ("standard", b"\x89PNG", "image/png"),
        ("legacy", b"<!doctype html><p>Log in", "text/html"),
        ("legacy", b"Internal Server Error", "text/plain"),
    ],
)
async def test_answer_that_is_no_stream_fails(speaks: str, body: bytes, kind: str) -> None:
    async with upstream(answering(body, content_type=kind)) as server:
        error = await failure(server, StreamFailed, speaks=speaks)
    assert (error.info.code, error.status) == ("UPSTREAM_INVALID_RESPONSE", 200)


async def test_answer_with_an_unknown_coding_fails() -> None:
    async with upstream(answering(b"xyz", "Content-Encoding: snappy")) as server:
        error = await failure(server, StreamFailed)
    assert error.info.code == "UPSTREAM_INVALID_RESPONSE"


async def test_compressed_answer_that_breaks_off_is_truncated() -> None:
    packed = gzip.compress(sse(START, HELLO, END))
    async with upstream(answering(packed[:-20], "Content-Encoding: gzip")) as server:
        error = await failure(server, StreamTruncated)
    assert error.info.code == "UPSTREAM_TRUNCATED"


async def test_terminal_error_is_raised_in_its_place() -> None:
    async with upstream(beginning(sse(START, HELLO, FAILURE, FAILED_END))) as server:
        stream = stream_request(f"{server.url}/chat")
        assert [(await anext(stream)).type, (await anext(stream)).type] == ["session_start", "content"]
        with pytest.raises(StreamFailed) as caught:
            await anext(stream)
        await server.until_finished()
        events = await read(server, raise_errors=False)
    info = caught.value.info
    assert (info.code, info.message, info.recoverable) == ("UPSTREAM_TIMEOUT", "Late.", True)
    assert (info.error_type, info.reason, info.status) == ("timeout", "idle_timeout", 504)
    assert [event.to_dict() for event in events] == [START, HELLO, FAILURE, FAILED_END]


async def test_error_that_does_not_end_the_run_is_an_event() -> None:
    passing = wire(
        "error", 2, error_type="execution", code="X", message="m", recoverable=True, terminal=False
    )
    async with upstream(answering(sse(START, passing, END))) as server:
        assert types(await read(server)) == ["session_start", "error", "session_end"]


async def test_failed_end_without_an_error_raises() -> None:
    async with upstream(answering(sse(START, FAILED_END))) as server:
        error = await failure(server, StreamFailed)
    assert error.info.code == "UPSTREAM_ERROR"


async def test_terminal_error_without_an_end_gets_one() -> None:
    async with upstream(answering(sse(START, FAILURE))) as server:
        events = await read(server, raise_errors=False)
    assert [event.metadata.sequence for event in events] == [0, 2, 3]
    assert code_of(events) == "UPSTREAM_TIMEOUT"


@pytest.mark.parametrize("status", ["cancelled", "suspended"])
async def test_another_end_is_no_failure(status: str) -> None:
    end = wire("session_end", 1, status=status, reason="cancelled")
    async with upstream(answering(sse(START, end))) as server:
        assert types(await read(server)) == ["session_start", "session_end"]


@pytest.mark.parametrize(
    ("speaks", "body"),
    [
        ("standard", b""),
        ("standard", sse(START, HELLO)),
        ("standard", sse(START, HELLO) + sse(END)[:40]),
        ("legacy", LEGACY),
        ("legacy", b""),
    ],
)
async def test_stream_without_an_end_is_truncated(speaks: str, body: bytes) -> None:
    async with upstream(answering(body)) as server:
        error = await failure(server, StreamTruncated, speaks=speaks)
    assert (error.info.code, error.info.recoverable, error.status) == ("UPSTREAM_TRUNCATED", True, 200)


@pytest.mark.parametrize(("speaks", "first"), [("standard", sse(START, HELLO)), ("legacy", LEGACY)])
async def test_answer_shorter_than_its_length_is_truncated(speaks: str, first: bytes) -> None:
    async with upstream(answering(first, "Content-Length: 9999")) as server:
        error = await failure(server, StreamTruncated, speaks=speaks)
        events = await read(server, speaks=speaks, raise_errors=False)
    assert error.info.code == "UPSTREAM_TRUNCATED"
    assert "content" in types(events)


# Clocks


@pytest.mark.slow
@pytest.mark.parametrize("speaks", ["standard", "legacy"])
@pytest.mark.parametrize(
    ("pieces", "clock", "reason"),
    [
        (0, "first_event", "first_event_timeout"),
        (0, "total", "total_timeout"),
        (1, "idle", "idle_timeout"),
        (1, "total", "total_timeout"),
    ],
)
async def test_each_timeout_raises(speaks: str, pieces: int, clock: str, reason: str) -> None:
    first = {"standard": sse(START), "legacy": LEGACY}[speaks]
    async with upstream(beginning(*[first] * pieces)) as server:
        error = await failure(server, RequestTimeout, speaks=speaks, timeouts={clock: "80ms"})
    assert (error.info.code, error.info.reason) == ("UPSTREAM_TIMEOUT", reason)


async def test_first_event_timeout_counts_before_the_headers() -> None:
    async def script(call: Call) -> None:
        await call.until_closed()

    async with upstream(script) as server:
        error = await failure(server, RequestTimeout, timeouts={"first_event": 0.08})
        assert (error.info.reason, error.status) == ("first_event_timeout", None)


@pytest.mark.slow
async def test_comments_count_as_life_but_not_as_an_event() -> None:
    async def script(call: Call) -> None:
        await call.begin()
        while True:
            await call.send(b": ping\n\n")
            await anyio.sleep(0.02)

    async with upstream(script) as server:
        error = await failure(server, RequestTimeout, timeouts={"first_event": 2, "idle": 1.5})
    assert error.info.reason == "first_event_timeout"

    async def lively(call: Call) -> None:
        await call.begin()
        await call.send(sse(START))
        for _ in range(15):
            await anyio.sleep(0.1)
            await call.send(b": ping\n\n")
        await call.send(sse(END))

    async with upstream(lively) as server:
        assert len(await read(server, timeouts={"idle": "1s"})) == 2


async def test_idle_timeout_does_not_count_the_readers_time() -> None:
    async def script(call: Call) -> None:
        await call.begin()
        await call.send(sse(START))
        await anyio.sleep(0.2)
        await call.send(sse(END))

    async with (
        upstream(script) as server,
        stream_request(f"{server.url}/chat", timeouts={"idle": 0.1}) as events,
    ):
        assert (await anext(events)).type == "session_start"
        await anyio.sleep(0.3)
        assert (await anext(events)).type == "session_end"


async def test_clocks_can_be_off() -> None:
    async with upstream(answering(sse(START, END))) as server:
        for timeouts in ("off", {"connect": None, "first_event": "off", "idle": None, "total": None}):
            assert len(await read(server, timeouts=timeouts)) == 2


# Leaving


async def test_leaving_closes_the_connection_at_once() -> None:
    async with upstream(beginning(sse(START))) as server:
        async with stream_request(f"{server.url}/chat") as events:
            await anext(events)
        await server.until_finished()
        with pytest.raises(StopAsyncIteration):
            await anext(events)


def fail(_: object) -> None:
    raise RuntimeError("mine")


async def test_exception_of_the_reader_closes_the_connection() -> None:
    async with upstream(beginning(sse(START))) as server:
        handler = MessageStreamHandler(on_update=fail)
        with pytest.raises(RuntimeError, match="mine"):
            await handler.consume(stream_request(f"{server.url}/chat"))
        await server.until_finished()


async def test_cancelling_closes_the_connection_at_once() -> None:
    async with upstream(beginning(sse(START, HELLO))) as server:
        async with anyio.create_task_group() as tasks:

            async def consume() -> None:
                async for event in stream_request(f"{server.url}/chat"):
                    if event.type == "content":
                        tasks.start_soon(stop)

            async def stop() -> None:
                await anyio.sleep(0.05)
                tasks.cancel_scope.cancel()

            tasks.start_soon(consume)
        await server.until_finished()


async def test_cancelling_before_the_headers_closes_the_connection() -> None:
    async def script(call: Call) -> None:
        await call.until_closed()

    async with upstream(script) as server:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, server)
            await server.called.wait()
            tasks.cancel_scope.cancel()
        await server.until_finished()


async def test_another_task_may_close_a_stream_that_is_being_read() -> None:
    async with upstream(beginning(sse(START))) as server:
        stream = stream_request(f"{server.url}/chat")
        seen = []

        async def consume() -> None:
            async for event in stream:
                seen.append(event.type)  # noqa: PERF401

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(consume)
            with anyio.fail_after(PROMPTLY):
                while not seen:  # noqa: ASYNC110 - the other task has no event
                    await anyio.sleep(0.01)
            await stream.aclose()
            await server.until_finished()
        assert seen == ["session_start"]
        await stream.aclose()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # trio wants a context manager here, and says so
async def test_loop_that_is_left_closes_the_connection() -> None:
    async with upstream(beginning(sse(START))) as server:
        async for _ in stream_request(f"{server.url}/chat"):
            break
        await server.until_finished()


async def test_closing_before_the_first_event_sends_nothing() -> None:
    async with upstream(answering(sse(START, END))) as server:
        stream = stream_request(f"{server.url}/chat")
        await stream.aclose()
        assert [event async for event in stream] == []
        assert server.calls == []


async def test_many_streams_end_cleanly_in_a_storm_of_cancellations() -> None:
    async with upstream(beginning(sse(START))) as server:
        ended = 0

        async def one(delay: float) -> None:
            nonlocal ended
            with anyio.move_on_after(delay):
                await read(server)
            ended += 1

        with anyio.fail_after(PROMPTLY):
            async with anyio.create_task_group() as tasks:
                for number in range(30):
                    tasks.start_soon(one, number * 0.005)
        assert ended == 30


# Wrong options


@pytest.mark.parametrize(
    "options",
    [
        {"json": {}, "content": b""},
        {"timeouts": {"idel": 1}},
        {"timeouts": {"idle": "soon"}},
        {"timeouts": {"idle": 0}},
        {"timeouts": {"first_event": "10s", "total": "5s"}},
        {"timeouts": 5},
        {"request_id": "no spaces allowed"},
        {"headers": {"X": "a\r\nY: b"}},
        {"headers": {"X Y": "a"}},
        {"url": "ftp://example.org"},
        {"url": "/chat"},
        {"url": "http://"},
    ],
)
async def test_wrong_option_raises_before_the_request(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        stream_request(**{"url": "http://127.0.0.1:1/", **options})


async def test_unknown_dialect_raises_before_the_request() -> None:
    with pytest.raises(UnknownDialectError, match="legacy"):
        stream_request("http://127.0.0.1:1/", speaks="legcy")


async def test_missing_httpx_error_names_the_extra() -> None:
    script = """
import sys
sys.modules["httpx"] = None
import streamweir
streamweir.MessageStreamHandler()
try:
    import streamweir.client
except ImportError as error:
    print(error)
"""
    run = functools.partial(subprocess.run, [sys.executable, "-c", script], capture_output=True, text=True)
    done = await anyio.to_thread.run_sync(run)
    assert done.stdout.strip() == "streamweir.client needs httpx: pip install 'streamweir[client]'"


async def test_stream_of_a_translator_is_read_back() -> None:
    translator = Translator(speaks="legacy", request_id="req_t")
    body = translator.feed(LEGACY + LEGACY_END) + translator.close()
    async with upstream(answering(body, "X-Request-Id: req_t")) as server:
        stream = stream_request(f"{server.url}/chat")
        assert [event.type async for event in stream][-1] == "session_end"
    assert stream.request_id == "req_t"


async def test_request_id_without_a_header_is_that_of_the_events() -> None:
    async with upstream(answering(sse(START, FAILURE, FAILED_END))) as server:
        error = await failure(server, StreamFailed, request_id="req_mine")
    assert error.request_id == "req_srv"


async def test_request_id_without_a_header_is_that_of_the_envelope() -> None:
    body = json.dumps(ENVELOPE).encode()
    script = answering(body, status="503 Service Unavailable", content_type="application/json")
    async with upstream(script) as server:
        error = await failure(server, RequestRejected, request_id="req_mine")
    assert error.request_id == "req_srv"


def keeping(begun: bytes, *, status: str, body: bytes = b"", cuts: bool = False) -> Script:
    """Begin a run, and answer whatever is asked of it with `status`."""
    handle = f"run_{'a' * 32}"

    async def script(call: Call) -> None:
        if call.target == "/chat":
            await call.begin(f"X-Streamweir-Run: {handle}", f"Content-Location: /-/runs/{handle}")
            await call.send(begun)
            if not cuts:
                await call.until_closed()
        else:
            await call.begin(status=status, content_type="text/html")
            await call.send(body)

    return script


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        ("200 OK", b"<html>", StreamFailed),
        ("200 OK", b'{"run": []}', StreamFailed),
        ("202 Accepted", b"{}", StreamFailed),
        ("404 Not Found", b"", RequestRejected),
    ],
)
async def test_cancel_that_the_server_refuses_is_reported(
    status: str, body: bytes, expected: type[StreamRequestError]
) -> None:
    script = keeping(sse(START), status=status, body=body)
    async with upstream(script) as server, stream_request(f"{server.url}/chat") as events:
        await anext(events)
        with pytest.raises(expected):
            await events.cancel()


async def test_cancel_that_cannot_be_sent_is_reported() -> None:
    async with upstream(keeping(sse(START), status="200 OK")) as server:
        events = stream_request(f"{server.url}/chat")
        await anext(events)
    with pytest.raises(StreamRequestError):
        await events.cancel()
    await events.aclose()


async def test_cancel_without_an_answer_ends_after_first_event_timeout() -> None:
    handle = f"run_{'a' * 32}"

    async def script(call: Call) -> None:
        if call.target == "/chat":
            await call.begin(f"X-Streamweir-Run: {handle}", f"Content-Location: /-/runs/{handle}")
            await call.send(sse(START))
        await call.until_closed()

    async with (
        upstream(script) as server,
        stream_request(f"{server.url}/chat", timeouts={"first_event": 2}) as events,
    ):
        await anext(events)
        with anyio.fail_after(PROMPTLY), pytest.raises(RequestTimeout):
            await events.cancel()


async def test_cancel_of_a_stream_without_a_run_ends_cancelled() -> None:
    async def script(call: Call) -> None:
        await call.begin()
        await call.send(sse(START))
        await call.until_closed()

    async with upstream(script) as server, stream_request(f"{server.url}/chat") as events:
        received = []
        async for event in events:
            received.append(event)
            if event.type == "session_start":
                assert await events.cancel() == "cancelled"
    assert [event.type for event in received] == ["session_start", "session_end"]
    assert isinstance(received[-1].data, SessionEnd)
    assert received[-1].data.status == "cancelled"
    assert received[-1].metadata.sequence == (received[0].metadata.sequence or 0) + 1


async def test_events_that_end_a_run_which_is_not_there_any_more_are_numbered_on() -> None:
    async with upstream(keeping(sse(START), status="404 Not Found", cuts=True)) as server:
        stream = stream_request(f"{server.url}/chat", raise_errors=False)
        received = [event async for event in stream]
    assert [event.type for event in received] == ["session_start", "error", "session_end"]
    assert [event.metadata.sequence for event in received] == [0, 1, 2]
