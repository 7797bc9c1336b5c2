"""An application below the middleware runs on behind the end of its stream."""

import asyncio
import gc
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from fastapi import FastAPI
from starlette.background import BackgroundTask
from starlette.responses import StreamingResponse

from hosts import DONE, HELLO, TOKENS, Call, asking, body, get, served, start
from patience import PROMPTLY
from streamweir.asgi import StreamweirMiddleware, work_behind_end
from streamweir.runs import Resume

pytestmark = pytest.mark.anyio

SSE = "text/event-stream"
DISCONNECT = {"type": "http.disconnect"}
ENDS = pytest.mark.parametrize("ending", [DONE, b'data: {"type": "error", "error": "x"}\n\n'])
VERSIONS = pytest.mark.parametrize("version", ["2.3", "2.4"])


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def mounted(app: Any, **options: Any) -> Any:
    return StreamweirMiddleware(app, speaks="legacy", **options)


class Server(Call):
    """Reports a disconnect once the response is complete, as servers do."""

    def __init__(self, app: Any, **scope: Any) -> None:
        super().__init__(app, **scope)
        self.complete = anyio.Event()

    async def receive(self) -> Any:
        if self.requests:
            return self.requests.pop(0)
        await self.complete.wait()
        return dict(DISCONNECT)

    async def send(self, message: Any) -> None:
        await super().send(message)
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self.complete.set()


class App:
    """Streams, then works while another task waits for the client to leave, as Starlette does."""

    def __init__(self, *pieces: bytes, work: float = 0.0, sends: int = 0, pause: float = 0.0) -> None:
        self.done: list[str] = []
        self._pieces, self._work, self._sends, self._pause = pieces, work, sends, pause

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def stream() -> None:
            try:
                await self._stream(send)
                self.done.append("saved")
                tasks.cancel_scope.cancel()
            finally:
                self.done.append("finally")

        await receive()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream)
            while (await receive())["type"] != "http.disconnect":
                pass
            self.done.append("told")
            tasks.cancel_scope.cancel()

    async def _stream(self, send: Any) -> None:
        await send(start())
        for piece in self._pieces:
            await send(body(piece, more=True))
        for _ in range(self._sends):
            await send(body(TOKENS[0], more=True))
            await anyio.sleep(self._pause)
        await anyio.sleep(self._work)
        await send(body())


@ENDS
@VERSIONS
@pytest.mark.parametrize("options", [{}, {"speaks": "auto"}, {"answers": "legacy"}])
async def test_app_behind_its_end_gets_no_disconnect_and_runs_to_its_end(
    ending: bytes, version: str, options: Any
) -> None:
    app = App(TOKENS[0], ending, work=0.7, sends=3, pause=0.01)
    server = Server(StreamweirMiddleware(app, **{"speaks": "legacy", **options}), spec_version=version)
    with anyio.fail_after(PROMPTLY):
        await server.run()
    assert app.done == ["saved", "finally"]
    assert [message["more_body"] for message in server.sent[1:]] == [True] * (len(server.sent) - 2) + [False]
    assert server.answer.body.count(b"Hel") == 1


@VERSIONS
async def test_receive_behind_the_end_waits_until_the_app_has_returned(version: str) -> None:
    heard: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await send(body(b"".join(HELLO), more=True))
        with anyio.move_on_after(0.2):
            heard.append(await receive())
        await send(body(TOKENS[1], more=True))
        with anyio.move_on_after(0.2):
            heard.append(await receive())
        await send(body())

    server = Server(mounted(app), spec_version=version, requests=())
    await server.run()
    assert not heard
    assert server.answer.assert_valid().text == "Hello"


@VERSIONS
async def test_app_that_sends_for_ever_behind_its_end_gets_a_disconnect(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_behind_end, "_LATE_MESSAGE_SECONDS", 0.2)
    sent = [0]

    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def stream() -> None:
            await send(start())
            await send(body(b"".join(HELLO), more=True))
            while True:  # without any pause of its own
                sent[0] += 1
                await send(body(TOKENS[0], more=True))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream)
            while (await receive())["type"] != "http.disconnect":
                pass
            tasks.cancel_scope.cancel()

    server = Server(mounted(app), spec_version=version)
    with anyio.fail_after(PROMPTLY):
        await server.run()
    assert sent[0] > 10
    assert server.answer.assert_valid().text == "Hello"


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@VERSIONS
async def test_app_of_a_kept_run_behind_its_end_runs_on_and_gets_a_disconnect(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_behind_end, "_LATE_MESSAGE_SECONDS", 0.2)
    saving = App(*HELLO, work=0.7)
    with anyio.fail_after(PROMPTLY):
        await Server(mounted(saving, resume=Resume()), spec_version=version).run()
    assert saving.done == ["saved", "finally"]
    endless = App(*HELLO, sends=1000, pause=0.01)
    with anyio.fail_after(PROMPTLY):
        await Server(mounted(endless, resume=Resume()), spec_version=version).run()
    assert endless.done == ["told", "finally"]


