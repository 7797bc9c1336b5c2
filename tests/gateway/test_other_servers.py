"""The application under servers that tell nothing beyond ASGI, and in the hands of anyone who calls it."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
import uvicorn

from loopback import Gateway, Log, ask, client, one_endpoint
from patience import PROMPTLY
from scripted_upstream import HELLO, LAST_CHUNK, SSE, WHOLE, Call, Script, chunk, upstream
from streamweir.testing import check_stream
from streamweir_gateway.app import build_app
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.runs.live_streams import LiveStreams

pytestmark = pytest.mark.anyio

TOKEN, _, DONE = HELLO
HTTP = pytest.mark.parametrize("http", ["h11", "httptools"])


@asynccontextmanager
async def plain_server(config: GatewayConfig, http: Any) -> AsyncIterator[Gateway]:
    """The gateway under uvicorn as anyone would start it."""
    streams, log = LiveStreams(), Log()
    app = build_app(config, streams=streams, log=log)
    server = uvicorn.Server(uvicorn.Config(app, http=http, lifespan="on", log_config=None))
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup([listener])
        try:
            yield Gateway(listener.getsockname(), streams, log)
        finally:
            await server.shutdown([listener])


async def silent(call: Call) -> None:
    await call.until_closed()


async def one_event(call: Call) -> None:
    await call.send(SSE, chunk(TOKEN))
    await call.until_closed()


@HTTP
async def test_stream_on_another_server_has_heartbeats(http: str) -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), chunk(DONE), LAST_CHUNK, pause=0.2)

    async with (
        upstream(slowly) as server,
        plain_server(one_endpoint(server.url, heartbeat="50ms"), http) as running,
    ):
        got = await ask(running)
    assert got.assert_valid().text == "Hel"
    assert b": ping" in got.body


@HTTP
@pytest.mark.parametrize(
    ("script", "seen"), [(silent, b""), (one_event, b"Hel")], ids=["silent", "mid-stream"]
)
async def test_upstream_is_left_when_the_client_leaves(http: str, script: Script, seen: bytes) -> None:
    async with upstream(script) as server, plain_server(one_endpoint(server.url), http) as running:
        async with client(running) as connected:
            connected.send()
            async with asyncio.timeout(PROMPTLY):
                await server.called.wait()
            await connected.until(seen)
            connected.leave()
            async with asyncio.timeout(PROMPTLY):
                await server.call.closed.wait()
                assert (await running.log.next_line())["reason"] == "client_gone"
        assert len(running.streams) == 0


@HTTP
async def test_run_on_another_server_continues_without_its_client(http: str) -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), pause=0.3)
        await call.send(chunk(DONE), LAST_CHUNK)

    async with upstream(slowly) as server:
        config = one_endpoint(server.url, on_disconnect="continue")
        async with plain_server(config, http) as running:
            async with client(running) as connected:
                connected.send()
                await connected.until(b"Hel")
                connected.leave()
            line = await running.log.next_line()
    assert (line["reason"], line["events"]) == ("client_gone", 4)


# --- called by hand -----------------------------------------------------------------------------------------


def scope() -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "path": "/chat",
        "raw_path": b"/chat",
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }


class Caller:
    """Calls the application, keeps what it sends and may refuse to take it."""

    def __init__(self, *, takes: int | None = None) -> None:
        self.messages: list[Any] = []
        self.stays = asyncio.Event()
        self._takes = takes
        self._asked = False

    async def receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"{}", "more_body": False}
        await self.stays.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if self._takes is not None and len(self.messages) >= self._takes:
            raise BrokenPipeError
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)


async def test_whole_stream_is_served_by_another_server() -> None:
    caller = Caller()
    async with upstream(WHOLE) as server:
        await build_app(one_endpoint(server.url), log=Log())(scope(), caller.receive, caller.send)
    assert not check_stream(caller.body, framing="sse")
    assert caller.messages[-1]["more_body"] is False


@pytest.mark.parametrize("takes", [0, 1, 2])
async def test_server_that_raises_when_the_client_has_left_ends_the_stream(takes: int) -> None:
    caller, log = Caller(takes=takes), Log()
    async with upstream(one_event) as server:
        # Long enough for the upstream to be asked first, also where the machine is busy.
        app = build_app(one_endpoint(server.url, heartbeat="500ms"), log=log)
        async with asyncio.timeout(PROMPTLY):
            await app(scope(), caller.receive, caller.send)
            await server.call.closed.wait()
    assert log.lines[-1]["reason"] == "client_gone"


@pytest.mark.parametrize("takes", [0, 1, 2])
async def test_server_that_raises_when_the_client_has_left_lets_the_run_continue(takes: int) -> None:
    caller, log = Caller(takes=takes), Log()

    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), chunk(TOKEN), chunk(DONE), pause=0.05)

    async with upstream(slowly) as server:
        app = build_app(one_endpoint(server.url, heartbeat="20ms", on_disconnect="continue"), log=log)
        async with asyncio.timeout(PROMPTLY):
            await app(scope(), caller.receive, caller.send)
    assert (log.lines[-1]["reason"], log.lines[-1]["events"]) == ("client_gone", 5)


async def test_cancellation_from_outside_is_raised() -> None:
    log = Log()
    async with upstream(silent) as server:
        caller = Caller()
        app = build_app(one_endpoint(server.url), log=log)
        task = asyncio.ensure_future(app(scope(), caller.receive, caller.send))
        async with asyncio.timeout(PROMPTLY):
            await server.called.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(PROMPTLY):
            await server.call.closed.wait()
    assert log.lines[-1]["reason"] == "cancelled"


async def test_cancel_scope_of_the_caller_ends_the_request() -> None:
    async with upstream(silent) as server:
        caller = Caller()
        app = build_app(one_endpoint(server.url), log=Log())
        with anyio.move_on_after(2) as ended:
            await app(scope(), caller.receive, caller.send)
        assert ended.cancelled_caught
        async with asyncio.timeout(PROMPTLY):
            await server.call.closed.wait()
