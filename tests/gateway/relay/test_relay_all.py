"""A whole web application behind one path: what it answers is what its clients get."""

import asyncio
import hashlib
import json
import re
import socket
import struct
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from loopback import Gateway, ask, gateway, settled
from patience import PROMPTLY
from scripted_upstream import answer, upstream
from web_app import WebApp, serving

pytestmark = pytest.mark.anyio

HOP_BY_HOP = {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "proxy-connection"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Site:
    """The application behind the gateway."""

    def __init__(self, web: WebApp, gateway: Gateway, client: httpx.AsyncClient, direct: str) -> None:
        self.web = web
        self.gateway = gateway
        self.client = client
        self.direct = direct


@asynccontextmanager
async def site(folder: Path, **options: Any) -> AsyncIterator[Site]:
    web = WebApp(folder)
    endpoint = {"speaks": "legacy", "relay": "all", "limits": {"request_bytes": "64MiB"}, **options}
    async with serving(web.app) as url:
        config = settled(endpoints={"/old/*": {"upstream": f"{url}/api", **endpoint}})
        async with gateway(config) as running:
            host, port = running.address[:2]
            async with httpx.AsyncClient(base_url=f"http://{host}:{port}/old") as client:
                yield Site(web, running, client, f"{url}/api")


async def test_login_with_cookies(tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        refused = await old.client.get("/me")
        login = await old.client.post("/login", json={"user": "bob"})
        me = await old.client.get("/me")
    assert refused.status_code == 401
    assert [value.partition("=")[0] for value in login.headers.get_list("set-cookie")] == ["session", "theme"]
    assert me.json() == {"session": "s-bob"}


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/file", {}),
        ("GET", "/file", {"Range": "bytes=100-199"}),
        ("GET", "/file", {"Range": "bytes=999999999-"}),
        ("HEAD", "/file", {}),
        ("GET", "/old", {}),
        ("GET", "/status/304", {}),
        ("HEAD", "/status/200", {}),
        ("GET", "/status/204", {}),
        ("DELETE", "/status/503", {}),
        ("OPTIONS", "/status/201", {"Origin": "https://elsewhere.example"}),
        ("PROPFIND", "/status/207", {}),
        ("GET", "/status/404", {}),
        ("GET", "/export", {}),
        ("GET", "/notes", {}),
        ("HEAD", "/chat", {}),
    ],
)
async def test_relayed_answer_is_the_services_own(
    method: str, path: str, headers: dict[str, str], tmp_path: Path
) -> None:
    async with site(tmp_path) as old:
        relayed = await old.client.request(method, path, headers=headers)
        async with httpx.AsyncClient() as straight:
            direct = await straight.request(method, old.direct + path, headers=headers)
    assert (relayed.status_code, relayed.content) == (direct.status_code, direct.content)
    added = dict(relayed.headers)
    assert added.pop("x-request-id")
    assert {**added, "date": ""} == {**direct.headers, "date": ""}


