"""An `EventStream` below the middleware is not translated again, in any dialect."""

from typing import Any

import pytest

from hosts import SSE, Call, body, start
from streamweir import EventStream, StreamError, collect_stream_warning, parse_stream_line
from streamweir.asgi import StreamweirMiddleware
from streamweir.testing import assert_valid_stream

pytestmark = pytest.mark.anyio


async def new_answer() -> Any:
    collect_stream_warning("Only the first sheet was read.", message_code="SHEETS_LEFT_OUT")
    yield {"type": "status", "data": {"scope": "phase", "state": "started"}}
    raise StreamError("BUDGET_SPENT", "Your budget is spent.")


async def host(scope: Any, receive: Any, send: Any) -> None:
    """Answers with an `EventStream` as Django, Quart and Litestar do."""
    stream = EventStream(new_answer())
    headers = [(name.lower().encode(), value.encode()) for name, value in stream.headers.items()]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    async for piece in stream:
        await send(body(piece, more=True))
    await send(body())


async def falling_back(scope: Any, receive: Any, send: Any) -> None:
    """Makes an `EventStream`, but answers in the old way."""
    await EventStream(new_answer()).aclose()
    await send(start(SSE))
    await send(body(b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n'))


@pytest.mark.parametrize("speaks", ["legacy", "standard", "auto"])
async def test_event_stream_below_the_middleware_passes_unchanged(speaks: str) -> None:
    call = await Call(StreamweirMiddleware(host, speaks=speaks)).run()
    assert_valid_stream(call.answer.body, headers=dict(call.answer.headers))
    events = [event for line in call.answer.body.split(b"\n") if (event := parse_stream_line(line))]
    assert [event["type"] for event in events] == [
        "session_start",
        "warning",
        "status",
        "error",
        "session_end",
    ]
    assert events[1]["data"]["message"] == "Only the first sheet was read."
    assert events[3]["data"]["code"] == "BUDGET_SPENT"
    assert events[3]["data"]["message"] == "Your budget is spent."
    assert {event["metadata"]["request_id"] for event in events} == {
        dict(call.answer.headers)["x-request-id"]
    }


async def test_event_stream_that_is_not_sent_leaves_the_response_unchanged() -> None:
    call = await Call(StreamweirMiddleware(falling_back, speaks="legacy")).run()
    assert_valid_stream(call.answer.body)
    assert b'"Hi"' in call.answer.body
    assert b'"token"' not in call.answer.body
