"""Tool loops over real HTTP: the upstream is shown its turns unchanged by clients that carry nothing."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from forgetful_clients import CLIENTS, ProtocolClient
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
    """A gateway whose endpoint `/chat` is before an upstream, for clients of all protocols."""
    endpoint = {
        "upstream": url,
        "path": path,
        "speaks": dialect,
        "answers": [client.protocol for client in CLIENTS],
        "request": {"mapped": tree} if tree else "mapped",
        **options,
    }
    return settled(endpoints={"/chat": endpoint})


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
