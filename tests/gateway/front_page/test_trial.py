"""POST `/` sends a request through the gateway, and reports the frames of both sides."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from loopback import Gateway, client, gateway, settled
from scripted_upstream import LAST_CHUNK, SSE, chunk, upstream

pytestmark = pytest.mark.anyio

LEGACY: dict[str, Any] = {"upstream": "demo:legacy", "speaks": "legacy", "answers": ["standard", "ag-ui"]}
ASKED = {"endpoint": "/chat/{id}", "body": {"message": "Hello"}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def serving(endpoint: dict[str, Any] = LEGACY, **file: Any) -> AsyncIterator[tuple[Gateway, str]]:
    async with gateway(settled(endpoints={"/chat/{id}": endpoint}, **file)) as running:
        yield running, "http://{}:{}/".format(*running.address[:2])


async def trial(url: str, asked: Any = ASKED, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.post(url, json=asked, headers=headers)


def lines(response: httpx.Response, lane: str) -> list[Any]:
    found = [json.loads(line) for line in response.text.splitlines()]
    return [line[lane] for line in found if lane in line]


def text(response: httpx.Response, lane: str) -> str:
    return "".join(piece for piece in lines(response, lane) if isinstance(piece, str))


async def test_trial_of_a_demo_reports_both_sides_in_order() -> None:
    async with serving() as (_, url):
        response = await trial(url, {**ASKED, "protocol": "ag-ui"})
    assert '"type":"done"' in text(response, "upstream")
    assert '"type":"RUN_FINISHED"' in text(response, "client")
    assert lines(response, "end") == ["whole"]
    first, second = (json.loads(line) for line in response.text.splitlines()[:2])
    assert "upstream" in first
    assert second["client"] == {"status": 200, "type": "text/event-stream; charset=utf-8"}


async def test_trial_is_a_request_like_any_other() -> None:
    async with serving() as (running, url):
        await trial(url)
        line = await running.log.next_line()
    assert (line["endpoint"], line["reason"], line["status"]) == ("/chat/{id}", "done", 200)


async def test_trial_of_another_upstream_reports_none_of_its_bytes() -> None:
    body = chunk(b": planted\n\n"), chunk(b'data: {"type": "done"}\n\n')
    async with (
        upstream(b"".join((SSE, *body, LAST_CHUNK))) as real,
        serving({"upstream": real.url, "speaks": "legacy"}) as (_, url),
    ):
        response = await trial(url)
    assert lines(response, "upstream") == []
    assert "planted" not in response.text
    assert "session_end" in text(response, "client")


async def test_trial_of_an_upstream_without_an_answer_reports_its_failure() -> None:
    async with serving({"upstream": "http://127.0.0.1:9", "speaks": "legacy"}) as (_, url):
        response = await trial(url)
    assert "UPSTREAM_UNREACHABLE" in text(response, "client")
    assert "127.0.0.1:9" not in response.text


@pytest.mark.parametrize("origin", ["https://attacker.example", "null"])
async def test_trial_of_a_foreign_page_is_refused(origin: str) -> None:
    async with serving() as (_, url):
        assert (await trial(url, Origin=origin)).status_code == 403


async def test_trial_of_a_simple_request_is_refused() -> None:
    async with serving() as (_, url), httpx.AsyncClient() as client:
        sent = await client.post(url, content=json.dumps(ASKED), headers={"Content-Type": "text/plain"})
    assert sent.status_code == 415


@pytest.mark.parametrize(
    ("asked", "status"),
    [({"endpoint": "/metrics"}, 404), ({"endpoint": "/"}, 404), ({}, 400), ([], 400), ({"endpoint": 7}, 400)],
)
async def test_trial_of_anything_else_is_refused(asked: Any, status: int) -> None:
    async with serving() as (_, url):
        assert (await trial(url, asked)).status_code == status


async def test_trial_needs_a_key_where_endpoints_do_and_counts_for_it() -> None:
    keys = {"keys": {"web": "a-key-of-ours"}}
    async with serving(auth=keys) as (running, url):
        assert (await trial(url)).status_code == 401
        await running.log.next_line()
        response = await trial(url, **{"X-Api-Key": "a-key-of-ours"})
        assert (await running.log.next_line())["key"] == "web"
    assert "session_end" in text(response, "client")


async def test_trial_ends_when_its_page_leaves() -> None:
    async with serving() as (running, url), httpx.AsyncClient() as client:
        asked = {**ASKED, "body": {"message": "stall"}}
        async with client.stream("POST", url, json=asked) as response:
            async for piece in response.aiter_lines():
                if '"client"' in piece:
                    break
        line = await running.log.next_line()
    assert line["reason"] in ("client_gone", "cancelled")


async def test_trial_that_is_too_large_by_its_length_is_refused_before_its_body_comes() -> None:
    async with serving() as (running, _), client(running) as connected:
        connected.announce("/", 1 << 40, headers=[("Content-Type", "application/json")])
        answer = await connected.whole()
    assert (answer.status, answer.json["error"]["code"]) == (413, "REQUEST_TOO_LARGE")
