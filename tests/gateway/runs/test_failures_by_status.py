"""Protocols whose clients use the HTTP status: a failure before the first event is an error body."""

import asyncio
import json
from typing import Any

import pytest

from loopback import Answer, ask, gateway, settled
from scripted_upstream import SSE, WHOLE, Call, Script, answer, chunk, upstream

pytestmark = pytest.mark.anyio

KEY = "sk-web-4711-secret"
BUSY = answer(b"", "Retry-After: 7", status="429 Slow down")
REFUSED = answer(b"", status="401 Who are you")
HALF = SSE + chunk(b'data: {"type": "token", "content": "Half"}\n\n')
FIELDS = {
    "openai-chat": ("rate_limit_exceeded", "rate_limit_error"),
    "anthropic": (None, "rate_limit_error"),
}
PROTOCOLS = sorted(FIELDS)


async def asked(protocol: str, script: bytes | Script, headers: Any = (), **endpoint: Any) -> Answer:
    """Return the answer of a client of `protocol` if the backend plays `script`."""
    async with upstream(script) as server:
        chat = {"upstream": server.url, "speaks": "legacy", "answers": [protocol], **endpoint}
        async with gateway(settled(endpoints={"/chat": chat})) as running:
            return await ask(running, headers=list(headers))


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
async def test_failure_before_the_first_event_is_a_status(protocol: str, accept: str) -> None:
    got = await asked(protocol, BUSY, [("Accept", accept)])
    assert (got.status, got.header("retry-after")) == (429, "7")
    assert got.header("content-type") == "application/json"
    assert got.header("x-should-retry") is None
    code, kind = FIELDS[protocol]
    assert got.json["error"].get("code") == code
    assert got.json["error"]["type"] == kind


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_status_that_cannot_succeed_has_retry_never(protocol: str) -> None:
    got = await asked(protocol, REFUSED)
    assert (got.status, got.header("x-should-retry")) == (502, "false")


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_failure_after_the_first_event_is_part_of_the_stream(protocol: str) -> None:
    got = await asked(protocol, HALF)
    assert (got.status, got.header("content-type")) == (200, "text/event-stream; charset=utf-8")
    assert b"Half" in got.body
    assert json.loads(got.body.strip().rsplit(b"data: ", 1)[1])["error"]["message"]
    assert b"[DONE]" not in got.body


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_half_a_folded_answer_is_a_failure(protocol: str) -> None:
    got = await asked(protocol, HALF, [("Accept", "application/json")])
    assert got.status == 502
    assert "Half" not in got.body.decode()


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_failure_after_a_heartbeat_keeps_status_200(protocol: str) -> None:
    async def late(call: Call) -> None:
        await asyncio.sleep(0.3)
        await call.send(BUSY)

    got = await asked(protocol, late, heartbeat="100ms")
    assert got.status == 200
    assert got.body.startswith((b"event: ping\n", b'data: {"id":"chatcmpl-', b": ping\n"))
    assert json.loads(got.body.strip().rsplit(b"data: ", 1)[1])["error"]["message"]


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_folded_answer_has_the_form_of_the_protocol(protocol: str) -> None:
    got = await asked(protocol, WHOLE, [("Accept", "application/json")])
    assert got.status == 200
    if protocol == "anthropic":
        assert got.json["content"] == [{"type": "text", "text": "Hello", "citations": None}]
    else:
        assert got.json["choices"][0]["message"]["content"] == "Hello"


@pytest.mark.parametrize(
    ("target", "own"),
    [("/v1/chat/completions", {"error"}), ("/v1/messages", {"type", "error", "request_id"})],
)
async def test_refusal_has_the_form_of_the_protocol(target: str, own: set[str]) -> None:
    chat = {"upstream": "http://127.0.0.1:9", "speaks": "legacy", "answers": ["anthropic"]}
    config = settled(endpoints={"/v1/messages": chat}, auth={"keys": {"web": KEY}})
    async with gateway(config) as running:
        stranger = await ask(running, target=target)
        assert (stranger.status, stranger.header("x-should-retry")) == (401, "false")
        assert stranger.json.keys() == own
        known = await ask(running, target=target, method="PUT", headers=[("X-Api-Key", KEY)])
        assert known.status == (405 if target == "/v1/messages" else 404)
        assert known.json.keys() == own


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("body", "accept", "is_stream"),
    [
        (b'{"messages": [], "stream": true}', "application/json", True),
        (b'{"messages": [], "stream": false}', "text/event-stream", False),
        (b'{"messages": []}', "*/*", False),
        (b'{"messages": []}', "application/json", False),
        (b'{"messages": []}', "text/event-stream", True),
        (b'{"input": "x", "stream": null}', "text/event-stream", True),
        (b'{"messages": []}', "application/json, text/event-stream;q=0.5", True),
        (b'{"messages": []}', "text/event-stream;q=0", False),
        (b'{"question": 1}', "text/event-stream", True),
        (b"no JSON", "text/event-stream", True),
    ],
)
async def test_stream_field_of_the_request_decides(
    protocol: str, body: bytes, accept: str, is_stream: bool
) -> None:
    async with upstream(WHOLE) as server:
        chat = {"upstream": server.url, "speaks": "legacy", "answers": [protocol]}
        async with gateway(settled(endpoints={"/chat": chat})) as running:
            got = await ask(running, body=body, headers=[("Accept", accept)])
    assert (got.framing == "sse") == is_stream
