"""What is legal and seldom: of a service, of its configuration, of those who call it."""

import asyncio

import pytest

from loopback import ask, gateway, settled
from scripted_upstream import SSE, Call, answer, upstream

pytestmark = pytest.mark.anyio

PAGE = [("Origin", "https://partner.example"), ("Access-Control-Request-Method", "PUT")]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_broken_answers_do_not_open_the_breaker_of_a_relayed_service() -> None:
    async def script(call: Call) -> None:
        await call.send(answer(b"well") if call.target == "/well" else b"HTTP/1.1 200 OK\r\nX Bad: 1\r\n\r\n")

    async with upstream(script) as server:
        upstreams = {"old": {"url": server.url, "breaker": {"failures": 2}}}
        config = settled(upstreams=upstreams, endpoints={"/*": {"upstream": "old", "relay": "all"}})
        async with gateway(config) as running:
            got = [await ask(running, "GET", target) for target in ("/x", "/x", "/x", "/well")]
    assert [each.status for each in got] == [502, 502, 502, 200]


async def test_headers_of_64_kib_are_forwarded() -> None:
    async with upstream(answer(b"ok", "X-Long: " + "x" * (64 << 10))) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all"}})
        async with gateway(config) as running:
            reader, writer = await asyncio.open_connection(*running.address[:2])
            writer.write(b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            got = await reader.read()
            writer.close()
    assert got.startswith(b"HTTP/1.1 200 ")
    assert b"x-long: %b\r\n" % (b"x" * (64 << 10)) in got


async def test_path_with_unusual_bytes_is_sent_unchanged() -> None:
    target = rb"/a%5Cb\c%20%C1lava"
    async with upstream(answer(b"ok")) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all"}})
        async with gateway(config) as running:
            reader, writer = await asyncio.open_connection(*running.address[:2])
            writer.write(b"GET %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target)
            await reader.read()
            writer.close()
    assert server.call.target == target.decode()


@pytest.mark.parametrize("configured", [{}, {"headers": {"Authorization": "Bearer theirs"}}])
async def test_one_authorization_goes_to_the_service(configured: dict[str, object]) -> None:
    async with upstream(answer(b"ok")) as server:
        url = server.url.replace("http://", "http://user:word@")
        upstreams = {"old": {"url": url, **configured}}
        config = settled(upstreams=upstreams, endpoints={"/*": {"upstream": "old", "relay": "all"}})
        async with gateway(config) as running:
            await ask(running, "GET", "/x")
    values = [value for name, value in server.call.headers if name == "authorization"]
    assert values == ["Bearer theirs" if configured else "Basic dXNlcjp3b3Jk"]


@pytest.mark.parametrize("transport", ["auto", "httpcore"])
async def test_method_of_a_relayed_request_keeps_its_case(transport: str) -> None:
    async with upstream(answer(b"ok")) as server:
        upstreams = {"old": {"url": server.url, "transport": transport}}
        config = settled(upstreams=upstreams, endpoints={"/*": {"upstream": "old", "relay": "all"}})
        async with gateway(config) as running:
            await ask(running, "Sync", "/x")
    assert server.call.method == "Sync"


@pytest.mark.parametrize(
    ("keys", "status"), [({}, 200), ({"auth": {"keys": {"web": "a-key-of-the-pages"}}}, 400)]
)
async def test_page_that_cors_does_not_name_is_answered_by_the_service(
    keys: dict[str, object], status: int
) -> None:
    async with upstream(answer(b"ok")) as server:
        config = settled(
            endpoints={"/*": {"upstream": server.url, "relay": "all"}},
            cors={"origins": ["https://app.example"]},
            **keys,
        )
        async with gateway(config) as running:
            got = await ask(running, "OPTIONS", "/x", headers=PAGE, body=b"")
            own = await ask(running, "OPTIONS", "/x", headers=[("Origin", "https://app.example"), PAGE[1]])
    assert (got.status, own.status) == (status, 204)


async def test_agent_stream_with_only_its_end_is_recognized() -> None:
    said = (
        b'data:{"event": "message_end", "message_id": "m1", "task_id": "t1", "data": {}}\n\ndata:[DONE]\n\n'
    )
    async with upstream(SSE + b"%x\r\n%b\r\n0\r\n\r\n" % (len(said), said)) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all", "speaks": "ragflow"}})
        async with gateway(config) as running:
            got = await ask(running, "POST", "/x")
    assert b'"type":"session_end"' in got.body
    assert b'"status":"completed"' in got.body
