"""Quart: an old endpoint made standard by one line, and a new one on `EventStream`.

uvicorn --app-dir examples quart_app:app
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from quart import Quart, Response, request

from streamweir import EventStream, collect_stream_warning
from streamweir.asgi import StreamweirMiddleware

app = Quart(__name__)
app.asgi_app = StreamweirMiddleware(app.asgi_app, speaks="legacy", paths="/chat")


async def old_answer() -> AsyncIterator[str]:
    """What the endpoint has always sent; nothing here knows of streamweir."""
    for event in (
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"


@app.get("/chat")
async def chat() -> Response:
    return Response(old_answer(), content_type="text/event-stream")


async def new_answer() -> AsyncIterator[dict[str, Any]]:
    yield {"type": "thinking", "data": {"content": "Count the rows."}}
    collect_stream_warning("Only the first sheet was read.", message_code="SHEETS_LEFT_OUT")
    yield {"type": "content", "data": {"content": "There are three."}}


@app.get("/agent")
async def agent() -> Response:
    stream = EventStream(new_answer(), accept=request.headers.get("accept"))
    response = Response(stream, headers=stream.headers)
    response.timeout = None  # Quart's own, a minute for the whole response
    return response
