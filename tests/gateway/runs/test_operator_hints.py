"""The hint in the log line names the cause of a wrong set-up."""

import asyncio
import gzip
import re
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from loopback import ask, gateway, settled
from scripted_upstream import Call, answer, chunk, upstream

pytestmark = pytest.mark.anyio

SSE = "Content-Type: text/event-stream"
HALF = b'data: {"type": "token", "content": "SECRET words"}\n\n'
OPENAI = (
    b'data: {"id":"1","object":"chat.completion.chunk",'
    b'"choices":[{"index":0,"delta":{"content":"SECRET"}}]}\n\n'
    b"data: [DONE]\n\n"
)
RAGFLOW = (
    b'data: {"code":0,"data":{"answer":"SECRET","reference":{},"id":"x","session_id":"s"}}\n\n'
    b'data: {"code":0,"data":true}\n\n'
)
OWN = b'data: {"kind":"chunk","text":"SECRET"}\n\n' * 44 + b'data: {"kind":"bye"}\n\n'
ENVELOPE = (
    b'data: {"type":"status","thread_id":"t","run_id":"","data":{"status":"connected"}}\n\n'
    b'data: {"type":"content","thread_id":"t","run_id":"r","node_name":"n","data":{"delta":"SECRET"}}\n\n'
)
CALL = b'data: {"type":"tool_call","tool_name":"look","tool_args":{}}\n\n'
LEGACY = HALF + b'data: {"type":"done"}\n\n'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def stream(body: bytes, *headers: str) -> bytes:
    return answer(body, SSE, *headers)


async def hint_of(script: bytes | Callable[[Call], Awaitable[None]], **options: Any) -> str | None:
    """Return the log line of a request to such an upstream."""
    async with upstream(script) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", **options}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running, httpx.AsyncClient() as client:
            await client.post("http://{}:{}/chat".format(*running.address[:2]), json={})
            line = await running.log.next_line()
    hint = line.get("hint")
    assert "SECRET" not in str(hint)
    return hint


@pytest.mark.parametrize(
    ("body", "speaks", "hint"),
    [
        (stream(RAGFLOW), "legacy", "looks like ragflow (0.9); speaks is legacy"),
        (stream(OPENAI), "legacy", "looks like openai-chat (0.8); speaks is legacy"),
        (stream(LEGACY), "ragflow", "looks like legacy (0.9); speaks is ragflow"),
        (stream(LEGACY), "openai-chat", "looks like legacy (0.9); speaks is openai-chat"),
        (
            *(stream(HALF), "legacy"),
            "ended after final text without done; if this backend never says its end: eof: complete",
        ),
        (
            *(stream(OPENAI.partition(b"data: [")[0]), "openai-chat"),
            "ended after final text without [DONE]; if this backend never says its end: eof: complete",
        ),
        (stream(OWN), "legacy", "no rule of legacy knew any of 45 events: kind=chunk, kind=bye"),
        (stream(OWN), "auto", "no dialect knows these events: kind=chunk, kind=bye"),
        (
            *(answer(b"<!doctype html><html>login</html>", "Content-Type: text/html"), "legacy"),
            "HTML in place of a stream: the address is that of a page, a login or a proxy",
        ),
        (
            *(answer(b"<html>login</html>", SSE), "auto"),
            "HTML in place of a stream: the address is that of a page, a login or a proxy",
        ),
        (stream(ENVELOPE), "legacy", "looks like stream-envelope (0.9); speaks is legacy"),
        (stream(HALF + CALL), "legacy", "ended within a tool call"),
        (
            *(answer(b"SECRET failed", "Content-Type: text/plain"), "legacy"),
            "text in place of a stream: it begins with neither a field of SSE nor JSON",
        ),
        (stream(b""), "legacy", "the body is empty"),
        (stream(b"\n\n"), "legacy", "the body is empty"),
        (stream(b": ping\n\n: ping\n\n"), "legacy", "the body holds nothing but comments"),
        (
            *(stream(b"\x01\x02", "Content-Encoding: zstd"), "legacy"),
            "the body's coding cannot be read (zstd): ask the upstream for identity, gzip or deflate",
        ),
        (
            *(stream(LEGACY, "Content-Encoding: gzip"), "legacy"),
            "the body's coding cannot be read (gzip): ask the upstream for identity, gzip or deflate",
        ),
        (
            *(
                answer(b"", "Location: https://u:SECRET@new.example/chat?key=SECRET", status="307 T"),
                "legacy",
            ),
            "the upstream answered 307 and names https://new.example/chat: redirects are not followed",
        ),
        (
            answer(b"SECRET", status="404 N"),
            "legacy",
            "the upstream answered 404: it has nothing at this path",
        ),
        (answer(b"", status="405 N"), "legacy", "the upstream answered 405: it wants another method"),
        (
            *(answer(b"", status="401 N"), "legacy"),
            "the upstream answered 401: it wants other credentials (headers.Authorization)",
        ),
        (answer(b"", status="415 N"), "legacy", "the upstream answered 415: it wants another Content-Type"),
        (answer(b"", status="500 N"), "legacy", "the upstream answered 500"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "legacy", "the upstream does not speak HTTP/1.1 here"),
        (
            *(answer(b"PNG", "Content-Type: image/png"), "legacy"),
            "the upstream answered with image/png, which is no stream",
        ),
        (stream(LEGACY), "legacy", None),
        (stream(gzip.compress(LEGACY), "Content-Encoding: gzip"), "legacy", None),
    ],
)
async def test_hint_names_the_cause(body: bytes, speaks: str, hint: str | None) -> None:
    assert await hint_of(body, speaks=speaks) == hint


