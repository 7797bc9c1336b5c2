"""Connections that are kept between requests."""

import asyncio

import pytest

from loopback import gateway, one_endpoint
from patience import PROMPTLY
from streamweir_gateway.connection import idle_connections

pytestmark = pytest.mark.anyio

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idle_connections, "KEEP_ALIVE_SECONDS", 2.0)


async def test_idle_client_connection_is_closed_after_its_time() -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9")) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        async with asyncio.timeout(PROMPTLY):
            for _ in range(4):
                writer.write(HEALTH)
                assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
                await asyncio.sleep(0.7)
            assert await reader.read() == b""
        writer.close()


async def test_half_a_request_on_an_idle_connection_is_waited_for() -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9")) as running:
        reader, writer = await asyncio.open_connection(*running.address)
        async with asyncio.timeout(PROMPTLY):
            writer.write(HEALTH + HEALTH[:20])
            await reader.readuntil(b"}")
            await asyncio.sleep(2.5)
            writer.write(HEALTH[20:])
            assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
        writer.close()
