"""The limit on concurrent streams of an upstream (`max_streams`)."""

import asyncio
from contextlib import AsyncExitStack

import pytest

from loopback import ask, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import HELLO, SSE, WHOLE, Call, answer, chunk, upstream
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.runs.admission import Admissions, Overloaded

pytestmark = pytest.mark.anyio

TOKEN, _, DONE = HELLO


async def held_open(call: Call) -> None:
    await call.send(SSE, chunk(TOKEN))
    await call.until_closed()


def limited(url: str, *others: str) -> GatewayConfig:
    """`/chat` and `/other` before an upstream that takes two streams."""
    return settled(
        upstreams={"small": {"url": url, "speaks": "legacy", "max_streams": 2}},
        endpoints={
            path: {"upstream": ["small", *others], "speaks": "legacy"} for path in ("/chat", "/other")
        },
    )


async def test_stream_over_max_streams_is_refused() -> None:
    async with (
        upstream(held_open) as server,
        gateway(limited(server.url)) as running,
        AsyncExitStack() as stack,
    ):
        clients = [await stack.enter_async_context(client(running)) for _ in range(2)]
        for connected in clients:
            connected.send()
            await connected.until(b"Hel")
        for target in ("/chat", "/other"):
            got = await ask(running, target=target)
            assert got.status == 503
            assert got.json["error"]["code"] == "OVERLOADED"
            assert got.json["request_id"] == got.header("x-request-id")
        line = await running.log.next_line()
        assert (line["status"], line["code"], line.get("reason")) == (503, "OVERLOADED", None)
        assert server.connections == 2
        clients[0].leave()
        async with asyncio.timeout(PROMPTLY):
            while len(running.streams) > 1:  # noqa: ASYNC110 - nothing says when it is gone
                await asyncio.sleep(0.01)
        async with client(running) as connected:
            connected.send()
            await connected.until(b"Hel")


async def test_place_is_freed_after_failures_and_ends() -> None:
    async with upstream(b"") as server, gateway(limited(server.url)) as running:
        for _ in range(4):
            got = await ask(running)
            assert got.status == 200
    async with upstream(WHOLE) as server, gateway(limited(server.url)) as running:
        for _ in range(5):
            assert (await ask(running)).text == "Hello"


async def test_full_upstream_lets_the_next_one_be_asked() -> None:
    async with (
        upstream(held_open) as small,
        upstream(WHOLE) as large,
        gateway(limited(small.url, large.url)) as running,
        AsyncExitStack() as stack,
    ):
        for _ in range(2):
            connected = await stack.enter_async_context(client(running))
            connected.send()
            await connected.until(b"Hel")
        assert (await ask(running)).assert_valid().text == "Hello"
        assert (small.connections, large.connections) == (2, 1)


async def test_failure_is_reported_rather_than_a_full_upstream() -> None:
    async with upstream(held_open) as small, upstream(answer(b"", status="404 No")) as other:
        config = settled(
            upstreams={"small": {"url": small.url, "speaks": "legacy", "max_streams": 1}},
            endpoints={
                "/hold": {"upstream": "small"},
                "/chat": {"upstream": [other.url, "small"], "speaks": "legacy"},
            },
        )
        async with gateway(config) as running, client(running) as connected:
            connected.send(target="/hold")
            await connected.until(b"Hel")
            got = await ask(running)
    assert got.assert_valid()
    assert got.error is not None
    assert got.error["code"] == "NOT_FOUND"


def test_full_upstream_begins_no_trial_of_the_breaker() -> None:
    config = limited("http://127.0.0.1:1").endpoints[0].upstreams[0]
    admission = Admissions().of(config)
    permits = [admission.admit(), admission.admit()]
    with pytest.raises(Overloaded):
        admission.admit()
    for permit in permits:
        permit.release()
    assert admission.open_streams == 0


def test_unnamed_upstreams_are_counted_by_url() -> None:
    first, second = (
        limited(f"http://127.0.0.1:1/{path}", f"http://127.0.0.1:2/{path}").endpoints[0].upstreams
        for path in "ab"
    )
    admissions = Admissions()
    assert admissions.of(first[0]) is admissions.of(second[0])
    assert admissions.of(first[1]) is not admissions.of(second[1])
    assert [admission.label for admission in admissions][1:] == ["http://127.0.0.1:2"] * 2