async def test_hint_of_a_broken_connection_does_not_advise_eof() -> None:
    broken = b"HTTP/1.1 200 OK\r\n%b\r\nTransfer-Encoding: chunked\r\n\r\n" % SSE.encode() + chunk(HALF)
    assert await hint_of(broken) is None


async def test_hint_of_a_stream_that_ended_well_names_its_unknown_events() -> None:
    hint = await hint_of(stream(OWN), eof="complete")
    assert hint == "no rule of legacy knew any of 45 events: kind=chunk, kind=bye"


async def test_hint_does_not_advise_eof_that_is_set() -> None:
    assert await hint_of(stream(HALF + CALL), eof="complete") == "ended within a tool call"


async def test_hint_of_buffered_events_names_buffering() -> None:
    async def buffered(call: Call) -> None:
        await call.send(f"HTTP/1.1 200 OK\r\n{SSE}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        await asyncio.sleep(0.6)
        await call.send(chunk(HALF * 43 + LEGACY) + b"0\r\n\r\n")

    hint = await hint_of(buffered)
    assert hint is not None
    found = re.search(r"events in the last (\d+) ms of (\d+)", hint)
    assert found
    assert int(found[1]) * 4 < int(found[2])
    assert hint.endswith("something between buffers")


async def test_hint_names_the_failed_attempts_before_a_fallback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    async with upstream(stream(LEGACY)) as server:
        config = settled(
            endpoints={
                "/chat": {"upstream": [url, server.url], "speaks": "legacy"},
                "/alone": {"upstream": url, "speaks": "legacy"},
                "/broken": {"upstream": url, "speaks": "legacy", "answers": ["legacy"]},
            }
        )
        async with gateway(config) as running, httpx.AsyncClient() as client:
            base = "http://{}:{}".format(*running.address[:2])
            hints = []
            for path in ("/chat", *["/alone"] * 5):
                await client.post(base + path, json={})
                hints.append(str((await running.log.next_line()).get("hint")))
    assert hints[0] == "attempt 1: connection refused"
    assert hints[1] == "connection refused"
    assert hints[-1].startswith("the breaker has been open for ")
    assert hints[-1].endswith(", after 5 failures in a row")


async def test_hint_of_an_unknown_host_names_the_cause() -> None:
    config = settled(endpoints={"/chat": {"upstream": "http://nobody.invalid/", "speaks": "legacy"}})
    async with gateway(config) as running, httpx.AsyncClient() as client:
        await client.post("http://{}:{}/chat".format(*running.address[:2]), json={})
        assert (await running.log.next_line())["hint"] == "no such host"


COOKIES = "cookies are not passed on here: relay: all (or forward_headers: [Cookie])"
NO_CREDENTIALS = "cors has no credentials: true"
COOKIE = ("Cookie", "session=SECRET")
PAGE = [("Origin", "http://localhost:3000"), ("Sec-Fetch-Site", "cross-site")]
FOREIGN = [("Origin", "https://app.example"), ("Sec-Fetch-Site", "cross-site")]


@pytest.mark.parametrize(
    ("status", "sent", "answered", "options", "expected"),
    [
        (401, [COOKIE], "", {}, [COOKIES]),
        (403, [], "Set-Cookie: session=SECRET", {}, [COOKIES]),
        (401, [], "", {}, []),
        (401, [COOKIE], "", {"forward_headers": ["Cookie"]}, []),
        (500, [COOKIE], "", {}, []),
        (500, [COOKIE, *PAGE], "", {}, [COOKIES, NO_CREDENTIALS]),
        (422, [*PAGE], "", {}, []),
        (401, [COOKIE, PAGE[0], ("Sec-Fetch-Site", "same-origin")], "", {}, [COOKIES]),
        (200, [COOKIE, *PAGE], "", {}, []),
    ],
)
async def test_hint_about_cookies_of_a_refused_request_names_the_setting(
    status: int, sent: list[tuple[str, str]], answered: str, options: dict[str, Any], expected: list[str]
) -> None:
    refusal = answer(b"no", *filter(None, [answered]), status=f"{status} Whatever")
    script = stream(LEGACY) if status == 200 else refusal
    async with upstream(script) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", **options}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running, httpx.AsyncClient() as client:
            host, port = running.address
            await client.post(f"http://{host}:{port}/chat", headers=sent, json={})
            hint = str((await running.log.next_line()).get("hint"))
    assert [text for text in (COOKIES, NO_CREDENTIALS) if text in hint] == expected
    assert "SECRET" not in hint


KEYS = {"keys": {"web": "sk-web-4711-secret"}}


@pytest.mark.parametrize(
    ("file", "sent", "options", "expected"),
    [
        ({}, [COOKIE, *FOREIGN], {}, [COOKIES, NO_CREDENTIALS]),
        ({"auth": KEYS}, [COOKIE, *FOREIGN], {}, [COOKIES, NO_CREDENTIALS]),
        (
            {"auth": KEYS, "cors": {"origins": ["https://app.example"], "credentials": True}},
            [COOKIE, *FOREIGN],
            {},
            [COOKIES],
        ),
        ({"auth": KEYS}, [COOKIE, *FOREIGN], {"forward_headers": ["Cookie"]}, []),
        ({"auth": KEYS}, [COOKIE], {}, []),
        ({"auth": KEYS}, FOREIGN, {}, []),
    ],
)
async def test_hint_about_cookies_of_a_page_that_the_gateway_refuses(
    file: dict[str, Any], sent: list[tuple[str, str]], options: dict[str, Any], expected: list[str]
) -> None:
    endpoint = {"upstream": "http://127.0.0.1:9", "speaks": "legacy", **options}
    async with gateway(settled(endpoints={"/chat": endpoint}, **file)) as running:
        assert (await ask(running, headers=sent)).status in (401, 403)
        line = await running.log.next_line()
    assert line.get("hint", "").split("; ") == (expected or [""])
    assert "SECRET" not in str(line)
