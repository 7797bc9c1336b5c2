"""Applications under a real server: streams, disconnects, silence, separate warnings."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio.to_thread
import pytest
from fastapi import Depends, FastAPI
from fastapi.responses import StreamingResponse as FastAPIStreamingResponse
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Mount, Route

from hosts import DONE, HELLO, TOKENS, asking, body, get, served, start, streaming
from loopback import client
from patience import PROMPTLY, until
from streamweir import bind_context, collect_stream_warning, current_request_id, stream_warning_event
from streamweir.asgi import EventStreamResponse, StreamweirMiddleware, work_behind_end

pytestmark = pytest.mark.anyio

SSE = "text/event-stream"
MOUNTED: dict[str, Any] = {"speaks": "legacy"}


def token(text: str) -> bytes:
    return b'data: {"type": "token", "content": "%s"}\n\n' % text.encode()


async def test_stream_over_http_comes_piece_by_piece() -> None:
    app = StreamweirMiddleware(streaming(*HELLO, pause=0.05), **MOUNTED)
    async with served(app) as host, asking(host) as connected:
        await connected.until(b'"Hel"')
        assert b'"lo"' not in connected.answer.body
        answer = await connected.whole()
    assert answer.assert_valid().text == "Hello"
    assert answer.header("transfer-encoding") == "chunked"


async def test_request_body_reaches_the_application() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await asyncio.sleep(0.1)  # heartbeats meanwhile
        size, more = 0, True
        while more:
            message = await receive()
            size, more = size + len(message["body"]), message["more_body"]
            await asyncio.sleep(0.02)
        await send(body(token(str(size)) + DONE))

    mounted = StreamweirMiddleware(app, heartbeat="20ms", timeouts={"total": "30s"}, **MOUNTED)
    async with served(mounted) as host, client(host) as connected:
        connected.send("POST", "/chat", body=b"x" * 300_000)
        answer = await connected.whole()
    assert answer.assert_valid().text == "300000"
    assert b": ping\n" in answer.body


# Disconnects


class Generators:
    """Streams that note when they are closed."""

    def __init__(self, *pieces: bytes, silent: bool) -> None:
        self.pieces = pieces
        self.silent = silent
        self.closed = asyncio.Event()

    async def stream(self) -> AsyncIterator[bytes]:
        try:
            for piece in self.pieces:
                yield piece
            while True:
                await asyncio.sleep(3600 if self.silent else 0.01)
                yield TOKENS[0]
        finally:
            self.closed.set()

    def starlette(self) -> Any:
        async def view(request: Request) -> StreamingResponse:
            await request.body()
            return StreamingResponse(self.stream(), media_type=SSE)

        app = Starlette(routes=[Route("/chat", view)])
        app.add_middleware(StreamweirMiddleware, **MOUNTED)
        return app

    def fastapi(self) -> Any:
        app = FastAPI()
        app.add_middleware(StreamweirMiddleware, paths=["/chat"], **MOUNTED)

        @app.get("/chat")
        async def chat() -> FastAPIStreamingResponse:
            return FastAPIStreamingResponse(self.stream(), media_type=SSE)

        return app

    def plain(self) -> Any:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            async def listen() -> None:
                while (await receive())["type"] != "http.disconnect":
                    pass

            listening = asyncio.create_task(listen())
            await send(start())
            stream = self.stream()
            while not listening.done():
                step = asyncio.ensure_future(anext(stream))
                await asyncio.wait([step, listening], return_when=asyncio.FIRST_COMPLETED)
                if not step.done():
                    step.cancel()
                    break
                await send(body(step.result(), more=True))

        return StreamweirMiddleware(app, **MOUNTED)

    def event_stream(self) -> Any:
        async def view(request: Request) -> EventStreamResponse:
            return EventStreamResponse(self.stream(), speaks="legacy")

        return Starlette(
            routes=[Route("/chat", view)], middleware=[Middleware(StreamweirMiddleware, **MOUNTED)]
        )


@pytest.mark.parametrize("silent", [True, False])
@pytest.mark.parametrize("host", ["starlette", "fastapi", "plain", "event_stream"])
async def test_generator_is_closed_when_the_client_leaves(host: str, silent: bool) -> None:
    generators = Generators(*TOKENS, silent=silent)
    async with served(getattr(generators, host)()) as running, asking(running) as connected:
        await connected.until(b'"lo"')
        connected.leave()
        async with asyncio.timeout(PROMPTLY):
            await generators.closed.wait()


@pytest.mark.parametrize("host", ["starlette", "fastapi", "event_stream"])
async def test_generator_is_closed_when_the_client_leaves_before_its_first_event(host: str) -> None:
    generators = Generators(silent=True)
    async with served(getattr(generators, host)()) as running, asking(running) as connected:
        await asyncio.sleep(0.1)
        connected.leave()
        async with asyncio.timeout(PROMPTLY):
            await generators.closed.wait()


@pytest.mark.parametrize("host", ["starlette", "fastapi", "plain"])
@pytest.mark.parametrize("silent", [True, False])
async def test_generator_that_yields_after_the_end_is_stopped(
    host: str, silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_behind_end, "_LATE_MESSAGE_SECONDS", 0.2)
    monkeypatch.setattr(work_behind_end, "_ENDED_BODY_SECONDS", 0.1)
    monkeypatch.setattr(work_behind_end, "_RUN_ON_SECONDS", 0.4)
    generators = Generators(*HELLO, silent=silent)
    async with served(getattr(generators, host)()) as running:
        answer = await get(running)
        assert answer.assert_valid().text == "Hello"
        async with asyncio.timeout(PROMPTLY):
            await generators.closed.wait()


async def test_application_can_ask_whether_the_client_has_left() -> None:
    asked: list[bool] = []
    noticed = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        request = Request(scope, receive)
        await send(start())
        await send(body(TOKENS[0], more=True))
        while not (left := await request.is_disconnected()):
            asked.append(left)
            await asyncio.sleep(0.01)
        noticed.set()

    async with served(StreamweirMiddleware(app, **MOUNTED)) as running:
        async with asking(running) as connected:
            await connected.until(b"Hel")
            await until(lambda: bool(asked))
            assert not noticed.is_set()
        async with asyncio.timeout(PROMPTLY):
            await noticed.wait()


async def test_background_task_runs_after_the_stream() -> None:
    ran = asyncio.Event()

    async def later() -> None:
        await asyncio.sleep(0.05)
        ran.set()

    async def old() -> AsyncIterator[bytes]:
        for piece in HELLO:
            yield piece
        await asyncio.sleep(0.05)

    async def view(request: Request) -> Any:
        if request.url.path == "/own":
            return EventStreamResponse(
                [{"type": "content", "content": "Hello"}], background=BackgroundTask(later)
            )
        return StreamingResponse(old(), media_type=SSE, background=BackgroundTask(later))

    app = Starlette(
        routes=[Route("/chat", view), Route("/own", view)],
        middleware=[Middleware(StreamweirMiddleware, **MOUNTED)],
    )
    async with served(app) as running:
        for target in ("/chat", "/own"):
            ran.clear()
            assert (await get(running, target)).assert_valid().text == "Hello"
            async with asyncio.timeout(PROMPTLY):
                await ran.wait()


# Heartbeats and clocks


def waiting(*steps: bytes | float | asyncio.Event) -> Any:
    """Return an application that sends bytes, and waits for seconds or for an event."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        for step in steps:
            if isinstance(step, float):
                await asyncio.sleep(step)
            elif isinstance(step, asyncio.Event):
                await step.wait()
            else:
                await send(body(step, more=True))
        await send(body())

    return app


