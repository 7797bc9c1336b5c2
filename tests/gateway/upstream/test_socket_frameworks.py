"""Services of today's frameworks, behind both ways of a WebSocket: relayed, and asked over HTTP."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import aiohttp.web
import fastapi
import pytest
import tornado.httpserver
import tornado.web
import tornado.websocket
import uvicorn
from websockets.asyncio.client import connect

from loopback import ask, gateway, settled

pytestmark = pytest.mark.anyio

EVENTS = [{"type": "token", "content": "Zwei "}, {"type": "token", "content": "Läden"}, {"type": "done"}]
SENT = [json.dumps(event) for event in EVENTS]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def bound() -> socket.socket:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def fastapi_app() -> fastapi.FastAPI:
    app = fastapi.FastAPI()

    @app.websocket("/chat")
    async def chat(page: fastapi.WebSocket) -> None:
        await page.accept()
        while True:
            message = await page.receive()
            if message["type"] == "websocket.disconnect":
                return
            for event in SENT:
                await page.send_text(event)

    return app


def under_uvicorn(implementation: str) -> Callable[[], AbstractAsyncContextManager[int]]:
    @asynccontextmanager
    async def run() -> AsyncIterator[int]:
        listener = bound()
        config = uvicorn.Config(fastapi_app(), ws=implementation, log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        try:
            yield listener.getsockname()[1]
        finally:
            server.should_exit = True
            await task
            listener.close()

    return run


class TornadoChat(tornado.websocket.WebSocketHandler):
    def on_message(self, message: str | bytes) -> None:
        del message
        for event in SENT:
            self.write_message(event)


@asynccontextmanager
async def under_tornado() -> AsyncIterator[int]:
    listener = bound()
    listener.setblocking(False)
    server = tornado.httpserver.HTTPServer(tornado.web.Application([("/chat", TornadoChat)]))
    server.add_socket(listener)
    try:
        yield listener.getsockname()[1]
    finally:
        server.stop()
        await server.close_all_connections()
        listener.close()


@asynccontextmanager
async def under_aiohttp() -> AsyncIterator[int]:
    async def chat(request: aiohttp.web.Request) -> aiohttp.web.WebSocketResponse:
        page = aiohttp.web.WebSocketResponse()
        await page.prepare(request)
        async for _ in page:
            for event in SENT:
                await page.send_str(event)
        return page

    app = aiohttp.web.Application()
    app.router.add_get("/chat", chat)
    runner = aiohttp.web.AppRunner(app)
    await runner.setup()
    listener = bound()
    await aiohttp.web.SockSite(runner, listener).start()
    try:
        yield listener.getsockname()[1]
    finally:
        await runner.cleanup()


SERVICES: dict[str, Any] = {
    "uvicorn, websockets": under_uvicorn("websockets-sansio"),
    "uvicorn, wsproto": under_uvicorn("wsproto"),
    "tornado": under_tornado,
    "aiohttp": under_aiohttp,
}


@pytest.mark.parametrize("name", SERVICES)
async def test_service_of_a_framework_is_relayed_and_asked(name: str) -> None:
    async with SERVICES[name]() as port:
        config = settled(
            endpoints={
                "/app/*": {"upstream": f"http://127.0.0.1:{port}", "relay": "all", "speaks": "legacy"},
                "/chat": {"upstream": f"ws://127.0.0.1:{port}/chat", "speaks": "legacy"},
                "/wrong": {"upstream": f"ws://127.0.0.1:{port}/wrong", "speaks": "legacy"},
            }
        )
        async with gateway(config) as gate:
            place = f"ws://127.0.0.1:{gate.address[1]}/app/chat"
            async with connect(place) as page:
                for _ in range(2):
                    await page.send("hi")
                    assert [await page.recv() for _ in SENT] == SENT
            got = await ask(gate, target="/chat", body=b'{"message": "hi"}')
            assert got.assert_valid().text == "Zwei Läden"
            wrong = await ask(gate, target="/wrong", body=b'{"message": "hi"}')
    assert wrong.error is not None
    assert wrong.error["code"] in ("AUTH_FAILED", "NOT_FOUND")
