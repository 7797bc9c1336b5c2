"""The table of exceptions: the answer of an application that fails, and the log."""

import logging
from typing import Any

import anyio
import httpx
import pytest

from hosts import DONE, HELLO, SSE, TOKENS, Call, body, sending, start
from streamweir import StreamError, stream_error_event
from streamweir.asgi import NormalizeMiddleware, SafeErrorMiddleware, StreamweirMiddleware

pytestmark = pytest.mark.anyio

SECRET = "postgres://admin:hunter2@db/prod"
TOOL = b'data: {"type": "tool_call", "tool_name": "search", "tool_args": "{}"}\n\n'
STREAM_WANTED = ("Accept", "text/event-stream")
BOTH = pytest.mark.parametrize("middleware", [NormalizeMiddleware, StreamweirMiddleware])


class Boom(Exception):
    """A failure of the application's own."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="streamweir")
    return caplog


@BOTH
@pytest.mark.parametrize("options", [{"paths": "/chat"}, {}])
async def test_exception_before_a_covered_response_becomes_a_stream(
    middleware: Any, options: Any, log: pytest.LogCaptureFixture
) -> None:
    app = middleware(sending(Boom(SECRET)), speaks="legacy", **options)
    call = await Call(app, headers=[STREAM_WANTED, ("X-Request-Id", "abc")]).run()
    answer = call.answer.assert_valid()
    assert answer.status == 200
    assert answer.types == ["session_start", "error", "session_end"]
    assert answer.error is not None
    assert answer.error["code"] == "INTERNAL"
    assert b"hunter2" not in answer.body
    [record] = log.records
    assert record.name == "streamweir"
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    assert record.request_id == "abc"  # type: ignore[attr-defined]


@BOTH
async def test_exception_before_a_folded_response_gets_its_status(middleware: Any) -> None:
    app = middleware(
        sending(StreamError("RATE_LIMITED", retry_after_ms=1500)), speaks="legacy", paths="/chat"
    )
    answer = (await Call(app, headers=[("Accept", "application/json")]).run()).answer
    assert answer.status == 429
    assert answer.header("retry-after") == "2"
    assert answer.json["status"] == "error"
    assert answer.json["error"]["code"] == "RATE_LIMITED"


@BOTH
@pytest.mark.parametrize(
    ("options", "accept"), [({}, "application/json"), ({}, "*/*"), ({"paths": "/other"}, "text/event-stream")]
)
async def test_exception_before_an_uncovered_response_passes(
    middleware: Any, options: Any, accept: str, log: pytest.LogCaptureFixture
) -> None:
    boom = Boom(SECRET)
    call = Call(middleware(sending(boom), speaks="legacy", **options), headers=[("Accept", accept)])
    with pytest.raises(Boom) as caught:
        await call.run()
    assert caught.value is boom
    assert not call.sent
    assert not log.records


@pytest.mark.parametrize("middleware", [NormalizeMiddleware, StreamweirMiddleware, SafeErrorMiddleware])
@pytest.mark.parametrize(
    ("begun", "failure", "code"),
    [
        (True, ConnectionResetError(), "UPSTREAM_TRUNCATED"),
        (True, httpx.RemoteProtocolError("peer closed connection"), "UPSTREAM_TRUNCATED"),
        (True, ConnectionRefusedError(), "UPSTREAM_UNREACHABLE"),
        (False, ConnectionResetError(), "UPSTREAM_UNREACHABLE"),
    ],
)
async def test_lost_connection_to_the_model_is_an_upstream_failure(
    middleware: Any, begun: bool, failure: Exception, code: str
) -> None:
    app = sending(start(), *([body(TOKENS[0], more=True)] if begun else []), failure)
    got = (await Call(middleware(app, speaks="legacy")).run()).answer.body
    assert f'"{code}"'.encode() in got


@BOTH
@pytest.mark.parametrize("speaks", ["legacy", "auto"])
async def test_exception_within_a_stream_ends_it_with_an_error(
    middleware: Any, speaks: str, log: pytest.LogCaptureFixture
) -> None:
    app = sending(start(), body(TOKENS[0] + TOOL, more=True), Boom(SECRET))
    answer = (await Call(middleware(app, speaks=speaks)).run()).answer.assert_valid()
    assert answer.types[-3:] == ["content", "error", "session_end"]  # message and tool call are closed first
    assert "tool_call_end" in answer.types
    assert answer.end == {**answer.end, "status": "error", "reason": "internal"}
    assert b"hunter2" not in answer.body
    assert len(log.records) == 1


@BOTH
async def test_exception_between_start_and_body_becomes_a_stream(middleware: Any) -> None:
    for speaks in ("legacy", "auto"):
        app = middleware(sending(start(), Boom(SECRET)), speaks=speaks, paths="/chat")
        answer = (await Call(app).run()).answer.assert_valid()
        assert answer.types == ["session_start", "error", "session_end"]


@BOTH
@pytest.mark.parametrize(
    "messages",
    [
        [start(), body(TOKENS[0], more=True)],
        [start(), body(TOKENS[0])],
        [start(), body(TOKENS[0] + TOKENS[1][:9])],
        [start()],
    ],
)
async def test_application_that_stops_without_an_end_is_truncated(middleware: Any, messages: Any) -> None:
    answer = (await Call(middleware(sending(*messages), speaks="legacy")).run()).answer.assert_valid()
    assert answer.error is not None
    assert answer.error["code"] == "UPSTREAM_TRUNCATED"


@BOTH
@pytest.mark.parametrize(
    "messages",
    [
        [start(b"text/plain"), body(b"x", more=True)],
        [start(status=500), body(b"x", more=True)],
        [start(b"text/plain"), body(b"x")],
    ],
)
@pytest.mark.parametrize("options", [{}, {"paths": "*"}])
async def test_exception_within_another_response_passes(middleware: Any, messages: Any, options: Any) -> None:
    boom = Boom(SECRET)
    call = Call(middleware(sending(*messages, boom), speaks="legacy", **options), headers=[STREAM_WANTED])
    with pytest.raises(Boom) as caught:
        await call.run()
    assert caught.value is boom
    assert [message["type"] for message in call.sent] == [message["type"] for message in messages]


async def test_exception_within_a_body_of_no_dialect_passes() -> None:
    boom = Boom(SECRET)
    app = sending(start(), body(b"data: 17\n\n", more=True), boom)
    call = Call(NormalizeMiddleware(app, speaks="auto", paths="/chat"), headers=[STREAM_WANTED])
    with pytest.raises(Boom) as caught:
        await call.run()
    assert caught.value is boom
    assert call.sent[1]["body"] == b"data: 17\n\n"


@BOTH
@pytest.mark.parametrize(
    "steps", [[], [start(), body(TOKENS[0], more=True)], [start(), body(b"".join(HELLO), more=True)]]
)
async def test_reraise_raises_after_the_response_is_complete(
    middleware: Any, steps: Any, log: pytest.LogCaptureFixture
) -> None:
    boom = Boom(SECRET)
    app = middleware(sending(*steps, boom), speaks="legacy", reraise=True)
    call = Call(app, headers=[STREAM_WANTED])
    with pytest.raises(Boom) as caught:
        await call.run()
    assert caught.value is boom
    call.answer.assert_valid()
    assert len(log.records) == 1


@BOTH
async def test_exception_after_the_end_of_the_stream_passes(
    middleware: Any, log: pytest.LogCaptureFixture
) -> None:
    app = sending(start(), body(b"".join(HELLO), more=True), Boom(SECRET))
    answer = (await Call(middleware(app, speaks="legacy")).run()).answer.assert_valid()
    assert answer.end["status"] == "completed"
    assert len(log.records) == 1
    late = sending(start(), body(b"".join(HELLO)), Boom(SECRET))  # a background task: not about the response
    with pytest.raises(Boom):
        await Call(middleware(late, speaks="legacy")).run()


@BOTH
async def test_stream_error_keeps_its_code_and_message(
    middleware: Any, log: pytest.LogCaptureFixture
) -> None:
    app = sending(
        start(), body(TOKENS[0], more=True), StreamError("NO_SUCH_REPORT", "There is no such report.")
    )
    answer = (await Call(middleware(app, speaks="legacy")).run()).answer.assert_valid()
    assert answer.error is not None
    assert answer.error["code"] == "NO_SUCH_REPORT"
    assert answer.error["message"] == "There is no such report."
    [record] = log.records
    assert record.levelno == logging.WARNING
    assert record.exc_info is None


@BOTH
@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
async def test_interrupts_pass_everywhere(middleware: Any, error: type[BaseException]) -> None:
    def interrupt() -> None:
        raise error

    for steps in ([], [start(), body(TOKENS[0], more=True)]):
        app = middleware(sending(*steps, interrupt), speaks="legacy", paths="*")
        with pytest.raises(error):
            await Call(app, headers=[STREAM_WANTED]).run()


@BOTH
async def test_cancellation_passes_everywhere(middleware: Any, log: pytest.LogCaptureFixture) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await send(body(TOKENS[0], more=True))
        await anyio.sleep_forever()

    call = Call(middleware(app, speaks="legacy"))
    with anyio.move_on_after(0.05) as scope:
        await call.run()
    assert scope.cancelled_caught
    assert not log.records
    assert len(call.sent) == 2


async def test_details_of_an_exception_are_sent_only_with_debug() -> None:
    app = sending(start(), body(TOKENS[0], more=True), Boom("it was the cache"))
    answer = (await Call(NormalizeMiddleware(app, speaks="legacy", debug=True)).run()).answer
    assert answer.error is not None
    assert answer.error["details"]["exception"] == "Boom"


async def test_error_event_of_the_application_ends_the_stream() -> None:
    def fail() -> bytes:
        return stream_error_event(StreamError("NO_SUCH_REPORT", "Gone.")).encode()

    app = sending(start(), body(TOKENS[0], more=True), body(fail(), more=True), body(TOKENS[1], more=True))
    for speaks in ("legacy", "auto", "standard"):
        answer = (await Call(NormalizeMiddleware(app, speaks=speaks)).run()).answer.assert_valid()
        assert answer.error is not None
        assert answer.error["code"] == "NO_SUCH_REPORT"
        assert b"streamweir" not in answer.body
    app = sending(start(), body(fail()))
    answer = (await Call(NormalizeMiddleware(app, speaks="auto")).run()).answer.assert_valid()
    assert answer.types == ["session_start", "error", "session_end"]


# SafeErrorMiddleware alone


async def safe(app: Any, **options: Any) -> Any:
    headers = options.pop("headers", [])
    return (await Call(SafeErrorMiddleware(app, **options), headers=headers).run()).answer


async def test_safe_errors_before_the_response_gives_status_and_envelope(
    log: pytest.LogCaptureFixture,
) -> None:
    for options in ({}, {"paths": "/chat"}):
        answer = await safe(sending(Boom(SECRET)), headers=[("X-Request-Id", "abc")], **options)
        assert answer.status == 500
        assert answer.json == {
            "status": "error",
            "error": {
                "code": "INTERNAL",
                "message": "An internal error occurred. Please try again.",
                "retry": True,
            },
            "request_id": "abc",
        }
        assert answer.header("x-request-id") == "abc"
    assert len(log.records) == 2
    answer = await safe(sending(StreamError("RATE_LIMITED", retry_after_ms=9_001)))
    assert (answer.status, answer.header("retry-after")) == (429, "10")


async def test_safe_errors_on_other_paths_passes_the_exception(log: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Boom):
        await safe(sending(Boom(SECRET)), paths="/other")
    with pytest.raises(Boom):
        await safe(sending(start(b"text/plain"), body(b"x", more=True), Boom(SECRET)))
    with pytest.raises(Boom):
        await safe(sending(start(SSE), body(b"".join(HELLO)), Boom(SECRET)))
    with pytest.raises(Boom):
        await safe(sending(start(SSE, (b"content-encoding", b"gzip")), body(b"x", more=True), Boom(SECRET)))
    assert not log.records


async def test_safe_errors_within_a_stream_ends_it_in_its_dialect(log: pytest.LogCaptureFixture) -> None:
    app = sending(start(), body(TOKENS[0], more=True), Boom(SECRET))
    answer = await safe(app, speaks="legacy")
    assert answer.is_whole
    assert answer.body.startswith(TOKENS[0])
    assert answer.events[-1]["type"] == "error"
    assert answer.events[-1]["code"] == "INTERNAL"
    assert b"hunter2" not in answer.body
    assert len(log.records) == 1


async def test_safe_errors_within_a_standard_stream_keeps_it_valid() -> None:
    whole = (
        await Call(NormalizeMiddleware(sending(start(), body(b"".join(HELLO))), speaks="legacy")).run()
    ).answer
    events = whole.body.split(b"\n\n")
    first = b"\n\n".join(events[:3]) + b"\n\n"
    app = sending(start(b"text/event-stream"), body(first, more=True), Boom(SECRET))
    answer = await safe(app)
    assert answer.types == ["session_start", "content", "content", "content", "error", "session_end"]
    assert [event["metadata"]["sequence"] for event in answer.events] == list(range(6))


async def test_safe_errors_within_an_event_begins_a_new_one() -> None:
    answer = await safe(
        sending(start(), body(TOKENS[0] + DONE[:9], more=True), Boom(SECRET)), speaks="legacy"
    )
    assert answer.body.startswith(TOKENS[0] + DONE[:9] + b"\n\ndata: ")


async def test_safe_errors_repeats_nothing_that_was_sent() -> None:
    """An event without its blank line is completed, not repeated; the error has the ids of the stream."""
    head = b'event: message\ndata: {"protocol":"easyflow-chat","version":"1.1","domain":"%b","type":"%b",'
    tail = b'"conversation_id":"conv-1","payload":%b}'
    first = (head + tail) % (b"llm", b"message", b'{"delta":"Hi"}') + b"\n\n"
    last = (head + tail) % (b"llm", b"message", b'{"delta":" there"}')
    answer = await safe(
        sending(start(), body(first, more=True), body(last, more=True), Boom(SECRET)), speaks="easyflow"
    )
    ending = answer.body.removeprefix(first + last)
    assert ending.startswith(b"\n\nevent: error\n")
    assert b" there" not in ending
    assert b'"conversation_id":"conv-1"' in ending


async def test_safe_errors_closes_an_open_call() -> None:
    answer = await safe(sending(start(), body(TOKENS[0] + TOOL, more=True), Boom(SECRET)), speaks="legacy")
    ending = answer.body.removeprefix(TOKENS[0] + TOOL)
    assert ending.count(b'"tool_result"') == ending.count(b'"status":"failed"') == 1


async def test_safe_errors_with_reraise_raises_after_the_response(log: pytest.LogCaptureFixture) -> None:
    boom = Boom(SECRET)
    call = Call(SafeErrorMiddleware(sending(boom), reraise=True))
    with pytest.raises(Boom) as caught:
        await call.run()
    assert caught.value is boom
    assert call.answer.status == 500
    assert len(log.records) == 1
