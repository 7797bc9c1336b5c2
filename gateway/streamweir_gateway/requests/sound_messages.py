"""The messages of a thread so that an upstream accepts them: no call without its result.

Source: the conversation contract, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from streamweir.jsontext import write_json
from streamweir.requests.canonical import Message

__all__ = ["answered_messages", "sound_messages"]


def sound_messages(messages: Sequence[Message], *, most: int, max_bytes: int) -> list[Message]:
    """Return the last messages without results whose calls are left out.

    Args:
        messages: oldest first.
        most: the most messages.
        max_bytes: the most bytes of them as JSON, roughly.
    """
    begin = max(0, len(messages) - most)
    size = 0
    for place in range(len(messages) - 1, begin - 1, -1):
        size += len(write_json(messages[place]))
        if size > max_bytes:
            begin = place + 1
            break
    return _without_lone_results(messages[begin:])


def answered_messages(messages: Sequence[Message], answered: Sequence[str], *, own: int) -> list[Message]:
    """Return messages without calls that have no result.

    Args:
        messages: oldest first.
        answered: the ids of calls that the request answers in another way.
        own: how many messages at the end are the request's own: their calls stay.
    """
    kept = len(messages) - own
    results = {message.get("tool_call_id") for message in messages if message["role"] == "tool"}
    results |= {*answered}
    found = []
    for place, message in enumerate(messages):
        calls = message.get("tool_calls")
        if not calls or place >= kept:
            found.append(message)
        elif (left := _with_calls(message, results)) is not None:
            found.append(left)
    return _without_lone_results(found)


def _with_calls(message: Message, results: set[str | None]) -> Message | None:
    """Return a message with those of its calls that have results; None if nothing is left of it."""
    calls = [call for call in message.get("tool_calls", []) if call["id"] in results]
    rest = {name: value for name, value in message.items() if name != "tool_calls"}
    if calls:
        return cast("Message", {**rest, "tool_calls": calls})
    return cast("Message", rest) if rest.get("content") else None


def _without_lone_results(messages: Sequence[Message]) -> list[Message]:
    called: set[str] = set()
    found = []
    for message in messages:
        if message["role"] == "tool" and message.get("tool_call_id") not in called:
            continue
        called |= {call["id"] for call in message.get("tool_calls", [])}
        found.append(message)
    return found
