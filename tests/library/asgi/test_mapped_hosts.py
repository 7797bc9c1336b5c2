"""`request="mapped"` in mounts, and in frameworks that read a request's head before their middlewares."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from litestar import Litestar, post
from litestar import Request as LitestarRequest
from litestar.middleware.base import DefineMiddleware
from litestar.response import Stream
from quart import Quart, Response, request
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route

from hosts import DONE, SSE, served
from loopback import ask
from streamweir.asgi import StreamweirMiddleware

pytestmark = pytest.mark.anyio

LAYER: Any = StreamweirMiddleware
MAPPED: dict[str, Any] = {
    "speaks": "legacy",
    "answers": ("standard", "vercel-ui"),
    "paths": ["/chat"],
    "request": "mapped",
}
MEDIA_TYPE = SSE.decode()


async def answer(message: str) -> AsyncIterator[bytes]:
    yield b"data: %b\n\n" % json.dumps({"type": "token", "content": message}).encode()
    yield DONE


def litestar_app() -> Any:
    @post("/chat")
    async def chat(request: LitestarRequest[Any, Any, Any]) -> Stream:
        return Stream(answer((await request.json())["message"]), media_type=MEDIA_TYPE)

    return Litestar([chat], middleware=[DefineMiddleware(LAYER, **MAPPED)], logging_config=None)


def quart_app() -> Any:
    app: Any = Quart("old")

    async def chat() -> Response:
        asked = await request.get_json()
        return Response(answer(asked["message"]), content_type=MEDIA_TYPE)

    app.add_url_rule("/chat", view_func=chat, methods=["POST"])
    app.asgi_app = LAYER(app.asgi_app, **MAPPED)
    return app


def mounted_app() -> Any:
    async def chat(request: Request) -> StreamingResponse:
        return StreamingResponse(answer((await request.json())["message"]), media_type=MEDIA_TYPE)

    inner = Starlette(routes=[Route("/chat", chat, methods=["POST"])])
    inner.add_middleware(LAYER, **MAPPED)
    return Starlette(routes=[Mount("/app", inner)])


@pytest.mark.parametrize(
    ("app", "path"), [(litestar_app, "/chat"), (quart_app, "/chat"), (mounted_app, "/app/chat")]
)
@pytest.mark.parametrize("protocol", ["standard", "vercel-ui"])
@pytest.mark.parametrize("text", ["Hi", "x" * 5000])
async def test_mapped_body_is_read_by_the_framework(app: Any, path: str, protocol: str, text: str) -> None:
    page = {"id": "c1", "messages": [{"role": "user", "parts": [{"type": "text", "text": text}]}]}
    asked = {"message": text} if protocol == "standard" else {**page, "trigger": "submit-message"}
    headers = [("Content-Type", "application/json"), ("X-Streamweir-Protocol", protocol)]
    async with served(app()) as host:
        got = await ask(host, target=path, headers=headers, body=json.dumps(asked).encode())
    assert got.is_whole
    assert text.encode() in got.body
    assert b'"token"' not in got.body
