"""Reads chat completions and responses with the package `openai`, streamed and whole.

One request a line on stdin, what it made of it a line on stdout; the argument is the protocol.
"""

import json
import sys
from typing import Any

import openai  # type: ignore[import-not-found]

NOTHING: dict[str, Any] = {
    "text": "",
    "thinking": "",
    "calls": [],
    "ran": None,
    "end": None,
    "error": None,
    "status": None,
}
ASKED = [{"role": "user", "content": "Hello"}]


def failure(error: openai.APIError) -> dict[str, Any]:
    body = error.body if isinstance(error.body, dict) else {}
    return {"error": body.get("message", str(error)), "status": getattr(error, "status_code", None)}


def calls_of(message: Any) -> list[dict[str, str]]:
    calls = message.tool_calls or []
    return [{"name": call.function.name, "arguments": call.function.arguments} for call in calls]


def chat_streamed(client: openai.OpenAI) -> dict[str, Any]:
    seen = {**NOTHING}
    try:
        with client.chat.completions.stream(model="support-bot", messages=ASKED) as stream:
            for event in stream:
                if event.type == "chunk" and event.chunk.choices:
                    delta = event.chunk.choices[0].delta
                    seen["text"] += delta.content or ""
                    seen["thinking"] += getattr(delta, "reasoning_content", None) or ""
            choice = stream.get_final_completion().choices[0]
    except openai.APIError as error:
        return {**seen, **failure(error)}
    except (openai.LengthFinishReasonError, openai.ContentFilterFinishReasonError):
        return {**seen, "end": "length"}  # to this client an answer that was cut short is no answer
    text = choice.message.content or ""
    return {**seen, "text": text, "calls": calls_of(choice.message), "end": choice.finish_reason}


def chat_whole(client: openai.OpenAI) -> dict[str, Any]:
    try:
        choice = client.chat.completions.create(model="support-bot", messages=ASKED).choices[0]
    except openai.APIError as error:
        return {**NOTHING, **failure(error)}
    message = choice.message
    return {
        **NOTHING,
        "text": message.content or "",
        "thinking": getattr(message, "reasoning_content", None) or "",
        "calls": calls_of(message),
        "end": choice.finish_reason,
    }


def seen_in(response: Any) -> dict[str, Any]:
    items = response.output
    texts = [part.text for item in items if item.type == "message" for part in item.content]
    thoughts = [part.text for item in items if item.type == "reasoning" for part in item.summary]
    ended_well = response.status not in ("failed", "cancelled")
    return {
        **NOTHING,
        "text": "".join(texts),
        "thinking": "".join(thoughts),
        "calls": [
            {"name": item.name, "arguments": item.arguments} for item in items if item.type == "function_call"
        ],
        "ran": [
            {
                "name": item.name,
                "arguments": item.arguments,
                "output": item.output,
                "error": item.error and item.error.content[0]["text"],
            }
            for item in items
            if item.type == "mcp_call"
        ],
        "end": response.status,
        "error": None if ended_well else response.error.message if response.error else response.status,
    }


def responses_streamed(client: openai.OpenAI) -> dict[str, Any]:
    response = None
    try:
        with client.responses.stream(model="support-bot", input="Hello") as stream:
            for event in stream:
                if event.type in ("response.completed", "response.incomplete", "response.failed"):
                    response = event.response
    except openai.APIError as error:
        return {**NOTHING, "ran": [], **failure(error)}
    return seen_in(response)


def responses_whole(client: openai.OpenAI) -> dict[str, Any]:
    try:
        return seen_in(client.responses.create(model="support-bot", input="Hello"))
    except openai.APIError as error:
        return {**NOTHING, "ran": [], **failure(error)}


streamed, whole = {
    "openai-chat": (chat_streamed, chat_whole),
    "openai-responses": (responses_streamed, responses_whole),
}[sys.argv[1]]
for line in sys.stdin:
    given = json.loads(line)
    asking = openai.OpenAI(
        base_url=given["url"], api_key="none", max_retries=0, default_headers=given["headers"]
    )
    print(json.dumps({**streamed(asking), "whole": whole(asking)}), flush=True)
