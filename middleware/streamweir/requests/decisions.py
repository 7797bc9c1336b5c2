"""Decides whether a person has approved a request, if the answer is text in a chat.

A tool runs only after a clear yes. A text that is neither yes nor no is passed on as a text.

Source: the request contract, section 5 (answering an interaction).
"""

from __future__ import annotations

import re
from typing import Final

from streamweir.requests.canonical import Answer

__all__ = ["CONFIRMATION", "confirms", "decision_in", "refuses"]

CONFIRMATION: Final = "adk_request_confirmation"
"""The call by which Google's ADK asks whether another call may run."""

_LONGEST: Final = 1000
"""Characters of the longest text that is read as a yes or a no."""

_YES: Final = frozenset(
    {
        *("yes", "y", "yep", "yeah", "yup", "ok", "okay", "sure", "true", "ja", "oui", "si"),
        *("approve", "approved", "accept", "agreed", "confirm", "confirmed"),
        *("是", "是的", "好", "好的", "可以", "行", "同意", "确认", "批准"),
    }
)
_NO: Final = frozenset(
    {
        *("no", "n", "nope", "never", "don't", "dont", "false", "nein", "non"),
        *("reject", "rejected", "refuse", "deny", "denied", "decline", "cancel", "stop"),
        *("不", "不要", "不行", "不可以", "否", "拒绝", "取消"),
    }
)
_LIMITS: Final = _NO | {"not", "but", "except", "unless", "wait", "only", "first", "if", "before", "instead"}
"""Words after a yes that restrict it."""

_WORD: Final = re.compile(r"[\w'’]+")


def decision_in(text: str) -> bool | None:
    """Return True if a text approves, False if it refuses, None if neither is clear."""
    words = [word.replace("’", "'") for word in _WORD.findall(text[: _LONGEST + 1].casefold())]
    if not words or len(text) > _LONGEST:
        return None
    if words[0] in _NO:
        return False
    return True if words[0] in _YES and _LIMITS.isdisjoint(words) else None


def refuses(answer: Answer) -> bool:
    """Return whether an answer refuses a request for approval, or cancels the question."""
    return answer["action"] in ("cancel", "reject")


def confirms(answer: Answer) -> bool:
    """Return whether an answer approves. A text approves only if it is a clear yes."""
    if answer["action"] != "submit":
        return answer["action"] == "approve"
    match answer.get("value"):
        case str(text):
            return decision_in(text) is True
        case False | {"approved": False} | {"confirmed": False}:
            return False
    return True
