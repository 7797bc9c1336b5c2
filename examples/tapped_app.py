"""Starlette: a tap that listens to every stream, and a page with the last of them.

uvicorn --app-dir examples tapped_app:app
"""

import json
from collections import deque
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from streamweir import EventTap
from streamweir.asgi import StreamweirMiddleware

streams = deque(maxlen=100)


class StreamSummary(EventTap):
    def __init__(self, scope):
        self.path, self.counts = scope["path"], {}

    def write(self, event, stamp):
        self.counts[event.type] = self.counts.get(event.type, 0) + 1

    def finish(self):
        streams.append({"path": self.path, "events": self.counts})


async def old_answer() -> AsyncIterator[str]:
    for event in (
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"


async def chat(request: Request) -> StreamingResponse:
    return StreamingResponse(old_answer(), media_type="text/event-stream")


async def last_streams(request: Request) -> JSONResponse:
    return JSONResponse([*streams])


app = Starlette(
    routes=[Route("/chat", chat), Route("/streams", last_streams)],
    middleware=[Middleware(StreamweirMiddleware, speaks="legacy", taps=[StreamSummary])],
)
