"""Filters the assistant's messages for one upstream: reasoning of other upstreams is left out.

Source: the conversation contract, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from streamweir.requests.canonical import Message, Part, Request, ToolCall
from streamweir.requests.content import content_of
from streamweir.requests.messages import role_of
from streamweir.requests.opaque_values import OpaqueValues

__all__ = ["with_own_turns", "without_places"]

_PLAIN_CALL: Final = 3
_PLACES: Final = frozenset({"reasoning", "tool_call"})


def with_own_turns(request: Request, opaque: OpaqueValues) -> Request:
    """Return the request without the reasoning and the opaque values that the upstream did not make.

    An upstream that cannot take opaque values also gets no places of calls and no texts of arguments. A
    message that contained only such reasoning is left out. If nothing changes, the request is returned.
    """
    messages = request.get("messages", [])
    if "assistant" not in map(role_of, messages) or not any(map(_may_change, messages)):
        return request
    found = [own for message in messages if (own := _own(message, opaque)) is not None]
    if _is_same(messages, found):
        return request
    return cast("Request", {**request, "messages": found})


def _may_change(message: Message) -> bool:
    """Return whether a message has parts, or calls with more than id, name and arguments."""
    if message["role"] != "assistant":
        return False
    calls = message.get("tool_calls", ())
    return isinstance(message.get("content"), list) or any(len(call) > _PLAIN_CALL for call in calls)


def without_places(message: Message) -> Message:
    """Return a message without the places of calls, for upstreams that only use them with opaque values."""
    content = message.get("content")
    if not isinstance(content, list) or not any(part["type"] == "tool_call" for part in content):
        return message
    kept = content_of(part for part in content if part["type"] != "tool_call")
    made: dict[str, Any] = {**message, "content": kept}
    return cast("Message", {name: value for name, value in made.items() if value is not None})


def _own(message: Message, opaque: OpaqueValues) -> Message | None:
    if message["role"] != "assistant" or (opaque.are_written and "turn" in message):
        return message
    content, calls = message.get("content"), message.get("tool_calls", [])
    parts = _own_parts(content, opaque) if isinstance(content, list) else content
    own_calls = _own_calls(calls, opaque)
    if parts is content and own_calls is calls:
        return message
    own: dict[str, Any] = {**message, "content": parts, "tool_calls": own_calls}
    if parts is None and not calls:
        return None
    return cast("Message", {name: value for name, value in own.items() if value not in (None, [])})


def _own_parts(parts: list[Part], opaque: OpaqueValues) -> str | list[Part] | None:
    """Return the parts that are sent to this upstream; the list itself if all of them are sent."""
    found = [own for part in parts if (own := _own_part(part, opaque)) is not None]
    return parts if _is_same(parts, found) else content_of(found)


def _own_part(part: Part, opaque: OpaqueValues) -> Part | None:
    if part["type"] in _PLACES:
        is_kept = opaque.of(part) is not None if part["type"] == "reasoning" else opaque.are_written
        return part if is_kept else None
    if "opaque" not in part or opaque.of(part) is not None:
        return part
    return cast("Part", {name: value for name, value in part.items() if name != "opaque"})


def _own_calls(calls: list[ToolCall], opaque: OpaqueValues) -> list[ToolCall]:
    found = [_own_call(call, opaque) for call in calls]
    return calls if _is_same(calls, found) else found


def _own_call(call: ToolCall, opaque: OpaqueValues) -> ToolCall:
    dropped = set() if opaque.are_written else {"arguments_text", "opaque"}
    if "opaque" in call and opaque.of(call) is None:
        dropped.add("opaque")
    if dropped.isdisjoint(call):
        return call
    return cast("ToolCall", {name: value for name, value in call.items() if name not in dropped})


def _is_same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(first is second for first, second in zip(one, other, strict=True))
