"""No framework at all: an ASGI function, wrapped.

uvicorn --app-dir examples plain_asgi:app
"""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from streamweir.asgi import StreamweirMiddleware

Message = MutableMapping[str, Any]


async def old_app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """What has always been served; nothing here knows of streamweir."""
    if scope["type"] != "http":
        raise NotImplementedError(scope["type"])
    headers = [(b"content-type", b"application/x-ndjson")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for event in (
        {"type": "token", "content": "There are "},
        {"type": "token", "content": "three."},
        {"type": "done"},
    ):
        line = json.dumps(event).encode() + b"\n"
        await send({"type": "http.response.body", "body": line, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


app = StreamweirMiddleware(old_app, speaks="legacy")
