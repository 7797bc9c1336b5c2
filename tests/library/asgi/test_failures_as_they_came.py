"""Failures of an application reach a client of its own dialect as they do without the middleware."""

import logging
import re
import zlib
from typing import Any

import anyio
import pytest

from hosts import DONE, HELLO, SSE, TOKENS, Call, body, sending, start
from patience import PROMPTLY
from streamweir import ConfigurationError, StreamError
from streamweir.asgi import NormalizeMiddleware, SafeErrorMiddleware, StreamweirMiddleware
from streamweir.runs import Resume

pytestmark = pytest.mark.anyio

SECRET = "postgres://admin:hunter2@db/prod"
OWN_ERROR = b'data: {"type": "error", "error": "Out of tea."}\n\n'
BOTH = pytest.mark.parametrize("middleware", [NormalizeMiddleware, StreamweirMiddleware])
SPEAKS = pytest.mark.parametrize("speaks", ["legacy", "auto"])
SOME_TEXT = body(TOKENS[0], more=True)
HALF = body(TOKENS[1][:9], more=True)


class Boom(Exception):
    """A failure of the application's own, which cannot be made again from its arguments."""

    def __init__(self, *, place: str, code: int) -> None:
        super().__init__(SECRET)
        self.place, self.code = place, code

    def __reduce__(self) -> Any:
        raise TypeError("cannot be copied")


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def log(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO, logger="streamweir")
    return caplog


