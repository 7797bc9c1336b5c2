"""An `EventStreamResponse` lets its content work on behind the `session_end` that it yields."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import anyio
import pytest

from patience import PROMPTLY
from streamweir.asgi import EventStreamResponse
from streamweir.emit import event_sending
from streamweir.runs import MemoryStore, Resume

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


END = {"type": "session_end", "status": "completed"}


class Server:
    """Calls a response; reports a disconnect once the response is complete, as servers do."""

    def __init__(self) -> None:
        self.body = b""
        self._complete = anyio.Event()

    async def call(self, response: EventStreamResponse) -> None:
        scope = {"type": "http", "method": "GET", "path": "/chat", "headers": [], "query_string": b""}
        with anyio.fail_after(PROMPTLY):
            await response(scope, self._receive, self._send)

    async def _receive(self) -> Any:
        await self._complete.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.body += message.get("body", b"")
        if message["type"] == "http.response.body" and not message.get("more_body"):
            self._complete.set()


class Content:
    """A content with `work` behind its end."""

    def __init__(self, work: Callable[[], AsyncGenerator[Any]]) -> None:
        self.done: list[str] = []
        self._work = work

    async def items(self) -> AsyncIterator[Any]:
        try:
            yield {"type": "content", "content": "Hello"}
            yield END
            async with aclosing(self._work()) as work:
                async for item in work:
                    yield item
            self.done.append("work")
        finally:
            self.done.append("finally")


async def one_pause() -> AsyncGenerator[Any]:
    await anyio.sleep(0.1)
    yield {"type": "content", "content": "late"}


async def test_content_behind_its_session_end_runs_to_its_end() -> None:
    content, server = Content(one_pause), Server()
    await server.call(EventStreamResponse(content.items()))
    assert content.done == ["work", "finally"]
    assert b"Hello" in server.body
    assert b"late" not in server.body


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_content_of_a_run_behind_its_session_end_runs_to_its_end() -> None:
    content, server = Content(one_pause), Server()
    await server.call(EventStreamResponse(content.items(), resume=Resume(), store=MemoryStore()))
    assert content.done == ["work", "finally"]
    assert b"late" not in server.body


async def test_content_that_raises_behind_its_session_end_is_logged_and_closed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def failing() -> AsyncGenerator[Any]:
        yield {"type": "content", "content": "late"}
        raise ValueError("too late")

    content, server = Content(failing), Server()
    await server.call(EventStreamResponse(content.items()))
    assert content.done == ["finally"]
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError]


async def test_content_that_yields_long_after_its_session_end_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def endless() -> AsyncGenerator[Any]:
        while True:
            yield {"type": "content", "content": "late"}

    monkeypatch.setattr(event_sending, "_LATE_ITEM_SECONDS", 0.1)
    content, server = Content(endless), Server()
    await server.call(EventStreamResponse(content.items()))
    assert content.done == ["finally"]


async def test_content_that_never_returns_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent() -> AsyncGenerator[Any]:
        await anyio.sleep_forever()
        yield None

    monkeypatch.setattr(event_sending, "_RUN_ON_SECONDS", 0.1)
    content, server = Content(silent), Server()
    await server.call(EventStreamResponse(content.items()))
    assert content.done == ["finally"]
