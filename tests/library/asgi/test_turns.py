"""A long message of an application is translated in several turns of the event loop, in order."""

import gzip
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from streamweir import EventStream
from streamweir.asgi import StreamweirMiddleware
from streamweir.testing import check_stream

pytestmark = pytest.mark.anyio

FRAMES = b"1\n" * 8000
LAST = b'data: {"type": "token", "content": "behind"}\n\n'
MOST_FRAMES = 1500
"""So many of these frames are translated in one turn at most; some 250 on a usual machine."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def sent_by(application: Any) -> list[bytes]:
    """Return the pieces that the middleware sends for an application."""
    pieces: list[bytes] = []

    async def receive() -> Any:
        await anyio.sleep_forever()

    async def send(message: Any) -> None:
        pieces.append(message.get("body", b""))

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    await StreamweirMiddleware(application, speaks="legacy")(scope, receive, send)
    return pieces


@pytest.mark.parametrize("coding", ["identity", "gzip"])
async def test_long_message_is_sent_in_parts_and_others_have_their_turn(coding: str) -> None:
    body = gzip.compress(FRAMES) if coding == "gzip" else FRAMES
    turns = 0

    async def application(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream"), (b"content-encoding", coding.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        pieces = await sent_by(application)
        tasks.cancel_scope.cancel()
    assert check_stream(b"".join(pieces)) == []
    assert max(piece.count(b'"custom"') for piece in pieces) <= MOST_FRAMES
    assert len(pieces) >= len(FRAMES) / 2 / MOST_FRAMES
    assert turns >= len(FRAMES) / 2 / MOST_FRAMES


async def test_message_that_comes_while_another_is_translated_is_behind_it() -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        long = b'data: {"type": "token", "content": "a"}\n\n' + b"data: 1\n\n" * 2000
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, {"type": "http.response.body", "body": long, "more_body": True})
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(send, {"type": "http.response.body", "body": LAST, "more_body": True})
        await send({"type": "http.response.body", "body": b'data: {"type": "done"}\n\n'})

    body = b"".join(await sent_by(application))
    assert check_stream(body) == []
    assert body.rindex(b'"custom"') < body.index(b"behind")


async def test_long_item_of_an_event_stream_is_sent_in_parts() -> None:
    async def content() -> AsyncIterator[bytes]:
        yield b'data: {"type": "token", "content": "a"}\n\n' + b"data: 1\n\n" * 4000

    pieces: list[bytes] = []

    async def send(piece: bytes) -> None:
        pieces.append(piece)

    await EventStream(content, speaks="legacy").send_to(send)
    assert check_stream(b"".join(pieces)) == []
    assert max(piece.count(b'"custom"') for piece in pieces) <= MOST_FRAMES
