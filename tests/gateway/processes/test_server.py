"""The server of the gateway: limits on headers, what is no HTTP, stopping."""

import asyncio
import gc
import json
from typing import Any

import pytest

from loopback import Gateway, ask, client, gateway, one_endpoint
from patience import PATIENCE, let_loop_run
from scripted_upstream import CLOSE_DELIMITED, HELLO, SSE, WHOLE, Call, Script, chunk, upstream

pytestmark = pytest.mark.anyio

TOKEN, _, DONE = HELLO


async def raw(running: Gateway, *pieces: bytes) -> tuple[bytes, dict[str, Any]]:
    """Head and JSON body of the response to `pieces`."""
    async with client(running) as connected:
        for piece in pieces:
            connected.writer.write(piece)
            await asyncio.sleep(0.01)
        async with asyncio.timeout(PATIENCE):
            head, _, body = (await connected.reader.read()).partition(b"\r\n\r\n")
    return head, json.loads(body)


@pytest.mark.parametrize(
    "pieces",
    [
        (b"POST /chat HTTP/1.1\r\nHost: x\r\nX-Long: " + b"x" * 40_000 + b"\r\n\r\n",),
        (b"POST /chat HTTP/1.1\r\nHost: x\r\n", *[b"X-Long: " + b"x" * 4000 + b"\r\n"] * 10),
        (b"POST /" + b"x" * 40_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",),
        (b"POST /chat HTTP/1.1\r\nHost: x\r\nX-Long: ", *[b"x" * 4000] * 10),
    ],
    ids=["one header", "many headers", "the target", "an endless header"],
)
async def test_headers_over_the_limit_are_refused(pieces: tuple[bytes, ...]) -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9")) as running:
        head, body = await raw(running, *pieces)
    assert head.startswith(b"HTTP/1.1 413 ")
    assert body["error"]["code"] == "REQUEST_TOO_LARGE"
    assert body["request_id"].encode() in head


async def test_large_bodies_are_no_headers() -> None:
    async with (
        upstream(WHOLE) as server,
        gateway(one_endpoint(server.url)) as running,
        client(running) as connected,
    ):
        connected.send(headers=[("X-Long", "x" * 30_000)], body=b"x" * 200_000)
        (await connected.whole()).assert_valid()


async def test_every_request_of_a_connection_has_its_own_limit() -> None:
    async def twice(call: Call) -> None:
        await call.send(WHOLE)

    async with (
        upstream(twice) as server,
        gateway(one_endpoint(server.url)) as running,
        client(running) as connected,
    ):
        for _ in range(3):
            connected.writer.write(
                b"POST /chat HTTP/1.1\r\nHost: x\r\nX-Long: %s\r\nContent-Length: 2\r\n\r\n{}"
                % (b"x" * 20_000)
            )
            assert (await connected.reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
            await connected.reader.readuntil(b"0\r\n\r\n")


async def test_bytes_that_are_no_http_are_refused() -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9")) as running:
        head, body = await raw(running, b"\x16\x03\x01 hello\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body["error"]["code"] == "BAD_REQUEST"


@pytest.mark.parametrize("junk", [b"\x00junk\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"x" * 50_000])
async def test_junk_behind_a_request_does_not_get_into_its_stream(junk: bytes) -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), pause=0.2)
        await call.until_closed()

    async with (
        upstream(slowly) as server,
        gateway(one_endpoint(server.url)) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"Hel")
        connected.writer.write(junk)
        answer = await connected.whole()
    assert b"HTTP/1.1" not in answer.body
    assert not answer.is_whole


# --- stopping -----------------------------------------------------------------------------------------------


async def test_streams_under_way_end_properly() -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN))
        await call.until_closed()

    async with upstream(endless) as server, gateway(one_endpoint(server.url)) as running:
        async with client(running) as connected:
            connected.send()
            await connected.until(b"Hel")
            running.streams.drain()
            got = (await connected.whole()).assert_valid()
        refused = await ask(running)
        ready = await ask(running, "GET", "/readyz", body=b"")
        alive = await ask(running, "GET", "/healthz", body=b"")
    assert got.error is not None
    assert (got.error["code"], got.end["reason"]) == ("GATEWAY_DRAINING", "draining")
    assert (refused.status, refused.json["error"]["code"]) == (503, "GATEWAY_DRAINING")
    assert (ready.status, alive.status) == (503, 200)


async def one_by_one(call: Call) -> None:
    await call.send(CLOSE_DELIMITED, *HELLO, pause=0.01)


async def broken_off(call: Call) -> None:
    await call.send(SSE, chunk(TOKEN), pause=0.01)


async def no_answer(call: Call) -> None:
    call.reset()


@pytest.mark.parametrize("script", [one_by_one, broken_off, no_answer])
async def test_request_leaves_nothing_for_the_garbage_collector(script: Script) -> None:
    async with upstream(script) as server, gateway(one_endpoint(server.url)) as running:
        await ask(running)  # what is made once
        await running.log.next_line()
        gc.collect()
        gc.disable()
        try:
            await ask(running)
            await running.log.next_line()
            await let_loop_run(0.1)  # until the connections have been closed
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = {type(found).__qualname__ for found in gc.garbage if _is_ours(type(found))}
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert left == set()


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith(("streamweir", "uvicorn"))
