"""uvicorn as the gateway runs it: limits on headers, what is no HTTP, stopping."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from loopback import (
    HELLO,
    LAST_CHUNK,
    SSE,
    Call,
    Client,
    Gateway,
    Log,
    Script,
    ask,
    chunk,
    client,
    gateway,
    one_endpoint,
    upstream,
)
from streamweir_gateway.supervision import Streams

pytestmark = pytest.mark.anyio

TOKEN, _, DONE = HELLO
WHOLE = SSE + b"".join(map(chunk, HELLO)) + LAST_CHUNK


async def raw(running: Gateway, *pieces: bytes) -> tuple[bytes, dict[str, Any]]:
    """Head and JSON body of the response to `pieces`."""
    async with client(running) as connected:
        for piece in pieces:
            connected.writer.write(piece)
            await asyncio.sleep(0.01)
        async with asyncio.timeout(5):
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


async def test_what_is_no_http_is_refused() -> None:
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


PROGRAM = """
import sys
from pathlib import Path
from streamweir_gateway.cli.configuration import load
from streamweir_gateway.server import serve
def ready(address): print(address[1], flush=True)
sys.exit(serve(load(sys.argv[1]), on_ready=ready, drain=float(sys.argv[2])))
"""


@asynccontextmanager
async def process(
    script: Script | bytes, folder: Path, drain: float
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Gateway]]:
    """The gateway in a process of its own, on uvloop."""
    async with upstream(script) as server:
        file = folder / "config.yaml"
        endpoint = {"upstream": server.url, "speaks": "legacy"}
        file.write_text(json.dumps({"listen": "127.0.0.1:0", "endpoints": {"/chat": endpoint}}))
        running = await asyncio.create_subprocess_exec(
            sys.executable, "-c", PROGRAM, str(file), str(drain),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=dict(os.environ),
        )  # fmt: skip
        assert running.stdout is not None
        try:
            async with asyncio.timeout(20):
                port = int(await running.stdout.readline())
            yield running, Gateway(("127.0.0.1", port), Streams(), Log())
        finally:
            if running.returncode is None:
                running.kill()
            await running.communicate()


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_streams_and_the_process(sent: signal.Signals, tmp_path: Path) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN))
        await call.until_closed()

    async with process(endless, tmp_path, 0.2) as (running, at), client(at) as connected:
        connected.send()
        await connected.until(b"Hel")
        running.send_signal(sent)
        got = (await connected.whole()).assert_valid()
        async with asyncio.timeout(5):
            _, told = await running.communicate()
    assert got.end["reason"] == "draining"
    assert running.returncode == 0
    lines = [json.loads(line) for line in told.splitlines()]
    assert [line["event"] for line in lines] == ["request"]
    assert (lines[0]["reason"], lines[0]["level"]) == ("draining", "warning")


async def test_a_stop_lets_streams_finish(tmp_path: Path) -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN), chunk(DONE), LAST_CHUNK, pause=0.4)

    async with process(slowly, tmp_path, 5) as (running, at), client(at) as connected:
        connected.send()
        await connected.until(b"Hel")
        running.send_signal(signal.SIGTERM)
        got = (await connected.whole()).assert_valid()
        async with asyncio.timeout(5):
            assert await running.wait() == 0
    assert got.end["status"] == "completed"


async def leave(connected: Client) -> None:
    connected.leave()
    await asyncio.sleep(0)


async def test_clients_that_leave_are_no_error_in_the_log(tmp_path: Path) -> None:
    async def endless(call: Call) -> None:
        await call.send(SSE, chunk(TOKEN))
        await call.until_closed()

    async with process(endless, tmp_path, 0.2) as (running, at):
        async with client(at) as connected:
            connected.send()
            await connected.until(b"Hel")
            await leave(connected)
        await asyncio.sleep(0.3)
        running.send_signal(signal.SIGTERM)
        async with asyncio.timeout(5):
            _, told = await running.communicate()
    lines = [json.loads(line) for line in told.splitlines()]
    assert [(line["event"], line["reason"], line["level"]) for line in lines] == [
        ("request", "client_gone", "info")
    ]
