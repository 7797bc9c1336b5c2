"""What the A2A agents of both versions do with a question: ask the model, call its tools, ask a person.

The variable MODEL is where the scripted model is. A step is what an agent reports or answers; the agents
write it in their version's words.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import httpx

Fields = dict[str, Any]

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("weather", "book", "fail")
]


class Step(NamedTuple):
    """`thought` or `text` with a piece of it; `question` with what a person is asked; `refused`."""

    kind: str
    text: str = ""


async def steps_of(question: str, answer: str | None = None) -> AsyncIterator[Step]:
    """Do what `question` asks; with `answer`, go on behind what a person was asked."""
    messages: list[Fields] = [{"role": "user", "content": question}]
    if answer == "cancel":
        yield Step("refused")
        return
    if answer is not None:
        messages += [{"role": "assistant", "content": ""}, result_of("call_0", f"booked: {answer}")]
    while True:
        calls: list[Fields] = []
        async for delta in asked_of_the_model(messages):
            calls += delta.get("tool_calls") or []
            for kind, name in (("thought", "reasoning_content"), ("text", "content")):
                if delta.get(name):
                    yield Step(kind, delta[name])
        if not calls:
            return
        messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        for call in calls:
            arguments = json.loads(call["function"]["arguments"])
            if call["function"]["name"] == "book":
                yield Step("question", f"Book {arguments['city']}?")
                return
            yield Step("thought", f"Looking up {arguments['city']} ...")
            messages.append(result_of(call["id"], await run(call["function"]["name"], arguments)))


def result_of(call_id: str, content: str) -> Fields:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


async def run(name: str, arguments: Fields) -> str:
    """Run a tool."""
    if name == "fail":
        raise RuntimeError("connection to 10.1.2.3:5432 refused, password=abc")
    await asyncio.sleep(0.2)
    return f"{arguments['city']}: 21 °C"


async def asked_of_the_model(messages: list[Fields]) -> AsyncIterator[Fields]:
    """Yield the deltas of the model's answer.

    Raises:
        RuntimeError: it refuses; with what it says, as agents pass it on.
        httpx.HTTPError: it breaks off.
    """
    body = {"model": "scripted", "messages": messages, "tools": TOOLS, "stream": True}
    async with (
        httpx.AsyncClient(trust_env=False, timeout=60) as client,
        client.stream("POST", f"{os.environ['MODEL']}/chat/completions", json=body) as response,
    ):
        if response.status_code != 200:
            text = (await response.aread()).decode()
            raise RuntimeError(f"Error code: {response.status_code} - {text}")
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))["choices"][0]["delta"]
