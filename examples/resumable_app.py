"""Starlette: a page that reloads reads on where it stopped, and the answer is made once.

uvicorn --app-dir examples resumable_app:app
"""

import asyncio
import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamweir.asgi import StreamweirMiddleware
from streamweir.runs import Resume


async def answer() -> AsyncIterator[str]:
    """Goes on when its client has left, for two minutes; nothing here knows of streamweir."""
    for event in (
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        yield f"data: {json.dumps(event)}\n\n"
        await asyncio.sleep(0.05)


async def chat(request: Request) -> StreamingResponse:
    return StreamingResponse(answer(), media_type="text/event-stream")


app = Starlette(
    routes=[Route("/chat", chat)],
    middleware=[Middleware(StreamweirMiddleware, speaks="legacy", resume=Resume(continue_for="2m"))],
)
