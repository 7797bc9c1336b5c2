"""The cost of one event in the middleware, counted in calls of Python functions."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import pytest

import streamweir
from streamweir.asgi import StreamweirMiddleware

pytestmark = pytest.mark.anyio

MOST_CALLS = 18.0
EVENTS = 100
LIBRARY = str(Path(streamweir.__file__).parent)


async def test_event_in_the_middleware_takes_few_calls() -> None:
    counted = Counter[str]()

    def count(frame: FrameType, event: str, _: Any) -> None:
        place = frame.f_code.co_filename
        if event == "call" and place.startswith(LIBRARY):
            counted[f"{place}:{frame.f_code.co_qualname}"] += 1

    async def application(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(2 * EVENTS):
            if number == EVENTS:
                sys.setprofile(count)
            body = b'data: {"type": "token", "content": "word %d"}\n\n' % number
            await send({"type": "http.response.body", "body": body, "more_body": True})
        sys.setprofile(None)
        await send({"type": "http.response.body", "body": b'data: {"type": "done"}\n\n'})

    async def receive() -> Any:
        await anyio.sleep_forever()

    async def send(message: Any) -> None:
        pass

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": []}
    try:
        await StreamweirMiddleware(application, speaks="legacy")(scope, receive, send)
    finally:
        sys.setprofile(None)
    steady = {name: times / EVENTS for name, times in counted.items() if times > EVENTS / 2}
    assert steady
    assert sum(steady.values()) <= MOST_CALLS, steady
