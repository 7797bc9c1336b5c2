"""Official clients lead tool loops in front of strict models: three turns a question, with parallel calls.

    python tests/clients/lead_loops.py                     a few minutes, once the clients are installed
    python tests/clients/lead_loops.py openai ai-6         the clients whose names begin so

Each client talks in three settings: the gateway keeps the turns; two gateways with one Redis answer in
turn; and, if the client can carry opaque values itself, `turns: off`. No request may be refused by a model.
Exit code 1 if one is.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

from clients import CHAT_PACKAGES, Client, Process, started_client
from loopback import gateway, settled
from redis_servers import redis_binaries, redis_server
from scripted_upstream import upstream
from strict_upstreams import STEPS, StrictAnthropic, StrictChat, StrictGemini, StrictModel, StrictResponses

QUESTIONS = ("How warm is it in Ulm?", "And tomorrow?")
EACH_WITHIN = 60.0
PATH = "/app"


class Leader(NamedTuple):
    """A client that leads loops.

    Attributes:
        client: its driver and environment.
        style: how it leads the loop.
        carries: it sends opaque values back, so it needs no kept turns.
        suffix: of the path, which the client adds to its URL.
        is_free: it asks its own questions, and only its own checks count.
    """

    client: Client
    style: str
    carries: bool = False
    suffix: str = ""
    is_free: bool = False

    @property
    def name(self) -> str:
        return f"{self.client.name} {self.style}"


def no_problems(*_: Any) -> Iterator[str]:
    """Yield nothing: the answers are checked by this file."""
    yield from ()


def python_client(protocol: str, package: str) -> Client:
    driver = f"loop_{package}.py"
    return Client(package, protocol, driver, no_problems, folder="chat-python", requirements=CHAT_PACKAGES)


OPENAI_CHAT = python_client("openai-chat", "openai")
OPENAI_RESPONSES = python_client("openai-responses", "openai")
ANTHROPIC = python_client("anthropic", "anthropic")
NPM = partial(Client, "npm", driver="loop_chat.mjs", compare=no_problems, folder="chat")
CHAT, RESPONSES, MESSAGES = "/chat/completions", "/responses", "/v1/messages"

LEADERS: tuple[Leader, ...] = (
    Leader(OPENAI_CHAT, "chat", True, CHAT),
    Leader(OPENAI_CHAT, "chat-whole", True, CHAT),
    Leader(OPENAI_RESPONSES, "responses", True, RESPONSES),
    Leader(OPENAI_RESPONSES, "responses-whole", True, RESPONSES),
    Leader(OPENAI_RESPONSES, "responses-stored", False, RESPONSES),
    Leader(OPENAI_RESPONSES, "responses-chain", False, RESPONSES),
    Leader(OPENAI_RESPONSES, "responses-chain-whole", False, RESPONSES),
    Leader(OPENAI_RESPONSES, "responses-lifecycle", False, RESPONSES, is_free=True),
    Leader(ANTHROPIC, "messages", True, MESSAGES),
    Leader(ANTHROPIC, "messages-whole", True, MESSAGES),
    Leader(ANTHROPIC, "messages-beta", True, MESSAGES),
    Leader(NPM(protocol="openai-chat"), "openai", False, CHAT),
    Leader(NPM(protocol="openai-chat"), "compatible", False, CHAT),
    Leader(NPM(protocol="openai-chat"), "compatible-whole", False, CHAT),
    Leader(NPM(protocol="anthropic"), "anthropic", True, MESSAGES),
    *(
        Leader(Client(name, "ag-ui", "loop_ag_ui.mjs", no_problems, options), style, carries)
        for name, options, carries in (("ag-ui-1.0", {}, True), ("ag-ui-0.0.57", {"version": "0.0"}, False))
        for style in ("loop", "reload")
    ),
    *(
        Leader(Client(name, "vercel-ui", "loop_vercel_ui.mjs", no_problems, options), style, True)
        for name, options in (("ai-5", {}), ("ai-6", {"sdk": "6"}), ("ai-7", {"sdk": "6"}))
        for style in ("loop", "reload")
    ),
)

THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
UNSTORED = {"store": False, "include": ["reasoning.encrypted_content"]}

MODELS: Mapping[str, tuple[str, Any, Callable[[bool], StrictModel]]] = {
    "anthropic": ("anthropic", THINKING, lambda strict: StrictAnthropic(compares_input=strict)),
    "gemini": ("gemini", {}, lambda strict: StrictGemini(compares_args=strict)),
    "deepseek": ("openai-chat", {}, lambda strict: StrictChat("deepseek", compares_arguments=strict)),
    "openrouter": ("openai-chat", {}, lambda strict: StrictChat("openrouter", compares_arguments=strict)),
    "google": ("openai-chat", {}, lambda strict: StrictChat("google", compares_arguments=strict)),
    "responses": ("openai-responses", UNSTORED, lambda strict: StrictResponses(compares_arguments=strict)),
}
SETTINGS = ("kept", "replicas", "carried")


@asynccontextmanager
async def replicas(
    leader: Leader, model: str, url: str, setting: str, redis: str
) -> AsyncIterator[list[str]]:
    """Run the gateways of a setting; yield the URLs that the client is given."""
    dialect, tree, _ = MODELS[model]
    endpoint = {
        "upstream": url,
        "speaks": dialect,
        "answers": [leader.client.protocol],
        "request": {"mapped": tree} if tree else "mapped",
        "protocol_options": {leader.client.protocol: leader.client.options},
        "turns": "off" if setting == "carried" else "on",
        "resume": "on" if leader.is_free else "off",
    }
    file = {"store": {"url": redis}} if setting == "replicas" else {}
    config = settled(endpoints={PATH + leader.suffix: endpoint}, **file)
    async with AsyncExitStack() as stack:
        urls = []
        for _ in range(2 if setting == "replicas" else 1):
            running = await stack.enter_async_context(gateway(config))
            urls.append(f"http://127.0.0.1:{running.address[1]}{PATH}")
        yield urls


async def led(leader: Leader, process: Process, model: str, setting: str, redis: str) -> str:
    """Lead the loops of one pair; return the problem, or nothing."""
    strict = MODELS[model][2](setting != "carried")
    async with (
        upstream(strict) as server,
        replicas(leader, model, server.url, setting, redis) as urls,
        asyncio.timeout(EACH_WITHIN),
    ):
        task = {"urls": urls, "style": leader.style, "questions": QUESTIONS}
        found = await asyncio.to_thread(process.ask, task)
    return problem_of(leader, strict, found)


def problem_of(leader: Leader, model: StrictModel, found: dict[str, Any]) -> str:
    if found["error"]:
        return f"{found['error']} {model.refusals}"
    if model.refusals:
        return f"refused: {model.refusals}"
    if leader.is_free:
        return ""
    calls = [turn["calls"] for turn in found["turns"]]
    wanted = [[name for name, _ in step.calls] for step in STEPS] * len(QUESTIONS)
    texts = [turn["text"] for turn in found["turns"]]
    if calls != wanted or texts != [step.text for step in STEPS] * len(QUESTIONS):
        return f"not the turns of the model: {found['turns']}"
    return ""


async def lead_all(leaders: Sequence[Leader], redis: str) -> int:
    """Lead the loops of all pairs; return how many have a problem."""
    failed = 0
    for leader in leaders:
        for setting in SETTINGS[: 3 if leader.carries else 2]:
            with started_client(leader.client) as process:
                problems = {m: await led(leader, process, m, setting, redis) for m in MODELS}
            wrong = {model: problem for model, problem in problems.items() if problem}
            failed += len(wrong)
            print(f"{leader.name}, {setting}: {len(problems) - len(wrong)} of {len(problems)} models")
            for model, problem in wrong.items():
                print(f"    {model}: {problem[:1200]}", flush=True)
    return failed


def main(names: Sequence[str]) -> int:
    """Lead loops by the clients of these names, or all; return the exit code."""
    leaders = [one for one in LEADERS if not names or one.name.startswith(tuple(names))]
    with redis_server(redis_binaries()[0]) as redis:
        return 1 if asyncio.run(lead_all(leaders, redis.url)) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