@pytest.mark.parametrize(("accept", "beat"), [(SSE, b": ping\n"), ("application/x-ndjson", b"\n")])
async def test_silent_stream_gets_heartbeats(accept: str, beat: bytes) -> None:
    app = StreamweirMiddleware(waiting(0.15, TOKENS[0], 0.15, DONE, 0.15), heartbeat="40ms", **MOUNTED)
    async with served(app) as running:
        answer = await get(running, headers=[("Accept", accept)])
    answer.assert_valid()
    beats = sum(piece == beat for piece in answer.pieces)
    assert 2 <= beats <= (answer.times[-1] - answer.times[0]) / 0.04 + 2
    assert answer.pieces[0] == beat
    assert b"session_end" in answer.pieces[-1]


async def test_heartbeats_are_not_sent_when_off_or_folded() -> None:
    for heartbeat, headers in (("off", []), ("20ms", [("Accept", "application/json")])):
        app = StreamweirMiddleware(waiting(0.1, TOKENS[0], 0.1, DONE), heartbeat=heartbeat, **MOUNTED)
        async with served(app) as running:
            answer = await get(running, headers=headers)
        assert b"ping" not in answer.body
        assert answer.body.startswith((b"id: 0", b"{"))


@pytest.mark.parametrize(
    ("steps", "timeouts", "reason", "text"),
    [
        ((), {"first_event": "50ms"}, "first_event_timeout", ""),
        ((b": ping\n\n",), {"first_event": "50ms"}, "first_event_timeout", ""),
        ((TOKENS[0],), {"idle": "50ms"}, "idle_timeout", "Hel"),
        ((TOKENS[0], 0.7, TOKENS[1]), {"idle": "1200ms"}, "idle_timeout", "Hello"),
        ((TOKENS[0],), {"total": 0.5}, "total_timeout", "Hel"),
        ((0.1, TOKENS[0], 0.1, DONE), {"first_event": "5s", "idle": "5s", "total": "5s"}, "done", "Hel"),
    ],
)
async def test_timeout_within_the_stream_ends_it(steps: Any, timeouts: Any, reason: str, text: str) -> None:
    may_end = asyncio.Event()
    app = StreamweirMiddleware(waiting(*steps, may_end), timeouts=timeouts, **MOUNTED)
    async with served(app) as running:
        answer = await get(running)
        may_end.set()
        answer.assert_valid()
        assert (answer.end["reason"], answer.text) == (reason, text)
        if reason != "done":
            assert answer.error is not None
            assert answer.error["code"] == "UPSTREAM_TIMEOUT"