class Outcome(Call):
    """One request of a client of the application's own dialect, and how it ended."""

    raised: BaseException | None = None

    @property
    def data(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    @property
    def has_ended(self) -> bool:
        return bool(self.sent) and not self.sent[-1].get("more_body")


async def outcome(app: Any, middleware: Any = StreamweirMiddleware, **options: Any) -> Outcome:
    headers = options.pop("headers", [("Accept", "text/event-stream"), ("X-Request-Id", "abc")])
    given: dict[str, Any] = {"speaks": "legacy", "answers": ("legacy", "standard"), **options}
    call = Outcome(middleware(app, **given), headers=headers)
    try:
        await call.run()
    except BaseException as error:
        call.raised = error
    return call


def boom() -> Boom:
    return Boom(place="agent", code=7)


# Before the first byte


@BOTH
@SPEAKS
@pytest.mark.parametrize("options", [{}, {"paths": "/chat"}, {"paths": "/other"}, {"reraise": True}])
@pytest.mark.parametrize(
    "before",
    [[], [start()], [start(), body(b"", more=True)], [start(), HALF], [start(b"application/x-ndjson")]],
)
async def test_exception_before_the_first_byte_passes_unchanged(
    middleware: Any, speaks: str, options: Any, before: Any, log: pytest.LogCaptureFixture
) -> None:
    failure = boom()
    done = await outcome(sending(*before, failure), middleware, speaks=speaks, **options)
    assert done.raised is failure
    if options.get("paths") == "/other" or (speaks == "auto" and HALF in before):
        return  # passes message by message
    assert not done.sent
    assert not log.records


@BOTH
@pytest.mark.parametrize("before", [[], [start(SSE, (b"access-control-allow-origin", b"*"))]])
async def test_stream_error_before_the_first_byte_is_its_status_and_the_envelope(
    middleware: Any, before: Any, log: pytest.LogCaptureFixture
) -> None:
    app = sending(*before, StreamError("NO_SUCH_REPORT", "There is no such report.", status=404))
    done = await outcome(app, middleware, paths="/chat")
    assert done.raised is None
    assert done.answer.status == 404
    assert done.answer.header("content-type") == "application/json"
    assert done.answer.json == {
        "status": "error",
        "error": {"code": "NO_SUCH_REPORT", "message": "There is no such report.", "retry": False},
        "request_id": "abc",
    }
    assert [record.levelno for record in log.records] == [logging.WARNING]


async def test_stream_error_that_is_not_covered_passes_unchanged() -> None:
    failure = StreamError("NO_SUCH_REPORT")
    done = await outcome(sending(failure), headers=[("Accept", "*/*")])
    assert done.raised is failure


async def test_stream_error_in_a_group_of_one_is_answered() -> None:
    group: Any = ExceptionGroup("one", [StreamError("RATE_LIMITED", retry_after_ms=1500)])
    done = await outcome(sending(group), paths="/chat")
    assert (done.answer.status, done.answer.header("retry-after")) == (429, "2")


@pytest.mark.parametrize(
    "headers", [[("X-Streamweir-Protocol", "standard")], [("Accept", "application/json")]]
)
async def test_other_clients_get_an_error_event(headers: Any) -> None:
    options: dict[str, Any] = {"answers": ("legacy", "standard"), "paths": "/chat"}
    if headers[0][0] == "Accept":
        headers = [*headers, ("X-Streamweir-Protocol", "legacy")]  # asks for a folded answer
    done = await outcome(sending(boom()), headers=headers, **options)
    assert done.raised is None
    assert done.has_ended


@pytest.mark.parametrize("options", [{"failures": "told"}, {"verbatim": False}, {"full_text": "append"}])
async def test_client_that_does_not_get_copied_frames_gets_an_error_event(options: Any) -> None:
    for messages in ([], [start(), SOME_TEXT]):
        done = await outcome(sending(*messages, boom()), paths="/chat", **options)
        assert done.raised is None
        assert done.has_ended
        assert b'"error"' in done.data
    done = await outcome(sending(start(), SOME_TEXT), paths="/chat", **options)
    assert done.has_ended


async def test_standard_client_always_gets_an_error_event() -> None:
    done = await outcome(sending(boom()), speaks="standard", answers="standard", paths="/chat")
    assert done.raised is None
    assert done.answer.assert_valid().error


# Within the stream


@BOTH
@SPEAKS
@pytest.mark.parametrize("options", [{}, {"reraise": True}, {"paths": "/chat"}])
async def test_exception_within_a_stream_is_the_dialect_s_error_and_is_raised(
    middleware: Any, speaks: str, options: Any, log: pytest.LogCaptureFixture
) -> None:
    failure = boom()
    done = await outcome(sending(start(), SOME_TEXT, HALF, failure), middleware, speaks=speaks, **options)
    assert done.raised is failure
    assert done.data.startswith(TOKENS[0])
    last = done.data.removeprefix(TOKENS[0])
    assert last.count(b"data:") == 1
    assert b'"type": "error"' in last or b'"type":"error"' in last
    assert not done.has_ended
    assert b"hunter2" not in done.data
    [record] = log.records
    assert (record.levelno, record.exc_info) == (logging.WARNING, None)
    assert record.request_id == "abc"  # type: ignore[attr-defined]


async def test_stream_error_within_a_stream_has_its_message_and_is_raised() -> None:
    failure = StreamError("NO_MORE_TEA", "There is no more tea.")
    done = await outcome(sending(start(), SOME_TEXT, failure))
    assert done.raised is failure
    assert b"There is no more tea." in done.data


@SPEAKS
async def test_body_that_the_application_does_not_end_is_not_ended(speaks: str) -> None:
    done = await outcome(sending(start(), SOME_TEXT, HALF), speaks=speaks)
    assert done.raised is None
    assert not done.has_ended
    assert done.data.startswith(TOKENS[0])
    assert b"error" in done.data


@SPEAKS
async def test_body_without_the_dialect_s_end_ends_properly_behind_its_error(speaks: str) -> None:
    done = await outcome(sending(start(), SOME_TEXT, body(TOKENS[1])), speaks=speaks)
    assert done.has_ended
    assert done.data.startswith(TOKENS[0] + TOKENS[1])
    assert b"error" in done.data.removeprefix(TOKENS[0] + TOKENS[1])


async def test_body_without_a_frame_is_a_status() -> None:
    for messages in ([start(), body()], [start()], [start(), HALF]):
        done = await outcome(sending(*messages))
        assert done.answer.status == 502
        assert done.answer.json["error"]["code"] == "UPSTREAM_TRUNCATED"


@pytest.mark.parametrize(
    ("ending", "raises", "ends"),
    [([body()], False, True), ([], False, False), ([boom()], True, False), ([body(), boom()], True, True)],
)
async def test_error_of_the_application_s_own_ends_as_the_body_does(
    ending: Any, raises: bool, ends: bool
) -> None:
    done = await outcome(sending(start(), SOME_TEXT, body(OWN_ERROR, more=True), *ending))
    assert (done.raised is not None, done.has_ended) == (raises, ends)
    assert done.data.startswith(TOKENS[0])
    assert done.data.count(b"data:") == 2
    assert b"Out of tea" not in done.data


@pytest.mark.parametrize("rest", [[body()], [body(b": bye\n\n"), boom()]])
async def test_stream_that_ends_well_is_copied_whole(rest: Any) -> None:
    done = await outcome(sending(start(), *(body(piece, more=True) for piece in HELLO), *rest))
    assert done.has_ended
    assert done.data.startswith(b"".join(HELLO))


async def test_exception_behind_a_good_end_is_raised_to_the_server() -> None:
    failure = boom()
    done = await outcome(sending(start(), *(body(piece, more=True) for piece in HELLO), failure))
    assert done.raised is failure
    assert done.data == b"".join(HELLO)
    assert not done.has_ended
    done = await outcome(sending(start(), *(body(piece, more=True) for piece in HELLO)))
    assert done.data == b"".join(HELLO)
    assert not done.has_ended


# Clocks and limits of the middleware


async def silent_after(scope: Any, receive: Any, send: Any, *messages: Any) -> None:
    for message in messages:
        await send(message)
    await anyio.sleep(30)


@pytest.mark.parametrize(
    ("messages", "timeouts"),
    [
        ([start(), SOME_TEXT], {"idle": 0.1}),
        ([start(), SOME_TEXT], {"total": 0.1}),
        ([start(), body(b": hello\n\n", more=True), SOME_TEXT], {"idle": 0.1}),
    ],
)
async def test_clock_of_the_middleware_ends_the_body_properly_behind_the_error(
    messages: Any, timeouts: Any
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(silent_after, scope, receive, send, *messages)
            await receive()
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

    with anyio.fail_after(PROMPTLY):
        done = await outcome(app, timeouts=timeouts)
    assert done.raised is None
    assert done.has_ended
    assert b"error" in done.data.partition(TOKENS[0])[2]


@pytest.mark.parametrize("messages", [[], [start()]])
async def test_clock_that_runs_out_before_the_first_byte_is_a_status(messages: Any) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        for message in messages:
            await send(message)
        await receive()
        while (await receive())["type"] != "http.disconnect":
            pass

    with anyio.fail_after(PROMPTLY):
        done = await outcome(app, timeouts={"first_event": 0.1}, paths="/chat")
    assert done.answer.status == 504
    assert done.answer.json["error"]["code"] == "UPSTREAM_TIMEOUT"


async def test_limit_of_the_middleware_ends_the_body_properly_behind_the_error() -> None:
    app = sending(start(), *[SOME_TEXT] * 20, body(DONE))
    done = await outcome(app, limits={"stream_bytes": 200})
    assert done.has_ended
    assert done.answer.status == 200
    assert done.data.startswith(TOKENS[0] * 2)
    assert b"error" in done.data


async def test_body_that_cannot_be_decoded_is_a_status_before_its_first_byte() -> None:
    for coding, data in ((b"zstd", b"x"), (b"gzip", b"no gzip"), (b"gzip", zlib.compress(b"x")[:3])):
        app = sending(start(SSE, (b"content-encoding", coding)), body(data, more=True), body())
        done = await outcome(app)
        assert done.answer.status == 502


async def test_heartbeat_that_the_owner_asks_for_takes_the_status() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await anyio.sleep(0.3)
        raise boom()

    done = await outcome(app, heartbeat="50ms")
    assert isinstance(done.raised, Boom)
    assert done.answer.status == 200
    assert b": ping" in done.data
    assert b"error" in done.data
    assert not done.has_ended


# Runs, neighbours, options


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_failure_within_a_kept_run_is_an_error_event() -> None:
    done = await outcome(sending(start(), SOME_TEXT, boom()), resume=Resume(), paths="/chat")
    assert done.raised is None
    assert done.has_ended
    assert re.match(rb"id: run_[0-9a-f]{32}\.1\n" + re.escape(TOKENS[0]), done.data)  # of a GET
    assert b"error" in done.data
    failure = boom()
    for before in ([], [start()]):
        done = await outcome(sending(*before, failure), resume=Resume(), paths="/chat")
        assert done.raised is failure
        assert not done.sent


@pytest.mark.parametrize("before", [[], [start()], [start(), SOME_TEXT]])
async def test_outer_middleware_lets_failures_of_an_inner_one_pass(before: Any) -> None:
    failure = boom()
    app = SafeErrorMiddleware(
        NormalizeMiddleware(sending(*before, failure), speaks="legacy", answers="legacy"), speaks="legacy"
    )
    call = Outcome(app)
    with pytest.raises(Boom) as caught:
        await call.run()
    assert caught.value is failure
    assert not call.has_ended


@pytest.mark.parametrize("before", [[], [start()], [start(), SOME_TEXT]])
async def test_outer_middleware_of_other_paths_lets_exceptions_of_an_inner_one_pass(before: Any) -> None:
    failure = boom()
    inner = StreamweirMiddleware(sending(*before, failure), speaks="legacy", answers="legacy")
    done = await outcome(inner, speaks="standard", answers="standard", paths="*")
    assert done.raised is failure
    assert not done.has_ended


@BOTH
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
async def test_exits_always_pass(middleware: Any, kind: Any) -> None:
    def leave() -> None:
        raise kind

    done = await outcome(sending(start(), SOME_TEXT, leave), middleware)
    assert isinstance(done.raised, kind)


def test_unknown_mode_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be 'as_they_came' or 'told'"):
        StreamweirMiddleware(sending(), speaks="legacy", failures="tell")  # type: ignore[arg-type]
