"""Joins the items of earlier responses to one history that an upstream accepts.

A call and its result are in two responses: the call is output of one, the result is input of the next. If one
of these responses is gone, a call without its result (or a result without its call) is left, which an
upstream refuses.

Source: the conversation contract, section 5; the Responses API (items that have a `call_id`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

__all__ = ["sound_history"]

_RESULT: Final = "_output"
_REASONING: Final = "reasoning"
_SHELL_OUTPUT: Final = "local_shell_call_output"
"""The type of an item that names its call by its own `id`."""


def sound_history(turns: Sequence[Sequence[Any]], *, most: int) -> list[Any]:
    """Return the items of the responses, without results of unknown calls and calls without results.

    Calls of the last response stay, because the request may answer them. If a call is left out, the reasoning
    that led to it is left out too.

    Args:
        turns: the items of each response, oldest first.
        most: the most items to return; the oldest are left out.
    """
    items = [item for turn in turns for item in turn if isinstance(item, dict)]
    last = len(items) - sum(isinstance(item, dict) for item in (turns[-1] if turns else ()))
    begin = max(0, len(items) - most)
    answered = {_call_id(item) for item in items if _is_result(item)}
    called: set[str] = set()
    found: list[Any] = []
    for place, item in enumerate(items[begin:], begin):
        call_id = _call_id(item)
        if call_id is None:
            found.append(item)
        elif _is_result(item):
            if call_id in called:
                found.append(item)
        elif call_id in answered or place >= last:
            called.add(call_id)
            found.append(item)
        else:
            while found and found[-1].get("type") == _REASONING:
                found.pop()
    return found


def _call_id(item: dict[str, Any]) -> str | None:
    found = item.get("call_id")
    if found is None and item.get("type") == _SHELL_OUTPUT:
        found = item.get("id")
    return found if isinstance(found, str) else None


def _is_result(item: dict[str, Any]) -> bool:
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith(_RESULT)
