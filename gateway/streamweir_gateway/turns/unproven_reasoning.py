"""Removes reasoning whose upstream is not known from the requests of chat clients.

Chat clients send the text of all reasoning in `reasoning_content`, no matter which upstream it came from. If
the upstreams of an endpoint speak several dialects, an upstream must not get the thoughts of another.

Source: the conversation contract, section 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from streamweir.requests.canonical import Message, Part, Request
from streamweir.requests.content import content_of

__all__ = ["without_unproven_reasoning"]

_FIELD: Final = "field"


def without_unproven_reasoning(request: Request) -> Request:
    """Return the request without reasoning that consists of text only. Kept turns stay unchanged.

    Args:
        request: the canonical request, with the kept turns of one upstream.
    """
    messages = request.get("messages", [])
    kept = [_proven(message) for message in messages]
    if all(one is other for one, other in zip(kept, messages, strict=True)):
        return request
    return cast("Request", {**request, "messages": kept})


def _proven(message: Message) -> Message:
    content = message.get("content")
    if message["role"] != "assistant" or "turn" in message or not isinstance(content, list):
        return message
    parts = [part for part in content if not _is_unproven(part)]
    if len(parts) == len(content):
        return message
    return cast("Message", {**message, "content": content_of(parts) or ""})


def _is_unproven(part: Part) -> bool:
    values: Mapping[str, Any] = part.get("opaque") or {}
    return part["type"] == "reasoning" and all(own.keys() <= {_FIELD} for own in values.values())
