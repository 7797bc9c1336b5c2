"""The cost of one token in the gateway, counted in calls of Python functions."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import streamweir
import streamweir_gateway
from loopback import client, gateway, one_endpoint
from scripted_upstream import SSE, Call, chunk, upstream

pytestmark = pytest.mark.anyio

MOST_CALLS = {"relayed": 25.0, "kept in memory": 40.0}
OPTIONS: dict[str, dict[str, Any]] = {"relayed": {}, "kept in memory": {"resume": "on"}}
TOKENS = 100
PACKAGES = str(Path(streamweir.__file__).parent), str(Path(streamweir_gateway.__file__).parent)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop of production, which makes no Python calls itself."""
    return "asyncio", {"use_uvloop": True}


@pytest.mark.parametrize("stream", OPTIONS)
async def test_token_takes_few_calls_from_socket_to_socket(stream: str) -> None:
    is_counted = False

    async def texts(call: Call) -> None:
        await call.send(SSE)
        for number in range(10 * TOKENS):
            if is_counted:
                return
            await call.send(chunk(b'data: {"type": "token", "content": "word %d"}\n\n' % number), pause=0.001)

    counted = Counter[str]()

    def count(frame: FrameType, event: str, _: Any) -> None:
        place = frame.f_code.co_filename
        if event == "call" and place.startswith(PACKAGES):
            counted[f"{place}:{frame.f_code.co_qualname}"] += 1

    async with (
        upstream(texts) as server,
        gateway(one_endpoint(server.url, **OPTIONS[stream])) as running,
        client(running) as connected,
    ):
        connected.send()
        await connected.until(b"word 20")
        sys.setprofile(count)
        try:
            await connected.until(b"word %d" % TOKENS)
        finally:
            sys.setprofile(None)
        is_counted = True
        await connected.whole()
    reads = next(
        times for name, times in counted.items() if name.endswith("UpstreamConnection.data_received")
    )
    steady = {name: times / reads for name, times in counted.items() if times > reads / 2}
    assert reads > TOKENS / 2
    assert sum(steady.values()) <= MOST_CALLS[stream], steady
