"""Leads tool loops with the package `openai`: one task a line on stdin, the texts and calls on stdout.

A task has the URLs of the replicas, asked in turn, the style of the loop, and the questions.
"""

import itertools
import json
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import openai  # type: ignore[import-not-found]

RESULT = "21 degrees"
TOOLS = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in ("weather", "wind")]
CHAT_TOOLS: list[Any] = [
    {"type": "function", "function": {k: v for k, v in tool.items() if k != "type"}} for tool in TOOLS
]
MOST_ROUNDS = 6

Found = dict[str, Any]


def chat(clients: Iterator[Any], questions: Sequence[str], *, streams: bool) -> Iterator[Found]:
    messages: list[Any] = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        for _ in range(MOST_ROUNDS):
            asked: Found = {"model": "m", "messages": messages, "tools": CHAT_TOOLS}
            completions = next(clients).chat.completions
            if streams:
                with completions.stream(**asked) as stream:
                    answer = stream.get_final_completion()
            else:
                answer = completions.create(**asked)
            message = answer.choices[0].message
            messages.append(message)
            calls = message.tool_calls or []
            yield {"text": message.content or "", "calls": [call.function.name for call in calls]}
            if not calls:
                break
            messages += [{"role": "tool", "tool_call_id": call.id, "content": RESULT} for call in calls]


def responses(
    clients: Iterator[Any], questions: Sequence[str], *, streams: bool, chains: bool, **options: Any
) -> Iterator[Found]:
    """Send the whole input again, or with `chains` the id of the response before."""
    items: list[Any] = []
    before: Found = {}
    for question in questions:
        items.append({"role": "user", "content": question})
        for _ in range(MOST_ROUNDS):
            asked: Found = {"model": "m", "input": items, "tools": TOOLS, **options, **before}
            api = next(clients).responses
            if streams:
                with api.stream(**asked) as stream:
                    for _ in stream:
                        pass
                    answer = stream.get_final_response()
            else:
                answer = api.create(**asked)
            assert answer.status == "completed", answer
            if chains:
                before = {"previous_response_id": answer.id}
                items = []
            else:
                items += answer.output
            calls = [item for item in answer.output if item.type == "function_call"]
            yield {"text": answer.output_text, "calls": [call.name for call in calls], "id": answer.id}
            if not calls:
                break
            items += [
                {"type": "function_call_output", "call_id": call.call_id, "output": RESULT} for call in calls
            ]


ENCRYPTED: Found = {"store": False, "include": ["reasoning.encrypted_content"]}


def lifecycle(clients: Iterator[Any], questions: Sequence[str]) -> Iterator[Found]:
    """Store, retrieve, continue, delete; begin a response in the background, read it on, cancel it."""
    del questions
    first = next(clients).responses.create(model="m", input="one")
    assert next(clients).responses.retrieve(first.id).model_dump() == first.model_dump()
    second = next(clients).responses.create(model="m", input="two", previous_response_id=first.id)
    assert second.previous_response_id == first.id
    next(clients).responses.delete(first.id)
    raises(openai.NotFoundError, lambda: next(clients).responses.retrieve(first.id))
    refused = raises(
        openai.BadRequestError,
        lambda: next(clients).responses.create(model="m", input="three", previous_response_id=first.id),
    )
    assert refused.code == "previous_response_not_found", refused
    kept_not = next(clients).responses.create(model="m", input="four", store=False)
    assert kept_not.store is False
    raises(openai.NotFoundError, lambda: next(clients).responses.retrieve(kept_not.id))
    yield {"text": second.output_text, "calls": []}
    yield from in_background(clients)


def in_background(clients: Iterator[Any]) -> Iterator[Found]:
    begun = next(clients).responses.create(model="m", input="five", background=True)
    assert begun.status in ("queued", "in_progress"), begun
    found = begun
    while found.status in ("queued", "in_progress"):
        found = next(clients).responses.retrieve(begun.id)
    assert found.status == "completed", found
    with next(clients).responses.retrieve(begun.id, stream=True, starting_after=0) as events:
        numbers = [event.sequence_number for event in events]
    assert numbers[0] == 1, numbers
    assert numbers == sorted({*numbers})
    assert next(clients).responses.cancel(begun.id).model_dump() == found.model_dump()
    streamed = next(clients).responses.create(model="m", input="six", background=True, stream=True)
    events = [*streamed]
    assert events[-1].type == "response.completed"
    again = next(clients).responses.retrieve(events[-1].response.id)
    assert again.model_dump() == events[-1].response.model_dump()
    yield {"text": found.output_text, "calls": []}


def raises(kind: type[Exception], action: Callable[[], Any]) -> Any:
    try:
        action()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


STYLES: dict[str, Callable[..., Iterator[Found]]] = {
    "chat": lambda c, q: chat(c, q, streams=True),
    "chat-whole": lambda c, q: chat(c, q, streams=False),
    "responses": lambda c, q: responses(c, q, streams=True, chains=False, **ENCRYPTED),
    "responses-whole": lambda c, q: responses(c, q, streams=False, chains=False, **ENCRYPTED),
    "responses-stored": lambda c, q: responses(c, q, streams=True, chains=False),
    "responses-chain": lambda c, q: responses(c, q, streams=True, chains=True),
    "responses-chain-whole": lambda c, q: responses(c, q, streams=False, chains=True),
    "responses-lifecycle": lifecycle,
}


def led(task: Found) -> Found:
    clients = itertools.cycle(
        openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=20) for url in task["urls"]
    )
    turns: list[Found] = []
    try:
        turns.extend(STYLES[task["style"]](clients, task["questions"]))
    except Exception:
        return {"turns": turns, "error": traceback.format_exc(limit=-3)}
    return {"turns": turns, "error": None}


for line in sys.stdin:
    print(json.dumps(led(json.loads(line))), flush=True)
