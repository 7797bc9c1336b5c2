"""A client of the Responses API in front of a chat model, over real HTTP."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import Call, Upstream, answer, upstream

PATH = "/v1/responses"


def chunks(*deltas: dict[str, Any], reason: str = "stop") -> bytes:
    """The stream of a chat model."""
    made: list[Any] = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    made.append({"index": 0, "delta": {}, "finish_reason": reason})
    same: dict[str, Any] = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
    lines = [f"data: {json.dumps({**same, 'choices': [choice]})}\n\n" for choice in made]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


def call_of(tool_id: str, name: str, arguments: str) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": 0, "id": tool_id, "type": "function", "function": function}]}


async def says_count(call: Call) -> None:
    """Answers with the number of messages that it was sent, or with a call if the last one asks for it."""
    messages = json.loads(call.body)["messages"]
    if messages[-1]["content"] == "call":
        body = chunks(
            call_of(f"call_{len(messages)}", "add", '{"a": 1.0, "b": 12345678901234567890}'),
            reason="tool_calls",
        )
    else:
        body = chunks({"role": "assistant", "content": f"{len(messages)} "}, {"content": "messages"})
    await call.send(answer(body, "Content-Type: text/event-stream"))


def endpoint(url: str, **options: Any) -> dict[str, Any]:
    """An endpoint whose clients speak the Responses API."""
    return {
        "upstream": url,
        "speaks": "openai-chat",
        "request": "mapped",
        "answers": ["openai-responses"],
        **options,
    }


@asynccontextmanager
async def front(
    script: Any = says_count, *, speaks: str = "openai-chat", **options: Any
) -> AsyncIterator[tuple[Gateway, Upstream]]:
    """A gateway whose clients speak the Responses API, in front of a chat model."""
    file = {key: options.pop(key) for key in ("auth", "store", "server", "cors") if key in options}
    async with upstream(script) as server:
        made = endpoint(server.url, speaks=speaks, **options)
        async with gateway(settled(endpoints={PATH: made}, **file)) as running:
            yield running, server


async def create(running: Gateway, key: str | None = None, **body: Any) -> Answer:
    headers = [("Content-Type", "application/json"), *([("Authorization", f"Bearer {key}")] if key else [])]
    return await ask(running, target=PATH, headers=headers, body=json.dumps({"model": "m", **body}).encode())


async def about(running: Gateway, method: str, path: str, key: str | None = None) -> Answer:
    headers = [("Authorization", f"Bearer {key}")] if key else []
    return await ask(running, method=method, target=f"{PATH}/{path}", headers=headers, body=b"")


def messages(server: Upstream, index: int = -1) -> list[tuple[str, Any]]:
    sent = json.loads(server.calls[index].body)["messages"]
    return [(message["role"], message.get("content") or message.get("tool_calls")) for message in sent]


def last_response(got: Answer) -> dict[str, Any]:
    assert got.status == 200, got.body
    found: dict[str, Any] = got.events[-1]["response"] if got.framing == "sse" else got.json
    return found
