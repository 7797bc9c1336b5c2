"""Three-turn tool loops before strict models with `turns: off`: the client carries the turns alone."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from loop_clients import CLIENTS, LoopClient
from loopback import Gateway, ask, gateway, settled
from scripted_upstream import upstream
from strict_upstreams import STEPS, StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses

pytestmark = pytest.mark.anyio

MODELS: Mapping[str, tuple[str, Callable[[], StrictModel]]] = {
    "anthropic": ("anthropic", lambda: StrictAnthropic(compares_input=False)),
    "gemini": ("gemini", lambda: StrictGemini(compares_args=False)),
    "gemini-with-ids": ("gemini", lambda: StrictGemini(compares_args=False, gives_ids=True)),
    "deepseek": ("openai-chat", lambda: StrictChat("deepseek", compares_arguments=False)),
    "openrouter": ("openai-chat", lambda: StrictChat("openrouter", compares_arguments=False)),
    "google": ("openai-chat", lambda: StrictChat("google", compares_arguments=False)),
    "responses": ("openai-responses", lambda: StrictResponses(compares_arguments=False)),
    "groq": ("openai-chat", lambda: StrictChat("groq", compares_arguments=False)),
}


def overlay(dialect: str) -> Any:
    return {"thinking": {"type": "enabled", "budget_tokens": 1024}} if dialect == "anthropic" else {"x": 1}


async def looped(
    client: LoopClient,
    model: StrictModel,
    dialect: str,
    *,
    rounds: int = 1,
    is_whole: bool = False,
    **options: Any,
) -> None:
    """Ask, and run all tools, until there are no calls any more; `is_whole`: without streams."""
    async with upstream(model) as server:
        endpoint = {
            "upstream": server.url,
            "speaks": dialect,
            "answers": [client.protocol],
            "request": {"mapped": overlay(dialect)},
            "turns": "off",
            **options,
        }
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            for number in range(rounds):
                client.ask(f"Question {number}: how warm is it?")
                for _ in STEPS:
                    for call in await _turn(client, running, is_whole=is_whole):
                        client.answer(call, "21 degrees")


async def _turn(client: LoopClient, running: Gateway, *, is_whole: bool) -> list[tuple[str, str]]:
    accept = "application/json" if is_whole else "text/event-stream"
    headers = [("Content-Type", "application/json"), ("Accept", accept)]
    body = {**client.body, "stream": False} if is_whole else client.body
    answer = await ask(running, headers=headers, body=json.dumps(body).encode())
    assert answer.status == 200, answer.body
    return client.take_whole(answer.json) if is_whole else client.take(answer.body)


PAIRS = [(protocol, name) for protocol in CLIENTS for name in MODELS]


@pytest.mark.parametrize(("protocol", "name"), PAIRS)
async def test_client_carries_alone(protocol: str, name: str) -> None:
    dialect, make = MODELS[name]
    model, client = make(), CLIENTS[protocol]()
    await looped(client, model, dialect, rounds=2)
    assert not model.refusals
    assert len(model.accepted) == 2 * len(STEPS)
    assert client.text == STEPS[-1].text


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("protocol", ["anthropic", "openai-chat"])
async def test_client_of_whole_answers_carries_alone(protocol: str, name: str) -> None:
    dialect, make = MODELS[name]
    model, client = make(), CLIENTS[protocol]()
    await looped(client, model, dialect, is_whole=True)
    assert not model.refusals
    assert len(model.accepted) == len(STEPS)


@pytest.mark.parametrize(("protocol", "name"), [pair for pair in PAIRS if pair[0] == MODELS[pair[1]][0]])
async def test_client_of_the_dialect_carries_frames_written_anew(protocol: str, name: str) -> None:
    dialect, make = MODELS[name]
    model, client = make(), CLIENTS[protocol]()
    await looped(client, model, dialect, verbatim="off")
    assert not model.refusals
    assert len(model.accepted) == len(STEPS)


STRICT: Mapping[str, tuple[str, Callable[[], StrictModel]]] = {
    "deepseek": ("openai-chat", StrictChat),
    "openrouter": ("openai-chat", lambda: StrictChat("openrouter")),
    "google": ("openai-chat", lambda: StrictChat("google")),
}


@pytest.mark.parametrize("is_whole", [False, True])
@pytest.mark.parametrize("name", STRICT)
async def test_client_carries_the_arguments_of_calls_byte_for_byte(name: str, is_whole: bool) -> None:
    dialect, make = STRICT[name]
    model, client = make(), CLIENTS["openai-chat"]()
    await looped(client, model, dialect, is_whole=is_whole)
    assert not model.refusals
    assert len(model.accepted) == len(STEPS)


@pytest.mark.parametrize("thread", [{"type": "create"}, {"type": "continue", "previous_message_id": "msg_1"}])
async def test_thread_that_the_server_is_to_hold_is_refused_with_the_words_of_the_library(
    thread: dict[str, str],
) -> None:
    model = StrictAnthropic()
    async with upstream(model) as server:
        endpoint = {
            "upstream": server.url,
            "speaks": "anthropic",
            "answers": ["anthropic"],
            "request": "mapped",
        }
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}]}
            sent = json.dumps({**body, "thread": thread}).encode()
            answer = await ask(running, headers=[("Content-Type", "application/json")], body=sent)
    assert answer.status == 400
    details = answer.json["error"]["details"]
    assert details == {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
    assert not model.accepted
