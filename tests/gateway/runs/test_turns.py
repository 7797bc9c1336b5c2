"""Turns of the gateway's event loop are short, even for a read full of smallest frames."""

import asyncio
import gc
import gzip
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from loopback import Answer, ask, gateway, one_endpoint
from scripted_upstream import answer, upstream

pytestmark = pytest.mark.anyio

READ = 48 << 10
MOST_SECONDS = 0.2
"""Of processor time. The upstream and the client of the test run in the same loop."""

BODY = b"1\n" * (READ // 2)
AGENT = b'data: {"type": "token", "content": "Hi"}\n\n' + b"data:1\n\n" * (READ // 8)
CODED = ("Content-Type: text/event-stream", "Content-Encoding: gzip")
PLAIN = ("Content-Type: text/event-stream",)


@asynccontextmanager
async def longest_turn() -> AsyncIterator[list[float]]:
    """Measure the processor time between two turns of one task, which has one in each round of the loop."""
    turns = [0.0]

    async def measure() -> None:
        while True:
            began = time.process_time()
            await asyncio.sleep(0)
            turns[0] = max(turns[0], time.process_time() - began)

    measuring = asyncio.create_task(measure())
    try:
        yield turns
    finally:
        measuring.cancel()


WAYS: dict[str, tuple[dict[str, Any], bytes, str]] = {
    "relayed": ({}, answer(BODY, *PLAIN), "text/event-stream"),
    "coded": ({}, answer(gzip.compress(BODY), *CODED), "text/event-stream"),
    "verbatim": ({"answers": "legacy"}, answer(BODY, *PLAIN), "text/event-stream"),
    "folded": ({}, answer(BODY, *PLAIN), "application/json"),
    "kept": ({"resume": "on"}, answer(BODY, *PLAIN), "text/event-stream"),
    "relayed by a service": ({"relay": "all"}, answer(AGENT, *PLAIN), "text/event-stream"),
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_read_of_smallest_frames_gives_way(way: str) -> None:
    options, body, accept = WAYS[way]
    async with upstream(body) as server, gateway(one_endpoint(server.url, **options)) as running:
        await _asked(running, accept)  # the first request loads modules
        gc.disable()
        try:
            async with longest_turn() as turns:
                got = await _asked(running, accept)
        finally:
            gc.enable()
    assert got.status in (200, 502)
    assert turns[0] < MOST_SECONDS, turns


async def _asked(running: Any, accept: str) -> Answer:
    return await ask(running, headers=[("Accept", accept)])


@pytest.mark.slow
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_reading_a_kept_run_gives_way(accept: str) -> None:
    body = answer(BODY, *PLAIN)
    async with upstream(body) as server, gateway(one_endpoint(server.url, resume="on")) as running:
        target = (await _asked(running, "text/event-stream")).header("content-location")
        assert target is not None
        headers = [("Accept", accept)]
        await ask(running, method="GET", target=target, headers=headers)
        gc.disable()
        try:
            async with longest_turn() as turns:
                got = await ask(running, method="GET", target=target, headers=headers)
        finally:
            gc.enable()
    assert got.status == 200
    assert len(got.body) > READ
    assert turns[0] < MOST_SECONDS, turns