async def test_send_long_behind_the_end_raises_with_servers_that_raise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(work_behind_end, "_LATE_MESSAGE_SECONDS", 0.1)
    raised: list[BaseException] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        await send(body(b"".join(HELLO), more=True))
        await send(body(TOKENS[0], more=True))
        await anyio.sleep(0.2)
        try:
            await send(body(TOKENS[0], more=True))
        except OSError as error:
            raised.append(error)
            raise

    server = Server(mounted(app), spec_version="2.4")
    await server.run()
    assert len(raised) == 1
    assert server.answer.assert_valid().text == "Hello"


@VERSIONS
async def test_app_that_does_not_return_behind_its_end_gets_a_disconnect(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_behind_end, "_ENDED_BODY_SECONDS", 0.1)
    monkeypatch.setattr(work_behind_end, "_RUN_ON_SECONDS", 0.3)
    app = App(*HELLO, work=60)
    with anyio.fail_after(PROMPTLY):
        await Server(mounted(app), spec_version=version).run()
    assert app.done == ["told", "finally"]


@VERSIONS
@pytest.mark.parametrize("ends_with", [HELLO, (*HELLO, b"")])
async def test_app_that_has_ended_its_body_gets_a_disconnect_after_a_second(
    version: str, ends_with: tuple[bytes, ...]
) -> None:
    heard: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send(start())
        for piece in ends_with[:-1]:
            await send(body(piece, more=True))
        await send(body(ends_with[-1]))
        with anyio.move_on_after(0.3):
            heard.append(await receive())
        assert not heard
        heard.append(await receive())  # Litestar returns only then

    with anyio.fail_after(PROMPTLY):
        await Server(mounted(app), spec_version=version, requests=()).run()
    assert heard == [DISCONNECT]


@pytest.mark.parametrize(
    "options",
    [
        {"timeouts": {"idle": 0.1}},
        {"timeouts": {"total": 0.1}},
        {"limits": {"stream_bytes": 300}},
        {"limits": {"malformed_events": 1}},
    ],
)
async def test_app_whose_stream_is_cut_off_gets_a_disconnect_at_once(options: Any) -> None:
    app = App(*TOKENS * 4, b"data: {\n\n" * 3, work=60)
    with anyio.fail_after(PROMPTLY):
        await Server(mounted(app, **options)).run()
    assert app.done == ["told", "finally"]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_generator_with_pieces_at_hand_is_closed_when_its_stream_is_cut_off() -> None:
    closed = asyncio.Event()

    async def answer() -> Any:
        try:
            for _ in range(50):  # as of a body whose lines have arrived together
                yield TOKENS[0]
            await anyio.sleep(60)
        finally:
            closed.set()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await StreamingResponse(answer(), media_type=SSE)(scope, receive, send)

    gc.disable()
    try:
        with anyio.fail_after(PROMPTLY):
            await Server(mounted(app, limits={"stream_bytes": 300}), spec_version="2.3").run()
            await closed.wait()
    finally:
        gc.enable()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_fastapi_app_saves_its_answer_and_runs_its_background_task() -> None:
    done: list[str] = []
    complete = anyio.Semaphore(0)
    app = FastAPI()

    async def answer() -> Any:
        try:
            for piece in HELLO:
                yield piece
            await anyio.sleep(0.8)
            done.append("saved")
        finally:
            done.append("finally")

    async def later() -> None:
        await anyio.sleep(0.1)
        done.append("background")
        complete.release()

    @app.get("/chat")
    async def chat() -> StreamingResponse:
        return StreamingResponse(answer(), media_type=SSE, background=BackgroundTask(later))

    app.add_middleware(StreamweirMiddleware, speaks="legacy")
    async with served(app) as host:
        assert (await get(host)).assert_valid().text == "Hello"  # the body ends before the work does
        with anyio.fail_after(PROMPTLY):
            await complete.acquire()
        async with asking(host) as connected:  # a client that leaves at the last event
            await connected.until(b"session_end")
        with anyio.fail_after(PROMPTLY):
            await complete.acquire()
    assert done == ["saved", "finally", "background"] * 2
