"""The examples of docs/conversation.md: its configuration, and the three turns of each family."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from forgetful_clients import ChatClient
from loopback import ask, gateway
from places import DOCS
from redis_servers import redis_binaries, redis_server
from scripted_upstream import upstream
from streamweir.codec.registry import process_dialects
from streamweir_gateway.config import GatewayConfig, parse_config
from strict_upstreams import STEPS, StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses

pytestmark = pytest.mark.anyio

PAGE = (DOCS / "conversation.md").read_text()
THINKING = "{thinking: {type: enabled, budget_tokens: 1024}}"
QUESTIONS = ("How warm is it?", "And tomorrow?")

FAMILIES: Mapping[str, tuple[str, str, Callable[[], StrictModel]]] = {
    "Anthropic": ("anthropic", THINKING, StrictAnthropic),
    "Gemini": ("gemini", "{x: 1}", StrictGemini),
    "Chat completions": ("openai-chat", "{x: 1}", StrictChat),
    "Responses": (
        "openai-responses",
        "{store: false, include: [reasoning.encrypted_content]}",
        StrictResponses,
    ),
}
"""The page's sections: dialect and tree of `mapped` in place of those of its configuration, and a model."""


def config_of_page(url: str, redis: str, dialect: str, tree: str) -> GatewayConfig:
    """Return the page's configuration in front of a model of the test's."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    for old, new in (
        ("https://models.example", url),
        ("redis://127.0.0.1:6379/0", redis),
        ("speaks: anthropic", f"speaks: {dialect}"),
        (f"mapped: {THINKING}", f"mapped: {tree}"),
    ):
        assert old in text
        text = text.replace(old, new)
    return parse_config(text, name="page.yaml", folder=Path(), dialects=process_dialects(), environ={})


@pytest.fixture(scope="module")
def redis() -> Iterator[str]:
    with redis_server(redis_binaries()[0]) as server:
        yield server.url


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
async def test_family_of_the_page_gets_its_turns_unchanged(family: str, redis: str) -> None:
    assert f"\n## {family}\n" in PAGE
    dialect, tree, make = FAMILIES[family]
    model, asking = make(), ChatClient()
    async with (
        upstream(model) as server,
        gateway(config_of_page(server.url, redis, dialect, tree)) as running,
    ):
        for question in QUESTIONS:
            asking.ask(question)
            for _ in STEPS:
                headers = [("Content-Type", "application/json")]
                body = json.dumps(asking.body()).encode()
                got = await ask(running, target="/v1/chat/completions", headers=headers, body=body)
                assert got.status == 200, got.body
                asking.take(got)
                asking.add_results()
    assert model.refusals == []
    assert len(model.accepted) == len(QUESTIONS) * len(STEPS)
    CHECKS[family](model.accepted[-1])


def check_anthropic(body: Any) -> None:
    """The thinking, its signature and the very text of `input`; both turns of the loop as they were made."""
    blocks = [
        block for message in body["messages"] for block in message["content"] if message["role"] != "user"
    ]
    kinds = [block["type"] for block in blocks if isinstance(block, dict)]
    assert kinds[:3] == ["thinking", "text", "tool_use"]
    assert all(block["signature"] for block in blocks if block["type"] == "thinking")


def check_gemini(body: Any) -> None:
    """The first of parallel calls has its signature, the other none; our ids are not sent."""
    turns = [content["parts"] for content in body["contents"] if content["role"] == "model"]
    for parts in turns:
        calls = [part for part in parts if "functionCall" in part]
        assert ["thoughtSignature" in part for part in calls] == [True, False][: len(calls)]
        assert all("id" not in part["functionCall"] for part in calls)


def check_chat(body: Any) -> None:
    """Each message with calls has its reasoning, also an empty one, in later questions too."""
    turns = [message for message in body["messages"] if message.get("tool_calls")]
    assert len(turns) == 4
    assert all("reasoning_content" in message for message in turns)
    assert "" in [message["reasoning_content"] for message in turns]


def check_responses(body: Any) -> None:
    """The reasoning item comes before the call, with the ids of both and without null fields."""
    items = body["input"]
    for place, item in enumerate(items):
        if item.get("type") == "reasoning":
            assert item["id"]
            assert item["encrypted_content"]
            assert items[place + 1]["id"]
        assert None not in item.values()


CHECKS: Mapping[str, Callable[[Any], None]] = {
    "Anthropic": check_anthropic,
    "Gemini": check_gemini,
    "Chat completions": check_chat,
    "Responses": check_responses,
}
