"""Tool loops over real HTTP: upstreams get their turns unchanged, though the clients carry nothing."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from forgetful_clients import CLIENTS, ChatClient, ProtocolClient, StandardClient
from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import upstream
from streamweir_gateway.config import GatewayConfig
from strict_upstreams import (
    STEPS,
    StrictAnthropic,
    StrictChat,
    StrictGemini,
    StrictModel,
    StrictResponses,
)

pytestmark = pytest.mark.anyio

JSON = ("Content-Type", "application/json")


def config_of(url: str, path: str, dialect: str, tree: dict[str, Any], **options: Any) -> GatewayConfig:
    """Return a gateway whose endpoint `/chat` is in front of an upstream, for clients of all protocols."""
    auth = {"auth": options.pop("auth")} if "auth" in options else {}
    endpoint = {
        "upstream": url,
        "path": path,
        "speaks": dialect,
        "answers": [client.protocol for client in CLIENTS],
        "request": {"mapped": tree} if tree else "mapped",
        **options,
    }
    return settled(endpoints={"/chat": endpoint}, **auth)


THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
UNSTORED = {"store": False, "include": ["reasoning.encrypted_content"]}
CHAT = partial(config_of, path="/v1/chat/completions", dialect="openai-chat", tree={})

MODELS: dict[str, tuple[Callable[[], StrictModel], Callable[..., GatewayConfig]]] = {
    "anthropic": (
        StrictAnthropic,
        partial(config_of, path="/v1/messages", dialect="anthropic", tree=THINKING),
    ),
    "gemini": (
        StrictGemini,
        partial(config_of, path="/v1beta/models/m:streamGenerateContent", dialect="gemini", tree={}),
    ),
    "deepseek": (StrictChat, CHAT),
    "openrouter": (lambda: StrictChat("openrouter"), CHAT),
    "google": (lambda: StrictChat("google"), CHAT),
    "responses": (
        StrictResponses,
        partial(config_of, path="/v1/responses", dialect="openai-responses", tree=UNSTORED),
    ),
}


@asynccontextmanager
async def asked(
    name: str, client: ProtocolClient, model: Callable[[], StrictModel] | None = None, **options: Any
) -> AsyncIterator[tuple[StrictModel, Gateway]]:
    """Run a gateway in front of a model; the client has its first question."""
    usual, before = MODELS[name]
    strict = (model or usual)()
    async with upstream(strict) as server, gateway(before(server.url, **options)) as running:
        client.ask("How warm is it?")
        yield strict, running


async def send(running: Gateway, client: ProtocolClient, *headers: tuple[str, str]) -> Answer:
    names = [JSON, ("Accept", client.accept), ("X-Streamweir-Protocol", client.protocol), *headers]
    return await ask(running, headers=names, body=json.dumps(client.body()).encode())


async def turn(running: Gateway, client: ProtocolClient, *headers: tuple[str, str]) -> Answer:
    """Send the history of a client, and add the answer to it."""
    got = await send(running, client, *headers)
    assert got.status == 200, got.body
    client.take(got)
    return got


async def loop(running: Gateway, client: ProtocolClient) -> None:
    """Ask twice, and run the tools of each step."""
    for question in ("How warm is it?", "And tomorrow?"):
        client.ask(question)
        for step in STEPS:
            await turn(running, client)
            assert [name for _, name, _ in client.calls] == [name for name, _ in step.calls]
            client.add_results()
        assert client.text == STEPS[-1].text


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("make_client", CLIENTS)
async def test_tool_loop_of_a_client_that_carries_nothing_is_not_refused(
    name: str, make_client: type[ProtocolClient]
) -> None:
    model, before = MODELS[name]
    strict = model()
    async with upstream(strict) as server, gateway(before(server.url)) as running:
        await loop(running, make_client())
    assert strict.refusals == []
    assert len(strict.accepted) == 2 * len(STEPS)


LENIENT: dict[str, Callable[[], StrictModel]] = {
    "anthropic": lambda: StrictAnthropic(compares_input=False),
    "gemini": StrictGemini,
    "deepseek": lambda: StrictChat(compares_arguments=False),
}
"""Models that accept numbers as doubles, so that they refuse a request for its reasoning alone."""


@pytest.mark.parametrize("name", LENIENT)
async def test_refused_request_without_reasoning_is_sent_once_more(name: str) -> None:
    client = StandardClient()
    async with asked(name, client, LENIENT[name], turns="off") as (strict, running):
        first = await turn(running, client)
        assert first.json["warnings"] == []
        client.add_results()
        second = await turn(running, client)
        assert [warning["message_code"] for warning in second.json["warnings"]] == ["REASONING_LOST"]
        line = [line for line in running.log.lines if line.get("turns")][-1]
    assert len(strict.refusals) == 1
    assert len(strict.accepted) == 2
    assert line["turns"] == {"lost": 1, "mended": 1}
    assert line["attempts"] == 2


async def test_reasoning_that_the_upstream_does_not_take_is_left_out() -> None:
    strict = StrictChat("groq")
    async with upstream(strict) as server, gateway(CHAT(server.url)) as running:
        await loop(running, StandardClient())
    assert len(strict.accepted) == 2 * len(STEPS)
    assert len(strict.refusals) == 1  # it is remembered for later requests
    assert "unsupported" in strict.refusals[0]


async def test_field_that_an_upstream_takes_again_is_sent_again() -> None:
    strict = StrictChat("groq")
    async with upstream(strict) as server, gateway(CHAT(server.url)) as running:
        client = StandardClient()
        client.ask("How warm is it?")
        for _ in range(2):
            await turn(running, client)
            client.add_results()
        assert len(strict.refusals) == 1
        strict.flavour = "deepseek"  # now it wants to see the reasoning that it did not take
        await turn(running, client)
    assert len(strict.refusals) == 2
    assert "must be passed back" in strict.refusals[-1]


async def test_turn_of_another_key_is_not_found() -> None:
    keys: dict[str, Any] = {"a": "k" * 20, "b": "l" * 20}
    client = StandardClient()
    async with asked("gemini", client, auth={"keys": keys}) as (strict, running):
        await turn(running, client, ("Authorization", "Bearer " + "k" * 20))
        client.add_results()
        await send(running, client, ("Authorization", "Bearer " + "l" * 20))
        assert len(strict.refusals) == 1
        accepted = len(strict.accepted)
        await turn(running, client, ("Authorization", "Bearer " + "k" * 20))
        assert len(strict.refusals) == 1
        assert len(strict.accepted) == accepted + 1


async def test_call_that_the_client_edited_is_sent_as_edited_and_without_its_turn() -> None:
    client = StandardClient()
    async with asked("deepseek", client, LENIENT["deepseek"]) as (strict, running):
        await turn(running, client)
        client.add_results()
        client.history[1]["tool_calls"][0]["arguments"]["city"] = "Bonn"
        await turn(running, client)
    assert len(strict.refusals) == 1
    (sent,) = [message for message in strict.accepted[-1]["messages"] if message["role"] == "assistant"]
    assert sent["reasoning_content"] == ""
    assert json.loads(sent["tool_calls"][0]["function"]["arguments"])["city"] == "Bonn"


async def test_request_that_stores_nothing_keeps_no_turn() -> None:
    client = ChatClient()
    async with asked("gemini", client) as (strict, running):
        headers = [JSON, ("X-Streamweir-Protocol", client.protocol)]
        body = json.dumps({**client.body(), "store": False}).encode()
        client.take(await ask(running, headers=headers, body=body))
        client.add_results()
        await send(running, client)
    assert len(strict.refusals) == 1


@pytest.mark.parametrize("name", MODELS)
async def test_questions_to_the_client_follow_all_calls_of_the_turn(name: str) -> None:
    client = StandardClient()
    client.accept = "text/event-stream"
    async with asked(name, client) as (_, running):
        got = await send(running, client)
        got.assert_valid()
        types = got.types
        assert types.index("interaction") > max(
            at for at, kind in enumerate(types) if kind == "tool_call_start"
        )
        assert types[-1] == "session_end"


@pytest.mark.parametrize("is_mixed", [False, True])
async def test_thoughts_without_a_value_reach_no_upstream_of_several_dialects(is_mixed: bool) -> None:
    strict, other = StrictChat("groq"), StrictAnthropic()
    history = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello.", "reasoning_content": "A thought."},
        {"role": "user", "content": "And?"},
    ]
    async with upstream(strict) as server, upstream(other) as second:
        known = {
            "one": {"url": server.url, "speaks": "openai-chat"},
            "two": {"url": second.url, "speaks": "anthropic"},
        }
        listed = ["one", "two"] if is_mixed else ["one"]
        endpoint = {"upstream": listed, "answers": ["openai-chat"], "request": "mapped"}
        async with gateway(settled(upstreams=known, endpoints={"/chat": endpoint})) as running:
            body = json.dumps({"model": "m", "messages": history}).encode()
            assert (await ask(running, headers=[JSON], body=body)).status == 200
    assert len(strict.refusals) == (0 if is_mixed else 1)  # it does not take the field at all
    assert "A thought." not in json.dumps(strict.accepted)
