"""Requests leave no reference cycles: their memory is freed without a garbage collection."""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import suppress
from typing import Any, TypeAlias

import pytest

from streamweir.asgi import EventStreamResponse, StreamweirMiddleware

Message: TypeAlias = MutableMapping[str, Any]
App: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

LEGACY = [b'data: {"type": "token", "content": "Hi"}\n\n', b'data: {"type": "done"}\n\n']


async def streaming(scope: Any, receive: Any, send: Any) -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    )
    for piece in LEGACY:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def raising(scope: Any, receive: Any, send: Any) -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    )
    await send({"type": "http.response.body", "body": LEGACY[0], "more_body": True})
    raise ValueError("x")


async def silent(scope: Any, receive: Any, send: Any) -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    )
    await send({"type": "http.response.body", "body": LEGACY[0], "more_body": True})
    while (await receive())["type"] != "http.disconnect":
        pass


async def responding(scope: Any, receive: Any, send: Any) -> None:
    await EventStreamResponse([{"type": "content", "content": "Hi"}])(scope, receive, send)


async def hesitating(scope: Any, receive: Any, send: Any) -> None:
    def events() -> Iterator[dict[str, str]]:
        yield {"type": "content", "content": "Hi"}
        time.sleep(0.05)  # in a thread; the client may leave meanwhile

    await EventStreamResponse(events())(scope, receive, send)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def asked(app: App, loop: asyncio.AbstractEventLoop, *, leaves: bool, raises: bool = False) -> None:
    """Send one request; the client stays to the end, or leaves after the first piece.

    The server reports a disconnect in `receive`; with `raises`, by an error in `send`.
    """

    async def request() -> None:
        left = asyncio.Event()

        async def receive() -> Message:
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if leaves and message.get("body"):
                left.set()
            elif raises and message["type"] == "http.response.body":
                raise OSError("the client has left")

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/",
            "headers": [],
            "query_string": b"",
            "state": {},
        }
        with suppress(OSError):
            await app(scope, receive, send)

    loop.run_until_complete(request())


def left_of_ours(
    app: App, loop: asyncio.AbstractEventLoop, *, leaves: bool = False, raises: bool = False
) -> set[str]:
    """Return the classes of this library whose objects a request leaves in reference cycles."""
    asked(app, loop, leaves=leaves, raises=raises)  # objects of the first request may stay: caches
    gc.collect()
    gc.disable()
    try:
        asked(app, loop, leaves=leaves, raises=raises)
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        return {
            type(found).__name__ for found in gc.garbage if type(found).__module__.startswith("streamweir")
        }
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize(
    ("app", "leaves"),
    [
        (StreamweirMiddleware(streaming, speaks="legacy"), False),
        (StreamweirMiddleware(raising, speaks="legacy"), False),
        (StreamweirMiddleware(silent, speaks="legacy"), True),
        (StreamweirMiddleware(responding, speaks="legacy"), False),
        (responding, False),
        (responding, True),
        (hesitating, True),
    ],
)
def test_request_leaves_no_reference_cycles(app: App, leaves: bool, loop: asyncio.AbstractEventLoop) -> None:
    assert not left_of_ours(app, loop, leaves=leaves)


@pytest.mark.parametrize(
    "app",
    [
        StreamweirMiddleware(streaming, speaks="legacy"),
        StreamweirMiddleware(responding, speaks="legacy"),
        responding,
    ],
)
def test_request_whose_server_raises_leaves_no_reference_cycles(
    app: App, loop: asyncio.AbstractEventLoop
) -> None:
    assert not left_of_ours(app, loop, raises=True)