@pytest.mark.parametrize("path", ["/echo", "/echo/a%2Fb%20c;v=1/~x,%C3%A9", "/echo/%5Bx%5D//y/"])
@pytest.mark.parametrize("query", ["", "?", "?a=1&a=%20+b&%zz", "?next=/../x"])
async def test_path_and_query_are_forwarded_byte_for_byte(path: str, query: str, tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        reader, writer = await asyncio.open_connection(*old.gateway.address[:2])
        writer.write(f"GET /old{path}{query} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert b" 200 " in head
    seen = json.loads(body)
    assert (seen["target"], seen["query"]) == (f"/api{path}", query.removeprefix("?"))


@pytest.mark.parametrize(
    "rest",
    [
        *("..", "../admin", "a/../../admin", "a/./b", "."),
        *("%2e%2e/admin", "%2E%2e%2fadmin", ".%2e/admin", "%252e%252e/admin", "%25252e%25252e%25252fadmin"),
        *(
            "..%5cadmin",
            "..;/admin",
            "..;a=b/admin",
            "%c0%ae%c0%ae/admin",
            "%u002e%u002e/admin",
            "..%00/x",
            "x%00y",
        ),
    ],
)
async def test_path_with_dot_segments_stays_below_the_upstream(rest: str, tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        reader, writer = await asyncio.open_connection(*old.gateway.address[:2])
        writer.write(f"GET /old/echo/{rest} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answered = await reader.read()
        writer.close()
    assert answered.startswith(b"HTTP/1.1 404 ")
    assert not old.web.requests


@pytest.mark.parametrize("name", ["..", "%2e%2E", "."])
async def test_dot_segment_is_not_a_value_of_a_path_name(name: str, tmp_path: Path) -> None:
    web = WebApp(tmp_path)
    async with serving(web.app) as url:
        config = settled(endpoints={"/of/{who}/*": {"upstream": url, "relay": "all", "speaks": "legacy"}})
        async with gateway(config) as running:
            answered = await ask(running, "GET", f"/of/{name}/x")
    assert answered.status == 404
    assert not web.requests


@pytest.mark.parametrize(
    ("line", "method", "target", "host"),
    [
        ("GET /old/echo/caf\u00e9?a".encode(), "GET", "/api/echo/caf%C3%A9", "x"),
        (b"PUT http://shop.example/old/echo/x?a", "PUT", "/api/echo/x", "shop.example"),
    ],
)
async def test_request_lines_of_old_clients_are_understood(
    line: bytes, method: str, target: str, host: str, tmp_path: Path
) -> None:
    async with site(tmp_path) as old:
        reader, writer = await asyncio.open_connection(*old.gateway.address[:2])
        writer.write(line + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
    assert b" 200 " in head, head
    seen = json.loads(body)
    assert (seen["method"], seen["target"], seen["query"]) == (method, target, "a")
    assert ["x-forwarded-host", host] in seen["headers"]


@pytest.mark.parametrize("body", [b"", b"{}"])
@pytest.mark.parametrize("line", [b"FROB /old/x?a", b"get /old/x?a", b"GET /old/x?", b"POST /old/x?"])
@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"], ids=["at once", "in a task"])
async def test_unusual_methods_and_an_empty_query_are_forwarded(
    line: bytes, body: bytes, expect: bytes
) -> None:
    async with upstream(answer(b"[]", "Content-Type: application/json")) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", "relay": "all"}
        async with gateway(settled(endpoints={"/old/*": endpoint})) as running:
            reader, writer = await asyncio.open_connection(*running.address[:2])
            writer.write(line + b" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + expect)
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            answered = await reader.read()
            writer.close()
    assert b" 200 OK\r\n" in answered
    method, target = line.decode().split()
    call = server.call
    assert (call.method, call.target, call.body) == (method, target.removeprefix("/old"), body)


@pytest.mark.parametrize("method", [b"TRACE", b"trace", b"Connect"])
async def test_methods_about_the_connection_are_not_forwarded(method: bytes, tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        reader, writer = await asyncio.open_connection(*old.gateway.address[:2])
        writer.write(method + b" /old/echo/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answered = await reader.read()
        writer.close()
    assert answered.startswith(b"HTTP/1.1 405 ")
    assert not old.web.requests


async def test_headers_are_forwarded_except_those_of_the_connection(tmp_path: Path) -> None:
    sent = [
        *(("Host", "shop.example:8443"), ("Connection", "X-Hop, close"), ("X-Hop", "1"), ("TE", "trailers")),
        *(("Upgrade", "h2c"), ("Proxy-Authorization", "Basic x"), ("Keep-Alive", "timeout=9")),
        *(
            ("Authorization", "Bearer theirs"),
            ("Cookie", "a=b"),
            ("Accept-Encoding", "br;q=0.5"),
            ("X-Own", "é"),
        ),
        *(("X-Forwarded-For", "6.6.6.6"), ("X_Forwarded_For", "6.6.6.6"), ("Forwarded", "for=6.6.6.6")),
        *(("X-Forwarded-Host", "evil"), ("X-Forwarded-Prefix", "/evil"), ("Content_Length", "3")),
    ]
    async with site(tmp_path) as old:
        reader, writer = await asyncio.open_connection(*old.gateway.address[:2])
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent)
        writer.write(f"GET /old/echo HTTP/1.1\r\n{lines}\r\n".encode())
        body = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
    headers = json.loads(body)["headers"]
    seen = dict(headers)
    assert len(seen) == len(headers)
    assert not HOP_BY_HOP & seen.keys()
    assert not {"x-hop", "proxy-authorization", "content_length", "x_forwarded_for"} & seen.keys()
    assert (seen["authorization"], seen["cookie"], seen["accept-encoding"]) == (
        *("Bearer theirs", "a=b", "br;q=0.5"),
    )
    assert (seen["x-forwarded-for"], seen["x-forwarded-proto"], seen["x-forwarded-host"]) == (
        *("127.0.0.1", "http", "shop.example:8443"),
    )
    assert seen["forwarded"] == 'for=127.0.0.1;host="shop.example:8443";proto=http'
    assert re.fullmatch("1.1 streamweir-[0-9a-f]{8}", seen["via"])
    assert "x-forwarded-prefix" not in seen
    assert "accept" not in seen
    assert "user-agent" not in seen


async def test_forwarded_headers_of_a_trusted_proxy_are_extended(tmp_path: Path) -> None:
    web = WebApp(tmp_path)
    async with serving(web.app) as url:
        config = settled(
            endpoints={"/*": {"upstream": f"{url}/api", "relay": "all"}},
            server={"trusted_proxies": ["127.0.0.0/8"]},
        )
        headers = {
            "X-Forwarded-For": "203.0.113.7",
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "shop.example",
            "Forwarded": "for=203.0.113.7",
        }
        async with gateway(config) as running, httpx.AsyncClient() as client:
            host, port = running.address[:2]
            seen = dict((await client.get(f"http://{host}:{port}/echo", headers=headers)).json()["headers"])
    assert seen["x-forwarded-for"] == "203.0.113.7, 127.0.0.1"
    assert (seen["x-forwarded-proto"], seen["x-forwarded-host"]) == ("https", "shop.example")
    assert seen["forwarded"].startswith("for=203.0.113.7, for=127.0.0.1;")


@pytest.mark.parametrize("in_chunks", [True, False])
async def test_upload_is_streamed_and_not_buffered(in_chunks: bool, tmp_path: Path) -> None:
    piece, pieces = bytes(range(256)) * 256, 800
    whole = hashlib.sha256(piece * pieces).hexdigest()

    async def body() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield piece

    async with site(tmp_path) as old:
        await old.client.get("/echo")
        headers = {} if in_chunks else {"Content-Length": str(len(piece) * pieces)}
        tracemalloc.start()
        response = await old.client.put("/upload", content=body(), headers=headers)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert response.json() == {"size": len(piece) * pieces, "sha256": whole}
    assert peak < 8 << 20  # of client, gateway and service together


async def test_relayed_body_over_its_limit_is_refused_and_never_completed(tmp_path: Path) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield bytes(64 << 10)

    async with site(tmp_path, limits={"request_bytes": "1MiB"}) as old:
        announced = await old.client.post("/upload", content=bytes(2 << 20))
        streamed = await old.client.post("/upload", content=body())
        await asyncio.sleep(0.1)
    assert (announced.status_code, streamed.status_code) == (413, 413)
    assert streamed.json()["error"]["code"] == "REQUEST_TOO_LARGE"
    assert old.web.uploads == []


async def test_pieces_come_as_they_are_sent(tmp_path: Path) -> None:
    async with site(tmp_path) as old, old.client.stream("GET", "/slow") as response:
        loop = asyncio.get_running_loop()
        times = [loop.time() async for _ in response.aiter_raw()]
    assert times[-1] - times[0] > 0.3


async def test_headers_do_not_wait_for_the_body() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n"

    async def script(call: Any) -> None:
        await call.send(head)
        await has_headers.wait()
        await call.send(b"done")

    has_headers = asyncio.Event()

    async with upstream(script) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all"}})
        async with gateway(config) as running, httpx.AsyncClient() as client:
            url = "http://{}:{}/x".format(*running.address[:2])
            async with asyncio.timeout(PROMPTLY), client.stream("GET", url) as response:
                has_headers.set()
                assert await response.aread() == b"done"


@pytest.mark.parametrize(
    ("body", "is_stream"),
    [(b'f:{"messageId":"m"}\n0:"Hi"\nd:{"finishReason":"stop"}\n', True), (b"0 orders\n1 order\n", False)],
)
async def test_plain_text_is_an_agent_stream_only_in_a_data_stream(body: bytes, is_stream: bool) -> None:
    plain = answer(body, "Content-Type: text/plain; charset=utf-8", "X-Vercel-AI-Data-Stream: v1")
    async with upstream(plain) as server:
        chat = {"upstream": server.url, "speaks": "vercel-data", "relay": "all", "answers": ["vercel-ui"]}
        async with gateway(settled(endpoints={"/*": chat})) as running, httpx.AsyncClient() as client:
            response = await client.post("http://{}:{}/api/chat".format(*running.address[:2]), json={})
    if is_stream:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert '"delta":"Hi"' in response.text
        assert response.text.endswith("data: [DONE]\n\n")
    else:
        assert response.content == body


async def test_agent_stream_is_read_as_at_any_endpoint(tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        response = await old.client.post("/chat", json={"message": "Hi"})
        line = await old.gateway.log.next_line()
    events = [json.loads(line[6:]) for line in response.text.splitlines() if line.startswith("data: ")]
    assert [event["type"] for event in events] == ["session_start", "content", "content", "session_end"]
    assert response.headers["x-model"] == "m1"
    assert (line["speaks"], line["reason"]) == ("legacy", "done")


@pytest.mark.parametrize("path", ["/cut", "/cut?length"])
async def test_broken_response_is_not_completed(path: str, tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        with pytest.raises(httpx.RemoteProtocolError):
            await old.client.get(path)
        line = await old.gateway.log.next_line()
    assert (line["code"], line["status"]) == ("UPSTREAM_TRUNCATED", 200)


async def test_broken_response_that_ends_with_the_connection_is_reset(tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        reader, writer = await asyncio.open_connection(*old.gateway.address[:2])
        writer.write(b"GET /old/cut HTTP/1.0\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()


async def test_client_that_leaves_ends_the_request_at_the_service(tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        async with old.client.stream("GET", "/forever") as response:
            async for _ in response.aiter_raw():
                break
        async with asyncio.timeout(PROMPTLY):
            await old.web.left.wait()
        line = await old.gateway.log.next_line()
    assert line["reason"] == "client_gone"


async def test_client_that_leaves_within_its_upload_ends_the_request(tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        _, writer = await asyncio.open_connection(*old.gateway.address[:2])
        writer.write(b"PUT /old/upload HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + bytes(1000))
        await asyncio.sleep(0.1)
        writer.close()
        line = await old.gateway.log.next_line()
    assert line["reason"] == "client_gone"
    assert old.web.uploads == []


async def test_client_that_leaves_during_an_unread_upload_ends_the_request() -> None:
    is_over = asyncio.Event()

    async def script(_call: Any) -> None:
        await is_over.wait()

    async with upstream(script, reads_request=False) as server:
        endpoint = {"upstream": server.url, "relay": "all", "limits": {"request_bytes": "64MiB"}}
        async with gateway(settled(endpoints={"/*": endpoint})) as running:
            with socket.create_connection(running.address[:2]) as sender:
                sender.setblocking(False)
                await fill(sender, b"PUT /x HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n")
                at_once = struct.pack("ii", 1, 0)
                sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
            async with asyncio.timeout(PROMPTLY):
                line = await running.log.next_line()
        is_over.set()
    assert line["reason"] == "client_gone"


async def fill(sender: socket.socket, head: bytes) -> None:
    """Send until nothing is taken any longer."""
    sender.send(head)
    full = 0
    while full < 10:
        try:
            full, _ = 0, sender.send(bytes(1 << 16))
        except BlockingIOError:
            full += 1
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("version", ["1.1", "1.0"])
async def test_interim_responses_of_the_service_are_forwarded(version: str) -> None:
    interim = (
        b"HTTP/1.1 100 Continue\r\n\r\n"
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n"
    )
    may_answer = asyncio.Event()

    async def script(call: Any) -> None:
        await call.send(interim)
        await may_answer.wait()
        await call.send(answer(b"done"))

    async with upstream(script) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all"}})
        async with gateway(config) as running:
            reader, writer = await asyncio.open_connection(*running.address[:2])
            writer.write(f"GET /x HTTP/{version}\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            if version == "1.1":
                async with asyncio.timeout(PROMPTLY):
                    first = await reader.readuntil(b"\r\n\r\n")
                assert first == b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\n\r\n"
            may_answer.set()
            rest = await reader.read()
            writer.close()
    assert rest.startswith(b"HTTP/1.1 200 ")
    assert rest.endswith(b"\r\n\r\ndone")


async def test_refusal_within_the_upload_arrives_if_the_connection_breaks() -> None:
    refusal = answer(b"no", "Connection: close", status="413 Content Too Large")

    async def script(call: Any) -> None:
        await call.read_until(b"\r\n\r\n")
        await call.send(refusal)
        call.reset()

    body = bytes(1 << 20)
    async with upstream(script, reads_request=False) as server:
        endpoint = {"upstream": server.url, "relay": "all"}
        async with gateway(settled(endpoints={"/*": endpoint})) as running, httpx.AsyncClient() as client:
            url = "http://{}:{}/x".format(*running.address[:2])
            for _ in range(20):
                response = await client.post(url, content=body)
                assert (response.status_code, response.content) == (413, b"no")


async def test_max_forwards_of_zero_is_answered_by_the_gateway(tmp_path: Path) -> None:
    async with site(tmp_path) as old:
        there = await old.client.options("/echo", headers={"Max-Forwards": "1"})
        here = await old.client.options("/echo", headers={"Max-Forwards": "0"})
    assert dict(there.json()["headers"])["max-forwards"] == "0"
    assert (here.status_code, len(old.web.requests)) == (204, 1)


async def test_unreachable_service_gives_502() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    config = settled(endpoints={"/*": {"upstream": f"http://127.0.0.1:{port}", "relay": "all"}})
    async with gateway(config) as running, httpx.AsyncClient() as client:
        response = await client.get("http://{}:{}/x".format(*running.address[:2]))
    assert response.status_code == 502
    assert response.json()["error"]["code"] == "UPSTREAM_UNREACHABLE"


async def test_silent_service_gives_504() -> None:
    async def script(call: Any) -> None:
        await asyncio.sleep(5)

    timeouts = {"connect": "100ms", "first_event": "200ms"}
    async with upstream(script) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all", "timeouts": timeouts}})
        async with gateway(config) as running, httpx.AsyncClient() as client:
            response = await client.get("http://{}:{}/x".format(*running.address[:2]))
    assert response.status_code == 504
    assert response.json()["error"]["code"] == "UPSTREAM_TIMEOUT"


async def test_answer_within_the_upload_is_relayed() -> None:
    refusal = answer(b"no", "Connection: close", status="403 Forbidden")

    async def script(call: Any) -> None:
        await call.send(refusal)
        await call.until_closed()  # closed at once, with bytes unread, it would reset the answer too

    async def body() -> AsyncIterator[bytes]:
        for _ in range(20):  # much less than the two seconds that the connection lingers for
            yield bytes(8 << 10)
            await asyncio.sleep(0.01)

    async with upstream(script, reads_request=False) as server:
        config = settled(endpoints={"/*": {"upstream": server.url, "relay": "all"}})
        async with gateway(config) as running, httpx.AsyncClient() as client:
            response = await client.post("http://{}:{}/x".format(*running.address[:2]), content=body())
    assert (response.status_code, response.content) == (403, b"no")


async def test_gateway_key_is_removed_and_the_services_key_forwarded(tmp_path: Path) -> None:
    web = WebApp(tmp_path)
    async with serving(web.app) as url:
        config = settled(
            endpoints={"/*": {"upstream": f"{url}/api", "relay": "all"}},
            auth={"keys": {"web": "a-key-of-ours"}},
        )
        async with gateway(config) as running, httpx.AsyncClient() as client:
            echo = "http://{}:{}/echo".format(*running.address[:2])
            headers = {"X-Api-Key": "a-key-of-ours", "Authorization": "Bearer theirs"}
            seen = dict((await client.get(echo, headers=headers)).json()["headers"])
            refused = await client.get(echo)
    assert seen["authorization"] == "Bearer theirs"
    assert "x-api-key" not in seen
    assert refused.status_code == 401


async def test_more_exact_path_wins_and_other_methods_go_to_the_rest(tmp_path: Path) -> None:
    web = WebApp(tmp_path)
    async with serving(web.app) as url:
        config = settled(
            endpoints={
                "/old/*": {"upstream": f"{url}/api", "relay": "all"},
                "/old/chat": {"upstream": f"{url}/api/chat", "speaks": "legacy"},
            }
        )
        async with gateway(config) as running, httpx.AsyncClient() as client:
            base = "http://{}:{}/old".format(*running.address[:2])
            exact = await client.post(f"{base}/chat", json={})
            line = await running.log.next_line()
            rest = await client.put(f"{base}/chat")
            root = await client.get(f"{base}/")
            outside = await client.get(base)
    assert exact.status_code == 200
    assert line["endpoint"] == "/old/chat"
    assert (rest.status_code, root.status_code, outside.status_code) == (405, 404, 404)
    assert rest.headers["server"] == root.headers["server"] == "uvicorn"
    assert "server" not in outside.headers


async def test_client_that_does_not_read_makes_the_service_wait_and_is_cut_off() -> None:
    sent = 0

    async def script(call: Any) -> None:
        nonlocal sent
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            await call.send(bytes(1 << 20))
            sent += 1

    async with upstream(script) as server:
        endpoint = {"upstream": server.url, "relay": "all", "timeouts": {"write": "2s", "idle": "1s"}}
        async with gateway(settled(endpoints={"/*": endpoint})) as running:
            _, writer = await asyncio.open_connection(*running.address[:2], limit=1 << 16)
            writer.write(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
            line = await running.log.next_line()
            writer.transport.abort()
    assert line["reason"] == "slow_client"
    assert sent < 64  # MiB: what the buffers of the system hold


@pytest.mark.parametrize("pieces", [0, 1, 3])
async def test_upload_that_stops_is_not_completed(pieces: int) -> None:
    async def script(call: Any) -> None:
        await call.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(pieces):
            await asyncio.sleep(0.1)
            await call.send(b"5\r\npiece\r\n")
        await asyncio.sleep(20)

    async with upstream(script) as server:
        endpoint = {"upstream": server.url, "relay": "all", "timeouts": {"idle": "300ms"}}
        async with gateway(settled(endpoints={"/*": endpoint})) as running:
            reader, writer = await asyncio.open_connection(*running.address[:2])
            writer.write(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
            async with asyncio.timeout(PROMPTLY):
                answered = await reader.read()
            line = await running.log.next_line()
            writer.close()
    assert answered.count(b"piece") == pieces
    assert not answered.endswith(b"0\r\n\r\n")
    assert (line["reason"], line["code"]) == ("idle_timeout", "UPSTREAM_TIMEOUT")


async def test_client_that_reads_slowly_gets_all() -> None:
    size = 8 << 20
    body = answer(bytes(size))
    async with upstream(body) as server:
        endpoint = {"upstream": server.url, "relay": "all", "timeouts": {"write": "1s", "idle": "1s"}}
        async with gateway(settled(endpoints={"/*": endpoint})) as running:
            reader, writer = await asyncio.open_connection(*running.address[:2], limit=1 << 16)
            writer.write(b"GET /file HTTP/1.1\r\nHost: x\r\n\r\n")
            await reader.readuntil(b"\r\n\r\n")
            left = size
            while left:
                left -= len(await reader.read(256 << 10))
                await asyncio.sleep(0.02)
            line = await running.log.next_line()
            writer.close()
    assert (line["reason"], line["bytes_out"]) == ("done", size)