async def test_timeout_before_a_covered_response_becomes_a_stream() -> None:
    left = asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()
        await send(start())

    for speaks in ("legacy", "auto"):
        app = StreamweirMiddleware(slow, speaks=speaks, paths="*", timeouts={"first_event": "50ms"})
        async with served(app) as running:
            answer = (await get(running)).assert_valid()
            assert answer.types == ["session_start", "error", "session_end"]
            assert answer.end["reason"] == "first_event_timeout"
            answer = await get(running, headers=[("Accept", "application/json")])
            assert answer.status == 504
            async with asyncio.timeout(PROMPTLY):
                await left.wait()


async def test_slow_response_that_is_no_stream_is_unchanged() -> None:
    async def view(request: Request) -> JSONResponse:
        await asyncio.sleep(0.15)
        return JSONResponse({"slow": True})

    app = Starlette(routes=[Route("/chat", view)])
    mounted = StreamweirMiddleware(app, timeouts={"first_event": "50ms"}, heartbeat="20ms", **MOUNTED)
    async with served(mounted) as running:
        answer = await get(running)
    assert answer.json == {"slow": True}


async def test_silence_after_soft_evidence_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamweir.translation.clock.SETTLE_SECONDS", 0.1)
    may_end = asyncio.Event()
    app = StreamweirMiddleware(waiting(TOKENS[0], b"data: [DONE]\n\n", may_end), **MOUNTED)
    async with served(app) as running:
        answer = await get(running)
        may_end.set()
    assert answer.assert_valid().end["status"] == "completed"


# Warnings


def warn_in_thread(text: str) -> None:
    collect_stream_warning(f"{text} thread")


def host_with_warnings() -> Any:
    async def dependency() -> None:
        assert collect_stream_warning(f"{current_request_id()} dependency", message_code="EARLY")

    async def stream(request_id: str | None) -> AsyncIterator[str]:
        for number in range(3):
            yield token(f"{number}").decode()
            await asyncio.sleep(0.001)
            collect_stream_warning(f"{request_id} generator")
            await asyncio.create_task(warn_in_task(request_id))
            await asyncio.to_thread(warn_in_thread, str(request_id))
        yield stream_warning_event(f"{request_id} event")
        thread = threading.Thread(target=bind_context(warn_in_thread), args=(str(request_id),))
        thread.start()
        await asyncio.to_thread(thread.join)
        yield DONE.decode()
        assert not collect_stream_warning("too late")

    async def warn_in_task(request_id: str | None) -> None:
        collect_stream_warning(f"{request_id} task")

    app = FastAPI()
    app.add_middleware(StreamweirMiddleware, **MOUNTED)

    @app.get("/chat", dependencies=[Depends(dependency)])
    async def chat() -> FastAPIStreamingResponse:
        return FastAPIStreamingResponse(stream(current_request_id()), media_type=SSE)

    @app.get("/sync", dependencies=[Depends(dependency)])
    def sync() -> FastAPIStreamingResponse:
        collect_stream_warning(f"{current_request_id()} sync")

        def stream() -> Iterator[bytes]:
            yield TOKENS[0]
            collect_stream_warning(f"{current_request_id()} sync generator")
            yield DONE

        return FastAPIStreamingResponse(stream(), media_type=SSE)

    @app.get("/json")
    async def json() -> dict[str, bool]:
        return {"collected": collect_stream_warning(f"{current_request_id()} nowhere")}

    return app


EXPECTED = ["dependency", *["generator", "task", "thread"] * 3, "event", "thread"]


