"""File descriptors run out for idle connections, never for streams."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest

from loopback import ask, client
from patience import PATIENCE
from running_gateway import Running, running_gateway
from scripted_upstream import HELLO, SSE, Call, chunk, upstream

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(sys.platform == "win32", reason="has no such limit"),
]

DESCRIPTORS = 164
CONNECTIONS = 50
"""What they are enough for: half of them are kept for upstreams, some for the process itself."""


async def endless(call: Call) -> None:
    await call.send(SSE, chunk(HELLO[0]))
    await call.until_closed()


@asynccontextmanager
async def few_descriptors(folder: Path) -> AsyncIterator[Running]:
    async with upstream(endless) as backend:
        endpoints = {"/chat": {"upstream": backend.url, "speaks": "legacy"}}
        async with running_gateway(folder, descriptors=DESCRIPTORS, endpoints=endpoints) as running:
            await running.ready()
            yield running


async def test_idle_connections_give_way_the_oldest_first(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as running, AsyncExitStack() as stack:
        idle = [await stack.enter_async_context(client(running.at)) for _ in range(4 * CONNECTIONS)]
        for connected in idle[:: CONNECTIONS // 2]:
            connected.writer.write(b"POST /chat HTTP/1.1\r\n")
        streaming = [await stack.enter_async_context(client(running.at)) for _ in range(CONNECTIONS)]
        for connected in streaming:
            connected.send()
            await connected.until(b"Hel")
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionResetError):  # its bytes had not been read when it was closed
                assert await idle[0].reader.read() == b""
    assert not [line for line in running.told if line["level"] == "error"]


async def test_running_stream_is_kept_while_connections_are_refused(tmp_path: Path) -> None:
    async with few_descriptors(tmp_path) as running, AsyncExitStack() as stack:
        streaming = [await stack.enter_async_context(client(running.at)) for _ in range(CONNECTIONS)]
        for connected in streaming:
            connected.send()
            await connected.until(b"Hel")
        refused = [await ask(running.at) for _ in range(5)]
        assert {(got.status, got.json["error"]["code"]) for got in refused} == {(503, "OVERLOADED")}
        assert refused[0].header("retry-after") is not None
        streaming[0].leave()
        await running.line(lambda line: line.get("reason") == "client_gone")
        connected = await stack.enter_async_context(client(running.at))
        connected.send()
        await connected.until(b"Hel")
        assert not streaming[1].reader.at_eof()
