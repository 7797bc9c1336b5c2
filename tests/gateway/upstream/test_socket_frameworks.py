"""Services of today's frameworks, behind both ways of a WebSocket: relayed, and asked over HTTP."""

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp.web
import fastapi
import pytest
import socketio  # type: ignore[import-untyped]
import tornado.httpserver
import tornado.web
import tornado.websocket
import uvicorn
from websockets.asyncio.client import connect
from websockets.typing import Origin

from loopback import ask, gateway, settled
from nginx_front import nginx

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


async def test_nginx_before_the_gateway_lets_a_socket_through(tmp_path: Path) -> None:
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    async with under_aiohttp() as port:
        endpoints = {"/app/*": {"upstream": f"http://127.0.0.1:{port}", "relay": "all", "speaks": "legacy"}}
        trusted = {"trusted_proxies": ["127.0.0.1"]}
        async with gateway(settled(endpoints=endpoints, server=trusted)) as gate:
            behind = f"http://127.0.0.1:{gate.address[1]}"
            async with nginx(behind, tmp_path) as front:
                async with connect(front.replace("http:", "ws:") + "/app/chat", origin=Origin(front)) as page:
                    await page.send("hi")
                    assert [await page.recv() for _ in SENT] == SENT
                line = await gate.log.next_line()
    assert (line["status"], line["reason"], line["close_code"]) == (101, "done", 1000)


async def test_socket_io_polls_and_then_upgrades_through_the_gateway() -> None:
    server = socketio.AsyncServer(async_mode="aiohttp", cors_allowed_origins="*")

    async def ask_service(_session: str, question: str) -> list[str]:
        return [question, *SENT]

    server.on("ask", ask_service)
    app = aiohttp.web.Application()
    server.attach(app)
    runner = aiohttp.web.AppRunner(app)
    await runner.setup()
    listener = bound()
    await aiohttp.web.SockSite(runner, listener).start()
    endpoints = {"/app/*": {"upstream": f"http://127.0.0.1:{listener.getsockname()[1]}", "relay": "all"}}
    try:
        async with gateway(settled(endpoints=endpoints)) as gate:
            client = socketio.AsyncClient()
            await client.connect(f"http://127.0.0.1:{gate.address[1]}", socketio_path="app/socket.io")
            assert await client.call("ask", "hi", timeout=10) == ["hi", *SENT]
            assert client.transport() == "websocket"
            await client.disconnect()
            methods = [(line["method"], line.get("websocket")) for line in gate.log.lines]
    finally:
        await runner.cleanup()
        listener.close()
    assert ("GET", None) in methods
