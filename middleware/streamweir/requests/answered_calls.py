"""Answers to calls of the client's tools, written as messages, for upstreams whose tools the client runs.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamweir.requests.call_arguments import made_call
from streamweir.requests.canonical import Answer, Message, ToolCall
from streamweir.requests.messages import made_message
from streamweir.requests.outgoing import Outgoing, answer_text

__all__ = ["answered_calls", "result_of", "without_continuation"]

_REFUSED: Final = ("cancel", "reject")
_CANCELLED: Final = "cancelled"
_APPROVED: Final = "approved"


def answered_calls(outgoing: Outgoing) -> Sequence[Message]:
    """Return the messages, followed by tool results made from the request's `answers`.

    If no message contains the call of a result, the call is inserted before the result.
    """
    if not outgoing.answers:
        return outgoing.messages
    messages = [*outgoing.messages]
    asked = {call["id"] for message in messages for call in message.get("tool_calls", [])}
    missing = [answer for answer in outgoing.answers if answer["interaction_id"] not in asked]
    if missing:
        messages.append(made_message("assistant", tool_calls=[_call(answer) for answer in missing]))
    return [*messages, *map(result_of, outgoing.answers)]


def _call(answer: Answer) -> ToolCall:
    held = answer.get("resume")
    held = held if isinstance(held, dict) else {}
    name = held.get("tool_name") or held.get("name")
    return made_call(
        answer["interaction_id"], name if isinstance(name, str) else "tool", held.get("arguments")
    )


def without_continuation(outgoing: Outgoing) -> Sequence[Message] | None:
    """Return the messages if the only answer is to continue the last turn: that turn is sent back unchanged.

    Returns:
        None if the answers are results of calls, or if the last message is not the assistant's.

    Raises:
        RequestError: the answer refuses to continue the turn, which cannot be written.
    """
    messages = outgoing.messages
    if not outgoing.answers or not messages or messages[-1]["role"] != "assistant":
        return None
    asked = {call["id"] for message in messages for call in message.get("tool_calls", [])}
    if any(answer["interaction_id"] in asked or answer.get("resume") for answer in outgoing.answers):
        return None
    if any(answer["action"] in _REFUSED for answer in outgoing.answers):
        raise outgoing.cannot_answer()
    return messages


def result_of(answer: Answer) -> Message:
    """Return an answer as a message with the result of its call."""
    if answer["action"] in _REFUSED:
        return made_message("tool", _CANCELLED, tool_call_id=answer["interaction_id"], is_error=True)
    text = answer_text(answer.get("value")) or (_APPROVED if answer["action"] == "approve" else "")
    return made_message("tool", text, tool_call_id=answer["interaction_id"])
