"""What every answer of the gateway has in common."""

import asyncio

import pytest

from loopback import ask, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import WHOLE, upstream

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("method", "target", "accept", "status"),
    [
        ("POST", "/chat", "text/event-stream", 200),
        ("POST", "/chat", "application/json", 200),
        ("POST", "/down", "application/json", 502),
        ("DELETE", "/chat", "*/*", 405),
        ("POST", "/nowhere", "*/*", 404),
        ("GET", "/healthz", "*/*", 200),
        ("GET", "/metrics", "*/*", 200),
        ("OPTIONS", "/chat", "*/*", 204),
    ],
)
async def test_response_has_nosniff(method: str, target: str, accept: str, status: int) -> None:
    cors = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")]
    async with upstream(WHOLE) as server:
        config = settled(
            endpoints={
                "/chat": {"upstream": server.url, "speaks": "legacy"},
                "/down": {"upstream": "http://127.0.0.1:9", "speaks": "legacy"},
            },
            cors={"origins": ["https://app.example"]},
        )
        async with gateway(config) as running:
            got = await ask(running, method, target, headers=[("Accept", accept), *cors], body=b"")
    assert got.status == status
    assert [value for name, value in got.headers if name == "x-content-type-options"] == ["nosniff"]


async def test_refusal_of_bytes_that_are_no_http_has_nosniff() -> None:
    config = settled(endpoints={"/chat": {"upstream": "http://127.0.0.1:9"}})
    async with gateway(config) as running, client(running) as connected, asyncio.timeout(PROMPTLY):
        connected.writer.write(b"GET <script> HTTP/1.1\r\n\r\n")
        head = await connected.reader.readuntil(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"\r\nx-content-type-options: nosniff\r\n" in head
