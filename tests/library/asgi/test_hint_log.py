"""The middleware warns of streams that it did not understand, once per cause and minute."""

import logging
from collections.abc import AsyncIterator

import anyio
import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from streamweir.asgi import StreamweirMiddleware
from streamweir.asgi.hint_log import SECONDS, HintLog
from streamweir.translation.translator import Translator

pytestmark = pytest.mark.anyio

UNENDED = b'data: {"type": "token", "content": "Hello"}\n\n'


def truncated(request_id: str) -> Translator:
    translator = Translator(speaks="legacy", request_id=request_id)
    translator.feed(UNENDED)
    translator.close()
    return translator


async def test_hint_of_a_stream_without_its_end_names_the_end(caplog: pytest.LogCaptureFixture) -> None:
    async def chat(request: Request) -> Response:
        del request

        async def pieces() -> AsyncIterator[bytes]:
            yield UNENDED

        return StreamingResponse(pieces(), media_type="text/event-stream")

    app = StreamweirMiddleware(Starlette(routes=[Route("/chat", chat)]), speaks="legacy")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        for _ in range(3):
            await client.get("/chat", headers={"X-Request-Id": "one"})
    (record,) = [record for record in caplog.records if record.name == "streamweir"]
    assert record.levelno == logging.WARNING
    assert "ended after final text without done" in record.getMessage()
    assert record.__dict__["request_id"] == "one"
    assert "Hello" not in record.getMessage()


async def test_hint_of_events_that_come_all_at_the_end_names_buffering(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def chat(request: Request) -> Response:
        del request

        async def pieces() -> AsyncIterator[bytes]:
            await anyio.sleep(0.6)
            yield UNENDED * 40 + b'data: {"type": "done"}\n\n'

        return StreamingResponse(pieces(), media_type="text/event-stream")

    app = StreamweirMiddleware(
        Starlette(routes=[Route("/chat", chat)]), speaks="legacy", heartbeat="100ms", answers=["legacy"]
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        await client.get("/chat")
    (record,) = [record for record in caplog.records if record.name == "streamweir"]
    assert record.__dict__["hint"].endswith("something between buffers")


@pytest.mark.parametrize("coding", ["zstd", "gzip"])
async def test_hint_of_an_unreadable_coding_names_it(coding: str, caplog: pytest.LogCaptureFixture) -> None:
    async def chat(request: Request) -> Response:
        del request
        return Response(UNENDED, media_type="text/event-stream", headers={"Content-Encoding": coding})

    app = StreamweirMiddleware(Starlette(routes=[Route("/chat", chat)]), speaks="legacy")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as client:
        await client.get("/chat")
    (record,) = [record for record in caplog.records if record.name == "streamweir"]
    assert record.__dict__["hint"] == (
        f"the body's coding cannot be read ({coding}): ask the upstream for identity, gzip or deflate"
    )


def test_hint_is_logged_again_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    log = HintLog("legacy", clock=lambda: now)
    for now in (0.0, SECONDS - 1, SECONDS + 1):  # noqa: B007 - the clock reads it
        log.report(truncated("one"), is_clean=True)
    assert len(caplog.records) == 2
