"""Writes earlier turns into the text, for upstreams that take one message and do not know the conversation.

Source: the request contract, section 5 (history, tools' results).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from streamweir.requests.canonical import Message
from streamweir.requests.messages import last_user_index, text_of_message, tool_results, turn_start

__all__ = ["MAX_HISTORY_BYTES", "InlineText", "inline_text"]

MAX_HISTORY_BYTES: Final = 64 * 1024
"""The most bytes of earlier turns that are sent; the newest turns come first."""

_BEGIN: Final = "<conversation>\n"
_END: Final = "</conversation>\n\n"
_GO_ON: Final = "Continue."


class InlineText(msgspec.Struct, frozen=True):
    """The text of the message that is sent.

    Attributes:
        text: the user's text, with the system prompt and the history before it.
        lost: `system` and `history`, if the text does not contain them completely.
    """

    text: str
    lost: frozenset[str]


def inline_text(messages: Sequence[Message], *, knows_thread: bool, keeps_history: bool) -> InlineText:
    """Return the user's last text, preceded by the part of the conversation that the upstream does not know.

    Args:
        messages: the messages of the conversation.
        knows_thread: the upstream knows the conversation, except for messages after the assistant's last one.
        keeps_history: False: only the results of tools precede the text.
    """
    at = last_user_index(messages)
    results = tool_results(messages)
    if results and (at is None or at < _last_result(messages)):
        at = None  # the results are what is sent
    text = (_GO_ON if results else "") if at is None else text_of_message(messages[at])
    if knows_thread or not keeps_history:
        earlier = any(
            message["role"] != "system" and index != at
            for index, message in enumerate(messages[: turn_start(messages)])
        )
        has_system = any(message["role"] == "system" for message in messages)
        lost = {"system"} if has_system else set()
        if earlier and not knows_thread:
            lost.add("history")
        return _put_before(_lines(results), text, lost)
    return _put_before(_lines(message for index, message in enumerate(messages) if index != at), text, set())


def _last_result(messages: Sequence[Message]) -> int:
    return max(index for index, message in enumerate(messages) if message["role"] == "tool")


def _lines(messages: Iterable[Message]) -> list[str]:
    texts = ((message["role"], text_of_message(message)) for message in messages)
    return [f"{role}: {text}\n" for role, text in texts if text]


def _put_before(lines: Sequence[str], text: str, lost: set[str]) -> InlineText:
    """Return the text, preceded by as many of the newest lines of history as fit."""
    if not lines:
        return InlineText(text, frozenset(lost))
    room = MAX_HISTORY_BYTES - len(_BEGIN) - len(_END)
    kept: list[str] = []
    for line in reversed(lines):
        room -= len(line.encode("utf-8", "replace"))
        if room < 0:
            lost.add("history")
            break
        kept.append(line)
    block = f"{_BEGIN}{''.join(reversed(kept))}{_END}" if kept else ""
    return InlineText(block + text, frozenset(lost))
