"""An application under the middleware whose streams are kept in Redis: what one worker serves.

It imports no more than such an application does: each test starts two of them.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from streamweir.asgi import StreamweirMiddleware
from streamweir.runs import RedisStore, Resume

__all__ = ["WORDS", "serve"]

WORDS = 30


async def _chat(request: Request) -> Response:
    await request.body()
    return StreamingResponse(_events(), media_type="text/event-stream")


async def _events() -> AsyncIterator[bytes]:
    _note("began")
    try:
        yield _line({"type": "tool_call", "tool_name": "search", "tool_args": {}, "tool_id": "c"})
        for number in range(WORDS):
            await asyncio.sleep(0.05)
            yield _line({"type": "token", "content": f"word {number} "})
        yield _line({"type": "tool_result", "tool_name": "search", "result": "found", "tool_id": "c"})
        yield _line({"type": "done"})
    finally:
        _note("ended")


def _line(event: dict[str, object]) -> bytes:
    return b"data: %b\n\n" % json.dumps(event).encode()


def _note(word: str) -> None:
    with Path(os.environ["SAID"]).open("a") as said:
        said.write(f"{word}\n")


app = Starlette(routes=[Route("/chat", _chat, methods=["POST"])])


def serve() -> object:
    """Return the application as a worker serves it."""
    store = RedisStore(os.environ["STORE"], lease="1s")
    protocols = ["standard", "openai-chat", "ag-ui"]
    return StreamweirMiddleware(app, speaks="legacy", answers=protocols, resume=Resume(), store=store)
