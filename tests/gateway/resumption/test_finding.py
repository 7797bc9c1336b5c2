"""Runs are found by the id of the conversation in their request, before their first event."""

import asyncio
import json
from typing import Any

import pytest

from loopback import ask, client, gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, Call, chunk, upstream

pytestmark = pytest.mark.anyio

ALICE = [("Authorization", "Bearer alice-key-123456")]
JSON = [("Accept", "application/json")]
UI_MESSAGES = [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hi"}]}]
AG_UI: dict[str, Any] = {
    "threadId": "t 1",
    "runId": "r1",
    "messages": [{"id": "m1", "role": "user", "content": "Hi"}],
    "tools": [],
    "context": [],
    "state": {},
    "forwardedProps": {},
}


NAMED: dict[str, tuple[str, dict[str, Any], str]] = {
    "standard": ("standard", {"message": "Hi", "thread_id": "t 1"}, "thread_id"),
    "an old name": ("standard", {"message": "Hi", "conversation_id": "t 1"}, "thread_id"),
    "session": ("standard", {"message": "Hi", "session_id": "t 1"}, "session_id"),
    "nothing else that can be read": ("standard", {"messages": 7, "thread_id": "t 1"}, "thread_id"),
    "AI SDK": ("vercel-ui", {"id": "t 1", "messages": UI_MESSAGES}, "thread_id"),
    "AG-UI": ("ag-ui", AG_UI, "thread_id"),
}


@pytest.mark.parametrize(("protocol", "body", "kind"), NAMED.values(), ids=NAMED)
async def test_find_returns_a_run_by_the_conversation_id_of_its_request(
    protocol: str, body: dict[str, Any], kind: str
) -> None:
    goes_on = asyncio.Event()

    async def silent_at_first(call: Call) -> None:
        await goes_on.wait()
        await call.send(SSE, chunk(b'data: {"type": "done"}\n\n'), LAST_CHUNK)

    async with upstream(silent_at_first) as server:
        endpoint = {
            "upstream": server.url,
            "speaks": "legacy",
            "resume": {"find": True},
            "answers": [protocol],
        }
        auth = {"keys": {"alice": "alice-key-123456", "bob": "bob-key-12345678"}}
        async with gateway(settled(endpoints={"/chat": endpoint}, auth=auth)) as running:
            async with client(running) as first:
                first.send(headers=ALICE, body=json.dumps(body).encode())
                await server.called.wait()
                latest = await ask(running, "GET", f"/-/runs/latest?{kind}=t%201", headers=[*ALICE, *JSON])
                assert (latest.status, latest.json["status"]) == (200, "running")
                bob = [("Authorization", "Bearer bob-key-12345678")]
                assert (await ask(running, "GET", f"/-/runs/latest?{kind}=t%201", headers=bob)).status == 204
                goes_on.set()
                handle = (await first.whole()).header("x-streamweir-run")
            found = await ask(running, "GET", f"/-/runs?{kind}=t%201", headers=ALICE)
            assert [run["id"] for run in found.json["runs"]] == [handle]


async def test_upstream_gets_no_handle() -> None:
    whole = SSE + chunk(b'data: {"type": "done"}\n\n') + LAST_CHUNK
    handle, other = f"run_{'1' * 32}", f"run_{'2' * 32}"
    options = {
        "resume": "on",
        "methods": ["GET", "POST"],
        "forward_query": ["run", "q"],
        "forward_headers": ["X-Streamweir-Run"],
    }
    async with upstream(whole) as server:
        endpoint = {"upstream": server.url, "speaks": "legacy", **options}
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            by_query = await ask(running, "GET", f"/chat?q=1&run={handle}", body=b"")
            by_header = await ask(running, headers=[("X-Streamweir-Run", other)])
            foreign = await ask(running, "GET", "/chat?run=42&q=1", body=b"")
    assert [answer.header("x-streamweir-run") for answer in (by_query, by_header)] == [handle, other]
    assert foreign.status == 200
    assert [call.target.partition("?")[2] for call in server.calls] == ["q=1", "", "run=42&q=1"]
    assert all(call.header("x-streamweir-run") is None for call in server.calls)
