"""Secrets that a request, a configuration or an upstream holds are in no answer of the console."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from capture_checks import assert_same_but_masked, body_of, of_kind
from console_client import TOKEN, Console, console_of
from loopback import ask
from scripted_upstream import LAST_CHUNK, SSE, Call, chunk, upstream

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

OF_GATEWAY = "gateway-key-Zx81-Qw92"
OF_CLIENT = "client-key-Lm73-Rt55"
OF_COOKIE = "cookie-value-Hj48-Bn66"
OF_BASIC = "basic-password-Vc39"
OF_QUERY = "query-value-Dd24-Ff88"
BY_FORM = "sk-proj-abcdEFGH1234567890"
NAMED = "Gg77hunter2222xyz"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123"
SECRETS = (OF_GATEWAY, OF_CLIENT, OF_COOKIE, OF_QUERY, BY_FORM, NAMED, JWT, TOKEN)

KEYS = {"keys": {"web": OF_CLIENT}}
CLIENT = [
    ("X-Api-Key", OF_CLIENT),
    ("Cookie", f"session={OF_COOKIE}"),
    ("X-Note", f"see {BY_FORM}"),
]


def frames() -> bytes:
    """Frames that hold each secret: in texts, ids, names, arguments and errors."""
    events: list[dict[str, Any]] = [
        {"type": "token", "content": f"key {OF_GATEWAY} and {OF_COOKIE}", "thread_id": f"t-{BY_FORM}"},
        {"type": "thinking", "content": f"they sent {OF_CLIENT} and {OF_QUERY}"},
        {
            "type": "tool_call",
            "tool_name": f"call {BY_FORM}",
            "tool_id": "t1",
            "arguments": {"password": NAMED},
        },
        {"type": "tool_result", "tool_id": "t1", "result": {"api_key": NAMED, "jwt": JWT}},
        {"type": "strange", "value": {"console": TOKEN, BY_FORM: 1}},
        {"type": "token", "content": f"end {JWT}"},
        {"type": "error", "content": f"refused: {OF_GATEWAY}"},
    ]
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def pieces(size: int) -> list[bytes]:
    body = frames()
    return [body[start : start + size] for start in range(0, len(body), size)]


async def plays(call: Call) -> None:
    size = int(str(call.header("x-size")))
    await call.send(SSE)
    for place, piece in enumerate(pieces(size)):
        await call.send(chunk(piece))
        if size > 1 or place % 50 == 0:
            await asyncio.sleep(0.002)
    await call.send(LAST_CHUNK)


def endpoints(url: str) -> dict[str, Any]:
    return {
        "/chat": {
            "upstream": "backend",
            "forward_headers": ["X-Size", "X-Note"],
            "answers": ["standard", "legacy", "openai-chat"],
        }
    }


def upstreams(url: str) -> dict[str, Any]:
    return {
        "backend": {
            "url": f"{url}/v1?api_key={OF_QUERY}",
            "speaks": "legacy",
            "headers": {"Authorization": f"Bearer {OF_GATEWAY}"},
        }
    }


def secrets_in(told: bytes) -> list[str]:
    text = told.decode() + json.dumps(told.decode())
    return [secret for secret in SECRETS if secret in text]


async def all_answers(console: Console) -> list[bytes]:
    """The bodies of all answers about all streams."""
    paths = ["info", "streams?limit=2000", "plots", "config", "dialects", f"streams?q={BY_FORM[:7]}"]
    for row in await console.rows(limit=2000):
        paths += [f"streams/{row['id']}", f"streams/{row['id']}/capture"]
    found = [await console.request(f"/api/v1/{path}") for path in paths]
    assert {answer.status for answer in found} == {200}
    return [answer.body + json.dumps(answer.headers).encode() for answer in found]


@asynccontextmanager
async def watched(
    script: Callable[[Call], Awaitable[None]], folder: Path, capture: str, **settings: Any
) -> AsyncIterator[Console]:
    """The console of a gateway whose upstream plays a script."""
    async with (
        upstream(script) as backend,
        console_of(
            folder,
            endpoints=endpoints(backend.url),
            upstreams=upstreams(backend.url),
            console={"capture": capture},
            **settings,
        ) as console,
    ):
        yield console


@pytest.mark.parametrize("capture", ["content", "metadata"])
async def test_secrets_are_in_no_answer_however_the_network_cuts_them(tmp_path: Path, capture: str) -> None:
    sent = json.dumps({"message": f"I use {OF_CLIENT}, {BY_FORM}", "password": NAMED, "token": JWT}).encode()
    async with watched(plays, tmp_path, capture, auth=KEYS) as console:
        async with console.feed(since=0) as feed:
            for size in (1, 7, 20, 33, 5000):
                for protocol in ("standard", "legacy", "openai-chat"):
                    headers = [*CLIENT, ("X-Size", str(size)), ("X-Streamweir-Protocol", protocol)]
                    asking = asyncio.create_task(
                        ask(
                            console.running.at,
                            "POST",
                            f"/chat?api_key={OF_QUERY}&x=1",
                            headers=headers,
                            body=sent,
                        )
                    )
                    for row in (await console.rows())[:1]:  # while it runs
                        assert secrets_in(await console.file(row["id"])) == []
                    await asking
            rows = await console.rows(state="ended")
            await feed.row(id=rows[0]["id"], state="ended")
            assert secrets_in(feed.body) == []
        for body in await all_answers(console):
            assert secrets_in(body) == []
        if capture == "content":
            for row in await console.rows(state="ended"):
                lines = await console.capture(row["id"])
                assert_same_but_masked(body_of(of_kind(lines, "read")), frames()[: row["bytes_in"]])
                assert_same_but_masked(body_of([of_kind(lines, "request")[0]["body"]]), sent)
                marked = [line["redacted"] for line in of_kind(lines, "read") if "redacted" in line]
                assert sum(marked) >= 10
                shown = dict(of_kind(lines, "request", side="client")[0]["headers"])
                assert shown["cookie"] == "[redacted]"
                asked = of_kind(lines, "request", side="upstream")[0]
                assert dict(asked["headers"])["authorization"] == "[redacted]"


async def test_secret_that_is_spread_over_texts_is_in_no_lane(tmp_path: Path) -> None:
    secrets = (OF_GATEWAY, OF_CLIENT, BY_FORM)
    texts = [
        piece
        for secret in secrets
        for piece in ("the key ", secret[:7], secret[7:8], secret[8:13], secret[13:], " is")
    ]

    async def in_pieces(call: Call) -> None:
        await call.send(SSE)
        for text in texts:
            frame = json.dumps({"type": "token", "content": text}).encode()
            await call.send(chunk(b"data: " + frame[:20]), chunk(frame[20:] + b"\n\n"))
        await call.send(chunk(b'data: {"type": "done"}\n\n'), LAST_CHUNK)

    async with watched(in_pieces, tmp_path, "content", auth=KEYS) as console:
        for protocol in ("standard", "legacy", "openai-chat"):
            headers = [("X-Api-Key", OF_CLIENT), ("X-Streamweir-Protocol", protocol)]
            got = await console.call("/chat", headers=headers)
            row = await console.row(state="ended", request_id=got.header("x-request-id"))
            lines = await console.capture(row["id"])
            for lane in ("read", "write"):
                shown = "".join(re.findall(r'"content": ?"([^"]*)"', body_of(of_kind(lines, lane)).decode()))
                for secret in secrets:
                    assert secret not in shown, (protocol, lane)
                    assert secret[8:] not in shown, (protocol, lane)
                assert shown.count("*") == sum(map(len, secrets)), (protocol, lane)
            events = [line["event"]["data"].get("content", "") for line in of_kind(lines, "event")]
            assert "".join(events) == "".join(f"the key {'*' * len(secret)} is" for secret in secrets)


async def test_lines_of_a_stream_under_way_hold_no_half_of_a_secret(tmp_path: Path) -> None:
    goes_on = asyncio.Event()

    async def halves(call: Call) -> None:
        first = f'data: {{"type": "token", "content": "Hello {OF_GATEWAY[:12]}'.encode()
        await call.send(SSE, chunk(b'data: {"type": "token", "content": "Hi"}\n\n'), pause=0.2)
        await call.send(chunk(first))
        await goes_on.wait()
        rest = f'{OF_GATEWAY[12:]} there"}}\n\ndata: {{"type": "done"}}\n\n'.encode()
        await call.send(chunk(rest), LAST_CHUNK)

    async with watched(halves, tmp_path, "content") as console:
        asking = asyncio.create_task(console.call("/chat"))
        row = await console.row(state="streaming")
        async with console.feed(stream=row["id"]) as feed:
            while (line := await feed.next("line")).get("n") != 1 or line["kind"] != "read":
                pass
            assert line["data"].endswith("Hello " + "*" * 12)
            goes_on.set()
            await asking
            while (line := await feed.next("line"))["kind"] != "end":
                pass
            assert OF_GATEWAY[12:].encode() not in feed.body
            assert OF_GATEWAY[:12].encode() not in feed.body
        lines = await console.capture((await console.row(state="ended"))["id"])
        assert OF_GATEWAY[12:] not in json.dumps(lines)


@pytest.mark.parametrize("capture", ["content", "metadata"])
async def test_ids_that_are_secrets_of_their_request_are_in_no_answer(tmp_path: Path, capture: str) -> None:
    """An upstream may make its ids of what the client has sent."""
    goes_on = asyncio.Event()

    async def echoes(call: Call) -> None:
        event = {"type": "token", "content": "Hi", "session_id": OF_CLIENT, "thread_id": OF_COOKIE}
        await call.send(SSE, chunk(f"data: {json.dumps(event)}\n\n".encode()))
        await goes_on.wait()
        await call.send(chunk(b'data: {"type": "done"}\n\n'), LAST_CHUNK)

    async with (
        watched(echoes, tmp_path, capture) as console,
        console.feed(since=0) as feed,
    ):
        asking = asyncio.create_task(console.call("/chat", headers=CLIENT))
        row = await feed.row(state="streaming")
        assert row["thread_id"] == "*" * len(OF_COOKIE)
        shown = await all_answers(console)
        goes_on.set()
        await asking
        await feed.row(state="ended")
        for told in (*shown, *await all_answers(console), feed.body):
            assert secrets_in(told) == []


@pytest.mark.parametrize("capture", ["content", "metadata"])
async def test_credential_that_is_the_id_of_a_request_or_a_subprotocol_is_in_no_answer(
    tmp_path: Path, capture: str
) -> None:
    headers = [
        *CLIENT,
        ("X-Request-Id", OF_CLIENT),
        ("Sec-WebSocket-Protocol", f"chat, access_token, {OF_QUERY}, bearer.{OF_BASIC}"),
    ]
    body = {"type": "token", "content": f"they offered {OF_QUERY} and {OF_BASIC}"}

    async def echoes(call: Call) -> None:
        await call.send(SSE, chunk(f"data: {json.dumps(body)}\n\n".encode()), LAST_CHUNK)

    async with (
        watched(echoes, tmp_path, capture, auth=KEYS) as console,
        console.feed(since=0) as feed,
    ):
        await console.call("/chat", headers=headers)
        await feed.row(state="ended")
        told_of_stream = await all_answers(console)
        await console.call("/chat", headers=[("X-Api-Key", "wrong-key"), *headers[1:]])
        await feed.row(state="refused")
        for told in (*told_of_stream, json.dumps(await console.rows()).encode(), feed.body):
            assert secrets_in(told) == []
            assert OF_BASIC.encode() not in told
