"""Starlette: an old route, and a page with `useChat` in front of it.

uvicorn --app-dir examples mapped_app:app
"""

import json
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from streamweir.asgi import StreamweirMiddleware


async def old_answer(message: str) -> AsyncIterator[str]:
    texts = ("There are ", "three.") if message == "How many?" else ("You said: ", message)
    for event in (*({"type": "token", "content": text} for text in texts), {"type": "done"}):
        yield f"data: {json.dumps(event)}\n\n"


async def chat(request: Request) -> StreamingResponse:
    asked = json.loads(await request.body() or b"{}")  # {"message": ..., "thread_id": ...}
    answer = old_answer(asked.get("message", "How many?"))
    return StreamingResponse(answer, media_type="text/event-stream")


app = Starlette(
    routes=[Route("/chat", chat, methods=["POST"])],
    middleware=[
        Middleware(
            StreamweirMiddleware,
            speaks="legacy",
            answers=["standard", "vercel-ui", "legacy"],
            paths=["/chat"],
            request="mapped",
        )
    ],
)
