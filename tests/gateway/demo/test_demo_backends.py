"""Every demo backend plays its run over real HTTP, and breaks as it is told to."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import httpx
import pytest

from streams import events_of
from streamweir import ConfigurationError, Decoder, Translator, detect_dialect
from streamweir.codec.dialect import Dialect
from streamweir.codec.registry import process_dialects
from streamweir.framing import MEDIA_TYPES
from streamweir_gateway.demo import serve_demos
from streamweir_gateway.fake.script import ANSWER, SECRET, THOUGHT

pytestmark = pytest.mark.anyio

DIALECTS = process_dialects().writable


@pytest.fixture
async def demos() -> AsyncIterator[Mapping[str, str]]:
    async with serve_demos(map(process_dialects().find, DIALECTS), pace=0) as urls:
        yield urls


async def translated(url: str, dialect: str, body: Any) -> list[dict[str, Any]]:
    """What the library makes of a demo's answer to `body`."""
    translator = Translator(speaks=dialect, framing="ndjson")
    out = []
    async with httpx.AsyncClient() as client, client.stream("POST", url, json=body) as response:
        assert response.status_code == 200
        try:
            out += [translator.feed(data) async for data in response.aiter_raw()]
        except httpx.RemoteProtocolError:
            out.append(translator.fail("UPSTREAM_TRUNCATED"))
        else:
            out.append(translator.close())
    return events_of(b"".join(out))


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["data"]["content"] for event in events if event["type"] == "content")


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event["data"] for event in events if event["type"] == kind]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_demo_backend_plays_a_whole_run(dialect: str, demos: Mapping[str, str]) -> None:
    events = await translated(demos[dialect], dialect, {"message": "Hello"})
    assert text_of(events) == ANSWER
    assert events[-1]["data"]["status"] == "completed"
    assert of_type(events, "error") == []
    assert of_type(events, "warning") == []


WITHOUT_SERVER_TOOLS = ("anthropic", "openai-chat")
"""Dialects that do not write calls which the server has run itself, at least not by default."""


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_demo_backend_sends_thinking(dialect: str, demos: Mapping[str, str]) -> None:
    events = await translated(demos[dialect], dialect, {"message": "Hello"})
    assert "".join(data["content"] for data in of_type(events, "thinking")) == THOUGHT


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name not in WITHOUT_SERVER_TOOLS])
async def test_demo_backend_calls_two_tools(dialect: str, demos: Mapping[str, str]) -> None:
    events = await translated(demos[dialect], dialect, {"message": "Hello"})
    names = [data["tool_name"] for data in of_type(events, "tool_call_start")]
    assert sorted(names) == ["exchange_rate", "query_orders"]
    assert [data["status"] for data in of_type(events, "tool_call_end")] == ["success", "success"]


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_demo_backend_declares_its_framing(dialect: str, demos: Mapping[str, str]) -> None:
    async with httpx.AsyncClient() as client:
        response = await client.post(f"{demos[dialect]}/any/path?at=all", json={})
    assert response.headers["content-type"] == MEDIA_TYPES[process_dialects().to_write(dialect).framings[0]]
    assert detect_dialect(response.content) == dialect


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_demo_failure_with_a_raw_text_is_made_safe(dialect: str, demos: Mapping[str, str]) -> None:
    async with httpx.AsyncClient() as client:
        response = await client.post(demos[dialect], json={"message": "please fail"})
    assert SECRET in response.text
    events = await translated(demos[dialect], dialect, {"message": "please fail"})
    assert events[-1]["data"]["status"] == "error"
    (error,) = of_type(events, "error")
    assert error["terminal"] is True
    assert 0 < len(text_of(events)) < len(ANSWER)
    for unsafe in (SECRET, "hunter2", "10.1.2.3", "Traceback", "/srv/agent", "psycopg2"):
        assert unsafe not in json.dumps(events)


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_demo_cut_ends_the_connection_within_an_event(dialect: str, demos: Mapping[str, str]) -> None:
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.post(demos[dialect], json={"message": "cut"})
    events = await translated(demos[dialect], dialect, {"message": "cut"})
    assert events[-1]["data"]["reason"] == "truncated"
    assert ANSWER.startswith(text_of(events))


async def test_demo_stall_stops_in_the_middle(demos: Mapping[str, str]) -> None:
    received = b""
    with anyio.move_on_after(0.5) as waiting:
        async with (
            httpx.AsyncClient() as client,
            client.stream("POST", demos["legacy"], content=b"stall") as answer,
        ):
            async for data in answer.aiter_raw():
                received += data
    assert waiting.cancelled_caught
    assert b"token" in received
    assert b"done" not in received


@pytest.mark.parametrize(
    "body",
    [
        {"question": "now fail"},
        {"query": "FAIL!"},
        {"messages": [{"role": "user", "content": "stall"}, {"role": "user", "content": "fail"}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "fail"}]}]},
        {"inputs": {"deep": ["fail"]}},
    ],
)
async def test_demo_backend_finds_the_message_in_any_body(body: Any, demos: Mapping[str, str]) -> None:
    events = await translated(demos["legacy"], "legacy", body)
    assert events[-1]["data"]["status"] == "error"


@pytest.mark.parametrize(
    "body",
    [
        {"message": "failure is not the word"},
        {"message": "Hello", "model": "fail"},
        {"messages": [{"role": "user", "content": "fail"}, {"role": "user", "content": "Hello"}]},
        [],
    ],
)
async def test_answers_all_the_others(body: Any, demos: Mapping[str, str]) -> None:
    events = await translated(demos["legacy"], "legacy", body)
    assert events[-1]["data"]["status"] == "completed"


@pytest.mark.slow
async def test_demo_backend_plays_at_the_pace_of_a_model() -> None:
    async with serve_demos([process_dialects().find("legacy")]) as demos, httpx.AsyncClient() as client:
        started = anyio.current_time()
        await client.post(demos["legacy"], json={"message": "Hello"})
        assert 1.5 < anyio.current_time() - started < 6


async def test_demo_of_a_dialect_without_an_encoder_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot be written"):
        async with serve_demos([Dialect("acme", Decoder)]):
            pass
