"""Litestar: an old endpoint made standard by one line, and a new one on `EventStream`.

uvicorn --app-dir examples litestar_app:app
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from litestar import Litestar, Request, get
from litestar.middleware import DefineMiddleware
from litestar.response import Stream

from streamweir import EventStream, collect_stream_warning
from streamweir.asgi import StreamweirMiddleware


async def old_answer() -> AsyncIterator[str]:
    """What the endpoint has always sent; nothing here knows of streamweir."""
    for event in (
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"


@get("/chat")
async def chat() -> Stream:
    return Stream(old_answer(), media_type="text/event-stream")


async def new_answer() -> AsyncIterator[dict[str, Any]]:
    yield {"type": "thinking", "data": {"content": "Count the rows."}}
    collect_stream_warning("Only the first sheet was read.", message_code="SHEETS_LEFT_OUT")
    yield {"type": "content", "data": {"content": "There are three."}}


@get("/agent")
async def agent(request: Request[Any, Any, Any]) -> Stream:
    stream = EventStream(new_answer(), accept=request.headers.get("accept"))
    return Stream(stream, headers=stream.headers, media_type=stream.media_type)


app = Litestar(
    [chat, agent],
    middleware=[DefineMiddleware(StreamweirMiddleware, speaks="legacy")],
)
