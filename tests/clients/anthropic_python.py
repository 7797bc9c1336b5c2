"""Reads messages with the package `anthropic`, streamed and whole.

One request a line on stdin, what it made of it a line on stdout.
"""

import json
import sys
from typing import Any

import anthropic  # type: ignore[import-not-found]

ASKED: dict[str, Any] = {
    "model": "support-bot",
    "max_tokens": 1024,
    "messages": [{"role": "user", "content": "Hello"}],
}


def failure(error: anthropic.APIError) -> dict[str, Any]:
    body = error.body if isinstance(error.body, dict) else {}
    found = body.get("error", {})
    return {"error": found.get("message", str(error)), "status": getattr(error, "status_code", None)}


def seen_in(blocks: list[Any], end: str | None) -> dict[str, Any]:
    plain = [block.to_dict() for block in blocks]
    results = {block["tool_use_id"]: block for block in plain if block["type"] == "mcp_tool_result"}
    return {
        "text": "".join(block["text"] for block in plain if block["type"] == "text"),
        "thinking": "".join(block["thinking"] for block in plain if block["type"] == "thinking"),
        "calls": [
            {"name": block["name"], "arguments": json.dumps(block["input"])}
            for block in plain
            if block["type"] == "tool_use"
        ],
        "ran": [ran(block, results) for block in plain if block["type"] == "mcp_tool_use"],
        "end": end,
        "error": None,
        "status": None,
    }


def ran(block: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    result = results[block["id"]]
    text = result["content"][0]["text"]
    return {
        "name": block["name"],
        "arguments": json.dumps(block["input"]),
        "output": None if result["is_error"] else text,
        "error": text if result["is_error"] else None,
    }


def streamed(client: anthropic.Anthropic) -> dict[str, Any]:
    begun: Any = None
    try:
        with client.messages.stream(**ASKED) as stream:
            for _ in stream:
                begun = stream.current_message_snapshot
            message = stream.get_final_message()
    except anthropic.APIError as error:
        return {**seen_in(begun.content if begun else [], None), **failure(error)}
    return seen_in(message.content, message.stop_reason)


def whole(client: anthropic.Anthropic) -> dict[str, Any]:
    try:
        message = client.messages.create(**ASKED)
    except anthropic.APIError as error:
        return {**seen_in([], None), **failure(error)}
    return seen_in(message.content, message.stop_reason)


for line in sys.stdin:
    given = json.loads(line)
    asking = anthropic.Anthropic(
        base_url=given["url"], api_key="none", max_retries=0, default_headers=given["headers"]
    )
    print(json.dumps({**streamed(asking), "whole": whole(asking)}), flush=True)
