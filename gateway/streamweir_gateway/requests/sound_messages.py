"""Selects messages of a thread that an upstream accepts: each call has its result, each result its call.

Source: the conversation contract, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from streamweir.jsontext import write_json
from streamweir.requests.canonical import Message

__all__ = ["answered_messages", "sound_messages"]


def sound_messages(messages: Sequence[Message], *, most: int, max_bytes: int) -> list[Message]:
    """Return the last messages. A result is dropped if its call is in a message that is left out.

    Args:
        messages: the messages, oldest first.
        most: the most messages to return.
        max_bytes: the most bytes of these messages as JSON, approximately.
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
    """Return the messages without those calls that have no result.

    Args:
        messages: the messages, oldest first.
        answered: the ids of calls that the request answers elsewhere.
        own: the number of messages at the end that are the request's own. Their calls stay.
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
    """Return a message with only those calls that have results; None if the message is empty then."""
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
