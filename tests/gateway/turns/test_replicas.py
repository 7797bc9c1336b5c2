"""Turns in Redis: another replica for each request, and replicas that are killed behind the end of an answer.

The clients may carry nothing (`opaque: off`): each turn that the model sees again is a kept one.
"""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from loop_clients import CLIENTS, LoopClient
from loopback import Client, Gateway, client, gateway, settled
from redis_servers import RedisServer, redis_binaries, redis_server
from running_gateway import running_gateway
from scripted_upstream import Call, upstream
from strict_upstreams import STEPS, StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses

pytestmark = pytest.mark.anyio

MODELS: Mapping[str, tuple[str, Callable[[], StrictModel]]] = {
    "anthropic": ("anthropic", StrictAnthropic),
    "gemini": ("gemini", StrictGemini),
    "deepseek": ("openai-chat", StrictChat),
    "responses": ("openai-responses", StrictResponses),
}
TREES: Mapping[str, Any] = {
    "anthropic": {"mapped": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
    "openai-responses": {"mapped": {"store": False, "include": ["reasoning.encrypted_content"]}},
}
ENDS: Mapping[str, bytes] = {
    "standard": b'"session_end"',
    "anthropic": b"message_stop",
    "openai-chat": b"data: [DONE]",
    "openai-responses": b"response.completed",
    "ag-ui": b"RUN_FINISHED",
    "vercel-ui": b"data: [DONE]",
}
"""The text in the last frame of an answer."""

GOES_ON: Mapping[str, tuple[bytes, ...]] = {
    "standard": (b'"session_end"', b'"interaction"'),
    "anthropic": (b"message_stop", b'"stop_reason":"'),
    "openai-chat": (b'"finish_reason":"',),
    "openai-responses": (b"response.completed",),
    "ag-ui": (b"RUN_FINISHED",),
    "vercel-ui": (b'"type":"finish"',),
}
"""Texts of frames after which a client goes on."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server(redis_binaries()[0]) as server:
        yield server


def endpoint(url: str, dialect: str, protocol: str) -> dict[str, Any]:
    return {
        "upstream": url,
        "speaks": dialect,
        "answers": [protocol],
        "request": TREES.get(dialect, "mapped"),
        "protocol_options": {} if protocol == "standard" else {protocol: {"opaque": "off"}},
    }


def send(connected: Client, asking: LoopClient) -> None:
    headers = [("Content-Type", "application/json"), ("Accept", "text/event-stream")]
    body = asking.body
    if asking.protocol == "openai-responses":  # `store: false` would keep nothing
        body = {"model": "m", "input": body["input"], "stream": True}
    if asking.protocol == "standard":
        body = {**body, "messages": [without_opaque(message) for message in body["messages"]]}
    connected.send(headers=headers, body=json.dumps(body).encode())


def without_opaque(value: Any) -> Any:
    if isinstance(value, list):
        return [without_opaque(item) for item in value]
    if isinstance(value, dict):
        return {name: without_opaque(item) for name, item in value.items() if name != "opaque"}
    return value


async def turn(running: Gateway, asking: LoopClient) -> None:
    """Send the history, read to the last frame, run the calls."""
    async with client(running) as connected:
        send(connected, asking)
        await connected.until(ENDS[asking.protocol])
        assert connected.answer.status == 200, connected.answer.body
        for call in asking.take(connected.answer.body):
            asking.answer(call, "21 degrees")


PAIRS = [(protocol, name) for protocol in CLIENTS for name in MODELS]


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), PAIRS)
async def test_each_request_at_another_replica_shows_the_model_its_turns(
    redis: RedisServer, protocol: str, name: str
) -> None:
    dialect, make = MODELS[name]
    model, asking = make(), CLIENTS[protocol]()
    async with upstream(model) as server, AsyncExitStack() as stack:
        file: dict[str, Any] = {"/chat": endpoint(server.url, dialect, protocol)}
        config = settled(endpoints=file, store={"url": redis.url})
        replicas = [await stack.enter_async_context(gateway(config)) for _ in range(2)]
        for question in range(2):
            asking.ask(f"Question {question}?")
            for step in range(len(STEPS)):
                await turn(replicas[(question + step) % 2], asking)
    assert model.refusals == []
    assert len(model.accepted) == 2 * len(STEPS)
    assert asking.text == STEPS[-1].text


@contextmanager
def stopped(redis: RedisServer) -> Iterator[None]:
    """Let a Redis that is there answer nothing."""
    os.kill(redis.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(redis.process.pid, signal.SIGCONT)


HELD_BEHIND = 5
"""Pieces of an answer that leave at once: the head, and frames up to the first text."""


class HeldCall:
    """A call of an upstream whose answer stops behind its first frames until it may go on."""

    def __init__(self, call: Call, may_go_on: asyncio.Event) -> None:
        self.body = call.body
        self._call = call
        self._may_go_on = may_go_on

    async def send(self, *pieces: bytes) -> None:
        await self._call.send(*pieces[:HELD_BEHIND])
        await self._may_go_on.wait()
        await self._call.send(*pieces[HELD_BEHIND:])


@pytest.mark.slow
@pytest.mark.parametrize(("protocol", "name"), PAIRS)
async def test_answer_ends_once_its_turn_is_stored(redis: RedisServer, protocol: str, name: str) -> None:
    dialect, make = MODELS[name]
    model, asking = make(), CLIENTS[protocol]()
    asking.ask("How warm is it?")
    may_go_on = asyncio.Event()

    async def held(call: Call) -> None:
        await model(cast("Call", HeldCall(call, may_go_on)))

    async with upstream(held) as server:
        file = {"/chat": endpoint(server.url, dialect, protocol)}
        store = {"url": redis.url, "timeout": "20s"}
        async with gateway(settled(endpoints=file, store=store)) as running, client(running) as connected:
            send(connected, asking)
            await connected.until(b"data:")
            first = connected.answer.body
            with stopped(redis):
                may_go_on.set()
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.4):
                        await connected.until(ENDS[protocol])
                begun = connected.answer.body
            await connected.until(ENDS[protocol])
    assert len(begun) > len(first), "texts do not wait for the store"
    assert not [word for word in GOES_ON[protocol] if word in begun]


@asynccontextmanager
async def mortal_replica(folder: Path, config: Mapping[str, Any]) -> AsyncIterator[tuple[Gateway, Any]]:
    """Run a replica in a process of its own."""
    async with running_gateway(folder, **config) as running:
        await running.ready()
        yield running.at, running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "name"),
    [("standard", "anthropic"), ("openai-chat", "gemini"), ("ag-ui", "deepseek"), ("anthropic", "responses")],
)
async def test_turn_survives_the_replica_that_is_killed_behind_its_end(
    redis: RedisServer, tmp_path: Path, protocol: str, name: str
) -> None:
    dialect, make = MODELS[name]
    model, asking = make(), CLIENTS[protocol]()
    asking.ask("How warm is it?")
    async with upstream(model) as server:
        config = {
            "endpoints": {"/chat": endpoint(server.url, dialect, protocol)},
            "store": {"url": redis.url},
        }
        for _ in range(len(STEPS)):
            async with mortal_replica(tmp_path, config) as (at, running):
                await turn(at, asking)
                running.signal(signal.SIGKILL)
    assert model.refusals == []
    assert len(model.accepted) == len(STEPS)
    assert asking.text == STEPS[-1].text


@pytest.mark.slow
async def test_response_survives_the_replica_that_is_killed_behind_its_end(
    redis: RedisServer, tmp_path: Path
) -> None:
    """A chain of responses: each request at another process, which is killed after `response.completed`."""
    model = StrictAnthropic()
    body: dict[str, Any] = {"input": "How warm is it?"}
    async with upstream(model) as server:
        endpoints = {"/chat": endpoint(server.url, "anthropic", "openai-responses")}
        config = {"endpoints": endpoints, "store": {"url": redis.url}}
        for _ in range(len(STEPS)):
            async with (
                mortal_replica(tmp_path, config) as (at, running),
                client(at) as connected,
            ):
                sent = json.dumps({"model": "m", "stream": True, **body}).encode()
                connected.send(headers=[("Content-Type", "application/json")], body=sent)
                await connected.until(b"event: response.completed")
                while b"\n\n" not in connected.answer.body.split(b"event: response.completed")[1]:
                    await connected.step()
                running.signal(signal.SIGKILL)
            response = connected.answer.events[-1]["response"]
            calls = [item for item in response["output"] if item["type"] == "function_call"]
            results = [
                {"type": "function_call_output", "call_id": call["call_id"], "output": "21"} for call in calls
            ]
            body = {"previous_response_id": response["id"], "input": results}
    assert model.refusals == []
    assert len(model.accepted) == len(STEPS)
