"""Requests that repeat the headers of the request before them on their connection."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from loopback import Gateway, gateway, one_endpoint, settled
from patience import PATIENCE
from scripted_upstream import SSE, Call, chunk, upstream
from streamweir_gateway.remembered_headers import MOST_RESULTS, HeaderMemory, Memo, memo_of

pytestmark = pytest.mark.anyio

Headers = list[tuple[bytes, bytes]]

ONE: Headers = [(b"host", b"gateway"), (b"accept", b"text/event-stream"), (b"content-length", b"2")]


def test_first_request_has_no_memo() -> None:
    assert memo_of(HeaderMemory().recalled(ONE)) is None


def test_requests_that_differ_in_varying_headers_share_a_memo() -> None:
    memory = HeaderMemory()
    memory.recalled(ONE)
    second = memory.recalled([*ONE[:2], (b"content-length", b"700"), (b"x-request-id", b"one")])
    third = memory.recalled([*ONE[:2], (b"traceparent", b"00-1-2-01"), (b"content-length", b"3")])
    memo = memo_of(second)
    assert memo is not None
    assert memo_of(third) is memo
    assert third[2:] == [(b"traceparent", b"00-1-2-01"), (b"content-length", b"3")]


@pytest.mark.parametrize(
    "other",
    [
        [(b"host", b"gateway"), (b"accept", b"application/json")],
        [(b"host", b"gateway")],
        [*ONE, (b"authorization", b"Bearer secret-of-another-caller")],
        [*reversed(ONE)],
    ],
)
def test_request_with_other_headers_has_no_memo(other: Headers) -> None:
    memory = HeaderMemory()
    for headers in (ONE, ONE, other):
        recalled = memory.recalled(headers)
    assert memo_of(recalled) is None
    assert memo_of(memory.recalled(ONE)) is None


def test_memo_keeps_a_bounded_number_of_results() -> None:
    memo = Memo()
    for number in range(10 * MOST_RESULTS):
        memo.put(number, number)
        assert memo.get(number) == number
    assert sum(memo.get(number) is not None for number in range(10 * MOST_RESULTS)) <= MOST_RESULTS


REQUESTS: list[tuple[str, dict[str, str], str]] = [
    ("/chat", {}, "a"),
    ("/chat", {}, "a longer message"),
    ("/chat", {}, "b"),
    ("/chat?protocol=legacy", {}, "b"),
    ("/chat", {"X-Request-Id": "one"}, "c"),
    ("/chat", {"X-Request-Id": "two"}, "d"),
    ("/chat", {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01", "tracestate": "a=b"}, "e"),
    ("/chat", {"X-Tenant": "one", "Accept": "application/x-ndjson"}, "f"),
    ("/chat", {"X-Tenant": "one", "Accept": "application/x-ndjson"}, "g"),
    ("/chat", {"X-Tenant": "two", "Accept": "application/x-ndjson"}, "h"),
    ("/chat", {"X-Tenant": "two", "Via": "1.1 other"}, "i"),
    ("/chat", {"X-Tenant": "two", "Via": "1.1 other"}, "j"),
    ("/other/x/chat", {"X-Tenant": "two", "Via": "1.1 other"}, "k"),
    ("/other/y/chat", {"X-Tenant": "two", "Via": "1.1 other"}, "l"),
    ("/chat", {"X-Tenant": "two", "X-Streamweir-Protocol": "legacy"}, "m"),
    ("/chat", {"X-Tenant": "two", "X-Streamweir-Protocol": "legacy"}, "n"),
    ("/chat", {}, "o"),
    ("/mapped", {}, "p"),
    ("/mapped", {}, "q"),
    ("/mapped", {"X-Tenant": "three"}, "r"),
    ("/mapped", {"X-Tenant": "three"}, "s"),
]


async def test_repeated_requests_are_served_like_first_ones() -> None:
    """A connection for each request remembers nothing, and one connection for all of them a lot."""
    seen: list[Call] = []

    async def answer(call: Call) -> None:
        seen.append(call)
        text = b'data: {"type": "final_answer", "content": "yes"}\n\ndata: [DONE]\n\n'
        await call.send(SSE + chunk(text) + b"0\r\n\r\n")

    async with upstream(answer) as server:
        target = {"url": server.url, "speaks": "legacy", "headers": {"X-Own": "own"}}
        shared: dict[str, Any] = {"answers": ["standard", "legacy"], "forward_headers": ["X-Tenant"]}
        config = settled(
            upstreams={"backend": target},
            endpoints={
                "/chat": {"upstream": "backend", **shared},
                "/mapped": {"upstream": "backend", "request": "mapped", **shared},
                "/other/{name}/chat": {"upstream": "backend", "path": "/at/{name}", **shared},
            },
        )
        async with gateway(config) as running:
            apart = [await answers(running, [request]) for request in REQUESTS]
            together = await answers(running, REQUESTS)
    first, again = seen[: len(REQUESTS)], seen[len(REQUESTS) :]
    assert [form for (form,) in apart] == together
    assert [described(call) for call in first] == [described(call) for call in again]
    for (_, headers, _), call in zip(REQUESTS, again, strict=True):
        if "X-Request-Id" in headers:
            assert call.header("x-request-id") == headers["X-Request-Id"]
        if "traceparent" in headers:
            assert str(call.header("traceparent"))[3:35] == "1" * 32
    assert len({call.header("x-request-id") for call in again}) == len(again)
    assert len({call.header("traceparent") for call in again}) == len(again)


async def test_request_with_known_headers_is_routed_by_its_own_path() -> None:
    async def answer(call: Call) -> None:
        await call.send(SSE + chunk(b'data: {"type": "final_answer", "content": "yes"}\n\n') + b"0\r\n\r\n")

    wanted = {("POST", "/chat"): 200, ("PUT", "/chat"): 405, ("POST", "/nowhere"): 404}
    async with upstream(answer) as server, gateway(one_endpoint(server.url)) as running:
        host, port = running.address
        async with httpx.AsyncClient(base_url=f"http://{host}:{port}") as client:
            for _ in range(3):
                for (method, path), status in wanted.items():
                    for _ in range(2):
                        found = await client.request(method, path, json={"message": "a"})
                        assert (method, path, found.status_code) == (method, path, status)


FIRST, SECOND = "key-of-the-first-caller-01", "key-of-the-second-caller-02"

WITH_KEYS: list[tuple[str, dict[str, str], str]] = [
    *[("/chat", {"Authorization": f"Bearer {FIRST}"}, text) for text in "abc"],
    *[("/chat", {"Authorization": f"Bearer {SECOND}"}, text) for text in "de"],
    *[("/chat", {"X-API-Key": FIRST}, text) for text in "fg"],
    *[("/own", {"X-API-Key": FIRST, "Authorization": "Bearer for-the-upstream"}, text) for text in "hij"],
    *[("/own", {"X-API-Key": SECOND, "Authorization": "Bearer for-the-upstream"}, text) for text in "mn"],
]


async def test_repeated_requests_with_keys_are_served_like_first_ones() -> None:
    seen: list[Call] = []

    async def answer(call: Call) -> None:
        seen.append(call)
        await call.send(SSE + chunk(b'data: {"type": "final_answer", "content": "yes"}\n\n') + b"0\r\n\r\n")

    async with upstream(answer) as server:
        config = settled(
            auth={"keys": {"first": FIRST, "second": SECOND}},
            upstreams={"backend": {"url": server.url, "speaks": "legacy"}},
            endpoints={
                "/chat": {"upstream": "backend"},
                "/own": {"upstream": "backend", "forward_headers": ["Authorization"]},
            },
        )
        async with gateway(config) as running:
            apart = [await answers(running, [request]) for request in WITH_KEYS]
            together = await answers(running, WITH_KEYS)
            wrong = await status_after(running, WITH_KEYS[:3], {"Authorization": f"Bearer {FIRST}x"})
            elsewhere = await status_after(running, WITH_KEYS[7:10], WITH_KEYS[7][1])
    assert [form for (form,) in apart] == together
    assert wrong == elsewhere == "HTTP/1.1 401 Unauthorized"
    first, again = seen[: len(WITH_KEYS)], seen[len(WITH_KEYS) : 2 * len(WITH_KEYS)]
    assert [described(call) for call in first] == [described(call) for call in again]
    for (target, _, _), call in zip(WITH_KEYS, again, strict=True):
        assert call.header("authorization") == ("Bearer for-the-upstream" if target == "/own" else None)
        assert not any(key in value for key in (FIRST, SECOND) for _, value in call.headers)


async def status_after(
    running: Gateway, requests: list[tuple[str, dict[str, str], str]], headers: dict[str, str]
) -> str:
    """Send requests, and one more with other headers, over one connection; return the last status line."""
    reader, writer = await asyncio.open_connection(*running.address)
    await answers_on(reader, writer, requests)
    writer.write(request_bytes("/chat", headers, "z"))
    async with asyncio.timeout(PATIENCE):
        line = (await reader.readline()).decode().rstrip()
    writer.close()
    return line


def described(call: Call) -> tuple[object, ...]:
    ids = ("x-request-id", "traceparent")
    headers = [(name, "an id" if name in ids else value) for name, value in call.headers]
    return call.method, call.target, headers, call.body


async def answers(running: Gateway, requests: list[tuple[str, dict[str, str], str]]) -> list[object]:
    """Send requests over one connection; return the status and the content type of each answer."""
    reader, writer = await asyncio.open_connection(*running.address)
    found = await answers_on(reader, writer, requests)
    writer.close()
    return found


def request_bytes(target: str, headers: dict[str, str], message: str) -> bytes:
    body = json.dumps({"message": message})
    lines = [f"POST {target} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}", "", body]
    return "\r\n".join(lines).encode()


async def answers_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    requests: list[tuple[str, dict[str, str], str]],
) -> list[object]:
    found: list[object] = []
    for target, headers, message in requests:
        writer.write(request_bytes(target, headers, message))
        async with asyncio.timeout(PATIENCE):
            whole = (await reader.readuntil(b"0\r\n\r\n")).decode()
        head, _, _ = whole.partition("\r\n\r\n")
        kind = next(line for line in head.split("\r\n") if line.startswith("content-type"))
        found.append((head.split("\r\n")[0], kind))
    return found
