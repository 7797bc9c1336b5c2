"""The limit on all request bodies together; each body is freed as soon as it is not needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.types import Message, Receive, Scope, Send

from loopback import Client, Gateway, Log, ask, client, gateway, one_endpoint, settled
from patience import PROMPTLY, let_loop_run
from scripted_upstream import HELLO, SSE, WHOLE, Call, Script, Upstream, chunk, upstream
from streamweir_gateway.app import build_app
from streamweir_gateway.observability.metrics import make_metrics
from streamweir_gateway.runs.live_streams import LiveStreams

pytestmark = pytest.mark.anyio

KIB = 1024
BODY = b"x" * 700 * KIB
"""Two of these are over the limit."""


@asynccontextmanager
async def bounded(script: Script | bytes) -> AsyncIterator[tuple[Gateway, Upstream]]:
    async with upstream(script) as backend:
        endpoint = {"upstream": backend.url, "speaks": "legacy"}
        config = settled(endpoints={"/chat": endpoint}, server={"body_bytes": "1MiB"})
        async with gateway(config) as running:
            yield running, backend


async def half_sent(connected: Client) -> None:
    """Send a body without its last byte."""
    head = b"POST /chat HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(BODY)
    connected.writer.write(head + BODY[:-1])
    await connected.writer.drain()
    await let_loop_run(0.3)


@pytest.mark.parametrize("coding", ["length", "chunks"])
async def test_body_over_the_limit_of_all_bodies_is_refused(coding: str) -> None:
    length, body = b"Content-Length: %d\r\n\r\n" % len(BODY), BODY
    if coding == "chunks":
        length, body = b"Transfer-Encoding: chunked\r\n\r\n", chunk(BODY)
    async with bounded(WHOLE) as (running, backend), client(running) as first, client(running) as second:
        await half_sent(first)
        second.writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\n" + length + body)
        async with asyncio.timeout(PROMPTLY):
            head, _, refusal = (await second.reader.read()).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in head.lower()
        assert b'"OVERLOADED"' in refusal
        first.writer.write(BODY[-1:])
        async with asyncio.timeout(PROMPTLY):
            assert b'"status":"completed"' in await first.reader.read()
        assert (await ask(running, body=BODY)).assert_valid().end["status"] == "completed"
        assert len(backend.calls) == 2
    assert [line.get("code") for line in running.log.lines] == ["OVERLOADED", None, None]


async def test_body_that_a_layer_has_changed_is_sent_in_place_of_the_clients() -> None:
    async with upstream(WHOLE) as backend:
        config = one_endpoint(backend.url)
        app = build_app(config, streams=LiveStreams(), log=Log(), metrics=make_metrics())

        async def layer(scope: Scope, receive: Receive, send: Send) -> None:
            async def changed() -> Message:
                message = await receive()
                return {**message, "body": b"changed"} if message["type"] == "http.request" else message

            await app(scope, receive if scope["type"] == "lifespan" else changed, send)

        async with gateway(config, layer) as running:
            assert (await ask(running, body=b'{"message": "a"}')).assert_valid().end["status"] == "completed"
        assert [call.body for call in backend.calls] == [b"changed"]


async def test_announced_body_does_not_count_before_it_comes() -> None:
    async with bounded(WHOLE) as (running, _), client(running) as idle:
        idle.writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
        await let_loop_run(0.1)
        assert (await ask(running, body=BODY)).assert_valid().end["status"] == "completed"


async def test_request_body_is_freed_once_the_stream_has_begun() -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(HELLO[0]))
        await call.until_closed()

    async with bounded(endless) as (running, _), client(running) as first, client(running) as second:
        for connected in (first, second):
            connected.send(body=BODY)
            await connected.until(b"Hel")


async def refusing(call: Call) -> None:
    await call.send(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")


@pytest.mark.parametrize("script", [WHOLE, refusing], ids=["answered", "refused upstream"])
async def test_request_body_is_freed_after_any_end(script: Script | bytes) -> None:
    async with bounded(script) as (running, _):
        for _ in range(4):
            async with client(running) as leaving:
                await half_sent(leaving)
            async with asyncio.timeout(PROMPTLY):
                await running.log.next_line()
            assert (await ask(running, body=BODY)).status == 200
            await running.log.next_line()
