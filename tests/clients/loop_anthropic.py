"""Leads tool loops with the package `anthropic`: one task a line on stdin, the texts and calls on stdout."""

import itertools
import json
import sys
import traceback
from collections.abc import Iterator, Sequence
from typing import Any

import anthropic  # type: ignore[import-not-found]

RESULT = "21 degrees"
MOST_ROUNDS = 6
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("weather", "wind")]

Found = dict[str, Any]


def loop(clients: Iterator[Any], questions: Sequence[str], *, streams: bool, beta: bool) -> Iterator[Found]:
    messages: list[Any] = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        for _ in range(MOST_ROUNDS):
            client = next(clients)
            api = client.beta.messages if beta else client.messages
            asked: Found = {"model": "m", "max_tokens": 1024, "messages": messages, "tools": TOOLS}
            if streams:
                with api.stream(**asked) as stream:
                    answer = stream.get_final_message()
            else:
                answer = api.create(**asked)
            messages.append({"role": "assistant", "content": answer.content})
            calls = [block for block in answer.content if block.type == "tool_use"]
            text = "".join(block.text for block in answer.content if block.type == "text")
            yield {"text": text, "calls": [call.name for call in calls]}
            if not calls:
                break
            results = [{"type": "tool_result", "tool_use_id": call.id, "content": RESULT} for call in calls]
            messages.append({"role": "user", "content": results})


def led(task: Found) -> Found:
    clients = itertools.cycle(
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0, timeout=20) for url in task["urls"]
    )
    style = task["style"]
    turns: list[Found] = []
    try:
        turns.extend(loop(clients, task["questions"], streams="whole" not in style, beta="beta" in style))
    except Exception:
        return {"turns": turns, "error": traceback.format_exc(limit=-3)}
    return {"turns": turns, "error": None}


for line in sys.stdin:
    print(json.dumps(led(json.loads(line))), flush=True)