async def test_two_hundred_streams_keep_their_own_warnings() -> None:
    async def one(running: Any, number: int) -> None:
        answer = (await get(running, headers=[("X-Request-Id", f"r{number}")])).assert_valid()
        messages = [event["data"]["message"] for event in answer.events if event["type"] == "warning"]
        assert messages == [f"r{number} {what}" for what in EXPECTED]
        assert {event["metadata"]["request_id"] for event in answer.events} == {f"r{number}"}
        assert answer.types[:2] == ["session_start", "warning"]

    async with served(host_with_warnings()) as running, asyncio.TaskGroup() as tasks:
        for number in range(200):
            tasks.create_task(one(running, number))


async def test_warning_of_a_synchronous_view_reaches_its_stream(caplog: pytest.LogCaptureFixture) -> None:
    async with served(host_with_warnings()) as running:
        answer = (await get(running, "/sync", headers=[("X-Request-Id", "r1")])).assert_valid()
        told = [event["data"]["message"] for event in answer.events if event["type"] == "warning"]
        assert told == ["r1 dependency", "r1 sync", "r1 sync generator"]
        answer = await get(running, "/json", headers=[("X-Request-Id", "r2")])
        assert answer.json == {"collected": True}
    assert any("r2 nowhere" in record.getMessage() for record in caplog.records)


# Hosts


async def test_mounted_applications_with_several_middlewares_have_one_translation() -> None:
    def view(pieces: tuple[bytes, ...]) -> Callable[[Request], Any]:
        async def stream(request: Request) -> StreamingResponse:
            return StreamingResponse(iter(pieces), media_type=SSE)

        return stream

    standard = (
        b'data: {"type":"content","data":{"content":"Hi"}}\n\ndata: {"type":"session_end","data":{}}\n\n'
    )
    inner = Starlette(routes=[Route("/old", view(HELLO)), Route("/new", view((standard,)))])
    app: Any = Starlette(routes=[Mount("/v1", inner), Route("/old", view(HELLO))])
    app.add_middleware(StreamweirMiddleware, speaks="legacy", paths=["/v1/old", "/old"])
    app.add_middleware(StreamweirMiddleware, speaks="standard", paths="/v1/new")
    async with served(app) as running:
        for target, text in (("/v1/old", "Hello"), ("/old", "Hello"), ("/v1/new", "Hi")):
            answer = (await get(running, target)).assert_valid()
            assert answer.text == text
            assert len([name for name, _ in answer.headers if name == "x-request-id"]) == 1


async def test_response_of_the_framework_passes() -> None:
    app = FastAPI()
    app.add_middleware(StreamweirMiddleware, paths="/{name}", **MOUNTED)

    @app.get("/number")
    async def number(n: int) -> int:
        return n

    async with served(app) as running:
        answer = await get(running, "/number?n=x", headers=[("Accept", SSE)])
        assert answer.status == 422
        assert answer.json["detail"][0]["loc"] == ["query", "n"]
        assert (await get(running, "/nowhere")).status == 404
        assert (await get(running, "/number?n=7")).json == 7


async def test_endpoint_that_fails_is_answered_with_a_stream() -> None:
    app = FastAPI()
    app.add_middleware(StreamweirMiddleware, paths="/chat", **MOUNTED)

    @app.get("/chat")
    async def chat() -> None:
        raise RuntimeError("secret")

    async with served(app) as running:
        answer = (await get(running)).assert_valid()
        assert answer.types == ["session_start", "error", "session_end"]
        assert b"secret" not in answer.body


async def test_work_in_threads_has_the_request_id() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        request_id = await anyio.to_thread.run_sync(current_request_id)
        await send(start())
        await send(body(token(str(request_id)) + DONE))

    async with served(StreamweirMiddleware(app, **MOUNTED)) as running:
        assert (await get(running, headers=[("X-Request-Id", "abc")])).text == "abc"


@pytest.mark.parametrize("paths", ["/agent/chat", "/app/agent/chat", "/agent/*"])
async def test_paths_are_matched_below_a_root_path_and_a_mount(paths: str) -> None:
    async def chat(request: Request) -> StreamingResponse:
        return StreamingResponse(iter(HELLO), media_type=SSE)

    inner = Starlette(
        routes=[Mount("/agent", routes=[Route("/chat", chat), Route("/raw", chat)])],
        middleware=[Middleware(StreamweirMiddleware, paths=paths, **MOUNTED)],
    )
    async with served(inner, root_path="/app") as host:  # as `uvicorn --root-path /app`
        assert (await get(host, "/agent/chat")).assert_valid().text == "Hello"
    async with served(Starlette(routes=[Mount("/app", inner)])) as host:
        assert (await get(host, "/app/agent/chat")).assert_valid().text == "Hello"
        raw = await get(host, "/app/agent/raw")
        assert (raw.body == b"".join(HELLO)) is (paths != "/agent/*")
